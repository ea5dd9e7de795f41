//! The scanner against `serde_json`, the string forms against UTF-16, and nothing panics.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{HEADER, append, event, session};
use palimpsest_core::event::{Intent, Kind, NewEvent, SurfaceOp};
use palimpsest_core::parts::Parts;
use palimpsest_core::{Header, Reader, SessionHeader, derive, json, pairing};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A string in its JSON spelling: plain, escaped, lone surrogates, and what must be escaped.
fn string_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z \u{7f}é\u{2028}日\u{1F600}]{0,20}".boxed(),
        "\\\\[\"\\\\/bfnrt]".boxed(),
        "\\\\u[0-9a-fA-F]{4}".boxed(),
        "(\\\\ud8[0-9a-f]{2}){0,2}\\\\u[dD][c-f][0-9a-f]{2}".boxed(),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// A JSON text with white space anywhere, doubled keys and extreme numbers.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?",
        string_text(),
    ];
    let space = || "[ \t\r\n]{0,2}";
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let item = (space(), inner.clone(), space()).prop_map(|(a, v, z)| a + &v + &z);
        let key = prop_oneof!["\"[a-c]\"", string_text()];
        let member = (space(), key, space(), item.clone()).prop_map(|(a, k, s, v)| format!("{a}{k}{s}:{v}"));
        prop_oneof![
            (space(), proptest::collection::vec(item, 0..6)).prop_map(|(s, items)| format!("[{s}{}]", items.join(","))),
            (space(), proptest::collection::vec(member, 0..6)).prop_map(|(s, all)| format!("{{{s}{}}}", all.join(","))),
        ]
    })
}

#[derive(Clone, Debug)]
enum Mutation {
    Insert(Index, u8),
    Replace(Index, u8),
    Remove(Index),
    Cut(Index),
    Double(Index, Index),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let byte = || prop_oneof![4 => proptest::sample::select(&b"{}[],:\"\\ \n\t-+.eE019truefalsn/uD8\x00\x1f\x7f\xc3\xa9\xed\xa0\x80\xf4"[..]), 1 => any::<u8>()];
    let at = any::<Index>;
    let mutation = prop_oneof![
        (at(), byte()).prop_map(|(i, b)| Mutation::Insert(i, b)),
        (at(), byte()).prop_map(|(i, b)| Mutation::Replace(i, b)),
        at().prop_map(Mutation::Remove),
        at().prop_map(Mutation::Cut),
        (at(), at()).prop_map(|(a, b)| Mutation::Double(a, b)),
    ];
    proptest::collection::vec(mutation, 0..4)
}

fn mutated(text: &str, mutations: &[Mutation]) -> Vec<u8> {
    let mut text = text.as_bytes().to_vec();
    for mutation in mutations {
        let len = text.len();
        if len == 0 {
            break;
        }
        match mutation {
            Mutation::Insert(i, b) => text.insert(i.index(len), *b),
            Mutation::Replace(i, b) => text[i.index(len)] = *b,
            Mutation::Remove(i) => drop(text.remove(i.index(len))),
            Mutation::Cut(i) => text.truncate(i.index(len)),
            Mutation::Double(a, b) => {
                let (a, b) = (a.index(len), b.index(len));
                let piece = text[a.min(b)..a.max(b)].to_vec();
                text.splice(a..a, piece);
            }
        }
    }
    text
}

/// The value that the scanner's parts make; lone surrogates become U+FFFD.
fn rebuilt(text: &[u8]) -> Value {
    let string = |quoted: &[u8]| {
        let utf16: Vec<u16> = units(quoted);
        String::from_utf16_lossy(&utf16)
    };
    match text[0] {
        b'{' => {
            let mut map = Map::new();
            for (key, value) in json::members(text) {
                map.insert(string(&text[key]), rebuilt(&text[value]));
            }
            Value::Object(map)
        }
        b'[' => Value::Array(json::items(text).map(rebuilt).collect()),
        b'"' => Value::String(string(text)),
        _ => serde_json::from_slice(text).unwrap_or_else(|_| Value::from(f64::MAX)),
    }
}

/// The UTF-16 units of a JSON string, the slow way.
fn units(quoted: &[u8]) -> Vec<u16> {
    let text: Vec<char> = std::str::from_utf8(quoted).unwrap().chars().collect();
    let mut units = Vec::new();
    let mut at = 1;
    while at < text.len() - 1 {
        let mut push = |c: char| units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        if text[at] != '\\' {
            push(text[at]);
            at += 1;
            continue;
        }
        at += 2;
        match text[at - 1] {
            'b' => push('\u{8}'),
            'f' => push('\u{c}'),
            'n' => push('\n'),
            'r' => push('\r'),
            't' => push('\t'),
            'u' => {
                let hex: String = text[at..at + 4].iter().collect();
                units.push(u16::from_str_radix(&hex, 16).unwrap());
                at += 4;
            }
            other => push(other),
        }
    }
    units
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}

proptest! {
    #![proptest_config(config(3000))]

    /// `RawValue` checks grammar and UTF-8 alone, as the scanner does. A tree is refused further:
    /// for nesting beyond 128, lone surrogates, and numbers beyond a double.
    #[test]
    fn the_scanner_agrees_with_serde_json(text in json_text(), mutations in mutations()) {
        let text = mutated(&text, &mutations);
        let found = json::whole(&text);
        prop_assert_eq!(found.is_ok(), is_json(&text), "{:?}: {}", found, String::from_utf8_lossy(&text));
        match serde_json::from_slice::<Value>(&text) {
            Ok(tree) => {
                let span = found.unwrap();
                prop_assert_eq!(rebuilt(&text[span]), tree);
            }
            Err(e) if found.is_ok() => {
                let e = e.to_string();
                let known = ["recursion limit", "surrogate", "hex escape", "number out of range"];
                prop_assert!(known.iter().any(|k| e.contains(k)), "{}", e);
            }
            Err(_) => {}
        }
    }

    /// A text that stops short is told from one that is wrong: by where the error is.
    #[test]
    fn a_text_cut_short_fails_at_its_end(text in json_text(), cut in any::<Index>(), byte in any::<u8>()) {
        let text = text.as_bytes();
        prop_assert!(json::whole(text).is_ok());
        let cut = &text[..cut.index(text.len())];
        if let Err(e) = json::whole(cut) {
            prop_assert_eq!(e.at, cut.len(), "{}", e.expected);
            // With a byte more it is an error at that byte, or at the sequence that the byte breaks,
            // or it could still go on.
            let more = [cut, &[byte]].concat();
            if let Err(e) = json::whole(&more) {
                prop_assert!(e.at == more.len() || (e.at + 4 > cut.len() && e.at <= cut.len()), "{:?}", e);
            }
        }
    }

    #[test]
    fn spelling_does_not_change_what_normalize_writes(text in json_text()) {
        let span = json::whole(text.as_bytes()).unwrap();
        let normal = json::normalized(text.as_bytes());
        prop_assert_eq!(&json::normalized(&normal), &normal);
        let end = json::whole(&normal).unwrap().end;
        prop_assert_eq!(end, normal.len());
        prop_assert_eq!(rebuilt(&normal), rebuilt(&text.as_bytes()[span]));
        prop_assert!(!normal.contains(&b'\n'));
    }

    #[test]
    fn strings_survive_decoding_and_encoding(units_in in proptest::collection::vec(
        prop_oneof![any::<u16>(), 0xD7FE..0xE002u16, 0..0x80u16, 0xFFF0..=0xFFFFu16], 0..40), raw in any::<u64>()) {
        // Each unit escaped or, where it can be, as it is.
        let mut text = "\"".to_owned();
        let mut rest = &units_in[..];
        while let Some(first) = char::decode_utf16(rest.iter().copied()).next() {
            match first {
                Ok(c) if c >= ' ' && c != '"' && c != '\\' && raw >> (rest.len() % 64) & 1 == 1 => {
                    text.push(c);
                    rest = &rest[c.len_utf16()..];
                }
                _ => {
                    text += &format!("\\u{:04x}", rest[0]);
                    rest = &rest[1..];
                }
            }
        }
        text.push('"');
        prop_assert!(json::whole(text.as_bytes()).is_ok());
        let wtf8 = json::decode(text.as_bytes());
        let mut spelt = Vec::new();
        json::encode(&wtf8, &mut spelt);
        prop_assert_eq!(units(&spelt), units_in.clone());
        prop_assert_eq!(json::decode(&spelt), wtf8.clone());
        if let Ok(valid) = String::from_utf16(&units_in) {
            prop_assert_eq!(&wtf8, valid.as_bytes());
            prop_assert_eq!(json::is_clean(&wtf8), spelt.len() == wtf8.len() + 2);
            prop_assert_eq!(json::has_replacement(&wtf8), valid.contains('\u{FFFD}'));
            prop_assert_eq!(String::from_utf8(spelt.clone()).unwrap(), serde_json::to_string(&valid).unwrap());
        }
        prop_assert_eq!(&json::normalized(text.as_bytes()), &spelt);
    }

    #[test]
    fn the_last_member_of_a_name_is_found(text in json_text(), name in "[a-c]") {
        if let Ok(Value::Object(tree)) = serde_json::from_str(&text) {
            let found = json::get(text.as_bytes(), &name).map(rebuilt);
            prop_assert_eq!(found, tree.get(&name).cloned());
        }
    }

    #[test]
    fn integers_have_one_spelling(n in prop_oneof![any::<u64>(), 0..(1u64 << 53) + 2], text in "[-+0-9.e ]{0,18}") {
        let mut written = Vec::new();
        json::push_integer(n, &mut written);
        prop_assert_eq!(String::from_utf8(written.clone()).unwrap(), n.to_string());
        prop_assert_eq!(json::plain_integer(&written), Some(n).filter(|n| *n < 1 << 53));
        let plain = text.parse::<u64>().ok().filter(|n| *n < 1 << 53 && n.to_string() == text);
        prop_assert_eq!(json::plain_integer(text.as_bytes()), plain);
    }
}

/// Bytes that look like a log, with damage.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just(
            r#"{"type":"user/message","seq":0,"time":1,"data":{"content":[{"type":"text","text":"x"}]},"surfaceOp":"append"}"#
        ),
        Just(
            r#"{"type":"assistant/message","seq":1,"time":1,"data":{"content":[{"type":"tool-call","id":"a"}]},"sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}}"#
        ),
        Just(r#"{"type":"tool/result","seq":1,"time":1,"data":{"content":[],"callId":"a"},"surfaceOp":"append"}"#),
        Just(
            r#"{"type":"context/message","seq":1,"time":1,"data":{"content":[ ],"source":{"kind":"\ud800"}},"surfaceOp":"append"}"#
        ),
        Just(
            r#"{"type":"request/header","seq":1,"time":1,"data":{"header":{"config":1,"system":"a\nb","tools":[{"name":"t"}],"messagePrefix":[1]}}}"#
        ),
        Just(
            r#"{"type":"request/header-delta","seq":2,"time":1,"data":{"system":{"keepStart":1,"keepEnd":9007199254740991,"insert":["x",2]},"tools":{"added":[1],"removed":[null],"changed":[{"name":"t"}]},"config":null,"messagePrefix":[]}}"#
        ),
        Just(r#"{"type":"step/start","seq":2,"time":-1,"data":null}"#),
        Just(HEADER),
    ];
    let log = (proptest::collection::vec(line, 0..4), mutations())
        .prop_map(|(lines, mutations)| mutated(&lines.join("\n"), &mutations));
    let text = (json_text(), mutations()).prop_map(|(text, mutations)| mutated(&text, &mutations));
    prop_oneof![4 => log, 2 => text, 1 => proptest::collection::vec(any::<u8>(), 0..80)]
}

const KINDS: std::ops::Range<u32> = 0..18;

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn no_text_makes_the_scanner_panic(text in any_bytes(), at in 0..100usize) {
        let _ = (json::whole(&text), json::value(&text, at), json::string(&text, at), json::skip_space(&text, at));
        let _ = (json::members(&text).count(), json::items(&text).count(), json::get(&text, "content"));
        let _ = (json::key_is(&text, "content"), json::is_string(&text), json::plain_integer(&text));
        let _ = (json::decode(&text), json::is_clean(&text), json::normalized(&text));
        let mut out = Vec::new();
        json::encode(&text, &mut out);
        let _ = pairing::tool_calls(&text).count();
        for kind in KINDS.map(Kind::from_number) {
            let _ = derive::message(kind, &text, &mut out);
        }
    }

    #[test]
    fn no_line_makes_an_event_panic(text in any_bytes()) {
        use palimpsest_core::event;
        let _ = (event::parse(&text), event::parse_op(&text, 1), event::parse_sources(&text, 1));
        let _ = SessionHeader::parse(&text);
        for kind in KINDS.map(Kind::from_number) {
            let _ = event::check_data(&text, kind, 1);
        }
    }

    #[test]
    fn no_json_makes_a_header_panic(header in json_text(), other in any_bytes(), delta in any_bytes()) {
        for text in [header.as_bytes(), &other] {
            let header = Header::parse(text);
            for next in [header.apply(&delta), header.apply(&other), header.apply(header.to_json().as_slice())] {
                let _ = (next.to_json(), next.parts(), header.diff(&next), next.diff(&header));
            }
        }
        // What was JSON stays JSON, in canonical form.
        let header = Header::parse(header.as_bytes());
        prop_assert!(json::whole(&header.to_json()).is_ok());
        prop_assert_eq!(Header::parse(&header.to_json()), header.clone());
        if json::whole(&delta).is_ok() {
            prop_assert!(json::whole(&header.apply(&delta).to_json()).is_ok());
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(texts in proptest::collection::vec(any_bytes(), 1..4), with_header in any::<bool>(), size in 1..200usize) {
        let mut bytes = if with_header { format!("{HEADER}\n").into_bytes() } else { Vec::new() };
        bytes.extend(texts.join(&b'\n'));
        let mut reader = Reader::new();
        for chunk in bytes.chunks(size) {
            let _ = reader.push(chunk);
        }
        if let Ok(loaded) = reader.finish() {
            prop_assert_eq!(loaded.committed_bytes + loaded.torn_bytes, bytes.len() as u64);
            let state = make::state(&loaded.session);
            let again = make::read(&state.bytes).unwrap();
            prop_assert_eq!(make::state(&again.session), state);
        }
    }

    /// Even a caller that breaks its promise of checked payloads.
    #[test]
    fn no_event_makes_a_session_panic(rows in proptest::collection::vec(
        (any_bytes(), KINDS, any::<bool>(), 0..4u8, proptest::collection::vec(0..6u32, 0..3)), 1..8)) {
        let mut session = session();
        for (data, kind, checked, op, sources) in &rows {
            let op = match op {
                0 => None,
                1 | 2 => Some(SurfaceOp::Append),
                _ => Some(SurfaceOp::Replace { start: sources.first().copied().unwrap_or(0), end: sources.last().copied().unwrap_or(0) }),
            };
            let sources = Some(sources.clone()).filter(|s| !s.is_empty());
            let event = NewEvent { kind: Kind::from_number(*kind), type_json: data, time: b"1", data, intent: Intent { op, sources } };
            let before = make::state(&session);
            let result = if *checked { session.append_checked(&event) } else { session.append(&event) };
            if result.is_err() {
                prop_assert_eq!(make::state(&session), before);
            }
            let before = make::state(&session);
            if session.append_line(data).is_err() {
                prop_assert_eq!(make::state(&session), before);
            }
            for end in 0..=session.len() {
                let _ = (session.derive_json(end), session.request_header(end), session.request_scope(end));
                let _ = (session.is_balanced(Some(end)), session.surface().seqs_before(end));
                session.messages(&[end], &mut Parts::default());
                let header = session.header().clone();
                let _ = session.fork(Some(end), header);
            }
        }
    }
}

#[test]
fn known_differences_from_a_tree() {
    for text in [r#""\ud800""#, r#""\udc00\ud800""#, "1e400", "-1e400", &("[".repeat(200) + &"]".repeat(200))] {
        assert!(json::whole(text.as_bytes()).is_ok(), "{text}");
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        assert!(is_json(text.as_bytes()), "{text}");
    }
}

#[test]
fn known_refusals() {
    for text in [
        "",
        " ",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "tru",
        "nulll",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,}",
        "{,}",
        "\"\t\"",
        "\"\\x\"",
        "\"\\u12\"",
        "'a'",
        "[1]]",
        "{}}",
        "/**/1",
        "\u{feff}1",
        "\u{a0}1",
    ] {
        assert!(json::whole(text.as_bytes()).is_err(), "{text}");
        assert!(!is_json(text.as_bytes()), "{text}");
    }
}

#[test]
fn a_payload_is_kept_to_the_byte() {
    let data = r#"{"content":[{"n":9007199254740993,"x":1e21,"y":5e-324,"__proto__":"\ud83d","z":"\u0000\u2028"}], "b":1,"a":[ ]}"#;
    let mut session = session();
    session.append(&event(Kind::UserMessage, data, append())).unwrap();
    let reread = make::read(&make::stored(&session)).unwrap().session;
    assert_eq!(reread.event(0).unwrap().data(), data.as_bytes());
    let content = &data[11..data.find("], ").unwrap() + 1];
    assert_eq!(reread.derive_json(1), format!(r#"[{{"role":"user","content":{content}}}]"#).into_bytes());
}

#[test]
fn an_integer_is_told_by_its_value() {
    for (text, value) in [
        ("0", 0),
        ("0.0", 0),
        ("0e5", 0),
        ("0e-5", 0),
        ("7", 7),
        ("7.000", 7),
        ("7E0", 7),
        ("0.7e1", 7),
        ("70e-1", 7),
        ("1.5e+1", 15),
        ("0.00012e5", 12),
        ("18446744073709551615", u64::MAX),
        ("1e19", 10_000_000_000_000_000_000),
        ("0.0e2147483647", 0),
        ("0.0e-2147483647", 0),
    ] {
        assert_eq!(json::integer(text.as_bytes()), Some(value), "{text}");
    }
    for none in [
        "-1",
        "-0",
        "1.5",
        "15e-1",
        "1e-1",
        "0.7",
        "1e20",
        "18446744073709551616",
        "1e400",
        "1e99999999999",
        "1.5e-2147483647",
        "\"1\"",
        "null",
        "[]",
        "{}",
    ] {
        assert_eq!(json::integer(none.as_bytes()), None, "{none}");
    }
}

#[test]
fn integers_are_written_as_the_standard_library_prints_them() {
    let powers = (0..20).map(|exponent| 10u64.pow(exponent)).chain((0..64).map(|bit| 1 << bit));
    let near = powers.flat_map(|power| [power - 1, power, power.saturating_add(1), power.saturating_mul(3)]);
    for n in near.chain([0, 1_000_000_007_000_000_000, u64::MAX]) {
        let mut out = b"x".to_vec();
        json::push_integer(n, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), format!("x{n}"));
    }
}
