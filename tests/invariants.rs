//! The rules of correct logs, on the core itself: shape of findings, chunked reading, damage, odd input.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{append, event, line, replace, session, stored};
use palimpsest_core::event::{Intent, Kind};
use palimpsest_core::invariants::lines::LineChecker;
use palimpsest_core::invariants::{Event, Finding, Limits, Rule, Severity};
use palimpsest_core::{Session, position, repair};
use proptest::prelude::*;

const USER: &str = r#"{"content":[{"type":"text","text":"x"}],"source":{"kind":"user"}}"#;

/// A turn with one step, in which call `a` is answered. Ten events.
fn correct() -> Session {
    let mut session = session();
    let calls = r#"{"turn":1,"step":1,"content":[{"type":"tool-call","id":"a","name":"t","arguments":"{}"}]}"#;
    let step = r#"{"turn":1,"step":1}"#;
    let call = r#"{"turn":1,"step":1,"callId":"a","name":"t","arguments":"{}"}"#;
    let result = r#"{"turn":1,"step":1,"callId":"a","content":[],"isError":false}"#;
    for (kind, data) in [
        (Kind::TurnStart, r#"{"turn":1,"trigger":{"kind":"message"}}"#),
        (Kind::UserMessage, USER),
        (Kind::StepStart, step),
        (Kind::AssistantMessage, calls),
        (Kind::ToolCall, call),
        (Kind::ToolResult, result),
        (Kind::StepEnd, step),
        (Kind::CompactStart, r#"{"turn":1}"#),
        (Kind::CompactEnd, r#"{"turn":1}"#),
        (Kind::TurnEnd, r#"{"turn":1,"reason":{"kind":"completed"}}"#),
    ] {
        let intent = if kind.is_surface() { append() } else { Intent::default() };
        session.append(&event(kind, data, intent)).unwrap();
    }
    session
}

fn check(bytes: &[u8], chunk: usize) -> Vec<Finding> {
    let mut checker = LineChecker::new(Limits::default());
    for piece in bytes.chunks(chunk.max(1)) {
        checker.push(piece);
    }
    checker.finish();
    checker.found.list
}

fn codes(found: &[Finding]) -> Vec<&'static str> {
    found.iter().map(|finding| finding.code).collect()
}

/// The log without line `gone` (the header is line 0), and with `instead` there.
fn with_line(session: &Session, gone: usize, instead: &[u8]) -> Vec<u8> {
    let bytes = stored(session);
    let lines = bytes.split_inclusive(|&b| b == b'\n').enumerate();
    lines.flat_map(|(i, line)| if i == gone { instead } else { line }).copied().collect()
}

#[test]
fn a_correct_log_has_no_finding_in_any_chunks() {
    let bytes = stored(&correct());
    for chunk in 1..bytes.len() + 1 {
        assert_eq!(check(&bytes, chunk), []);
    }
}

#[test]
fn a_finding_says_where() {
    let bytes = with_line(&correct(), 6, b"");
    let found = check(&bytes, 4096);
    assert_eq!(codes(&found), ["SEQ_GAP"]);
    let start = bytes.split_inclusive(|&b| b == b'\n').take(6).map(<[u8]>::len).sum::<usize>() as u64;
    assert_eq!((found[0].seq, found[0].number, found[0].place), (6, 5, Some((7, start))));
    let mut json = Vec::new();
    found[0].put_json(&mut json);
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["code"], "SEQ_GAP");
    assert_eq!((json["seq"].as_u64(), json["line"].as_u64()), (Some(6), Some(7)));
    assert!(json.get("first").is_none());
}

#[test]
fn a_bad_line_is_one_finding_and_the_rest_is_checked() {
    let session = correct();
    for gone in 1..=10 {
        for bad in [&b"{\"type\":\"user/mess\n"[..], b"\0\0\0\0\n", b"NaN\n", b"{}\n", b"\xE6\x87\n", b"[1,2]\n"] {
            let mut bytes = with_line(&session, gone, bad);
            // A second turn that numbers itself 5: the rest of the log is still held to the rules.
            bytes.extend(line(&event(Kind::TurnStart, r#"{"turn":1,"trigger":{}}"#, Intent::default()), 10));
            let found = check(&bytes, 7);
            assert_eq!(found[0].code, "CORRUPT_LOG", "{gone} {bad:?}");
            assert_eq!(found[0].place.map(|(line, _)| line), Some(gone as u64 + 1));
            assert_eq!(found[0].seq, gone as u32 - 1);
            assert!(codes(&found).contains(&"TURN_NUMBER"), "{gone} {bad:?}: {:?}", codes(&found));
            let gap = codes(&found).iter().filter(|&&code| code == "SEQ_GAP").count();
            assert_eq!(gap, 0, "the bad line explains the gap");
        }
    }
}

#[test]
fn a_torn_tail_is_a_warning_and_damage_only_when_more_follows() {
    let session = correct();
    let bytes = stored(&session);
    let last = bytes[..bytes.len() - 1].iter().rposition(|&b| b == b'\n').unwrap() + 1;
    for cut in last + 1..bytes.len() {
        let found = check(&bytes[..cut], 64);
        assert_eq!(codes(&found), ["TORN_TAIL", "TURN_OPEN_AT_END"]);
        assert_eq!(found[0].number as usize, cut - last);
        assert!(found.iter().all(|finding| finding.severity == Severity::Warning));
    }
    let mut cut = bytes[..bytes.len() - 5].to_vec();
    cut.push(b'\n');
    assert_eq!(codes(&check(&cut, 64)), ["TORN_TAIL", "TURN_OPEN_AT_END"]);
    cut.extend(line(&event(Kind::TurnStart, r#"{"turn":2}"#, Intent::default()), 10));
    assert_eq!(codes(&check(&cut, 64)), ["CORRUPT_LOG", "TURN_OPEN_AT_END"]);
}

#[test]
fn a_second_writer_is_found() {
    let session = correct();
    let mut bytes = stored(&session);
    session.log().copy_lines(8, 10, &mut bytes);
    assert_eq!(codes(&check(&bytes, 64)), ["SEQ_REPEATED", "SEQ_REPEATED"]);
}

#[test]
fn a_log_without_a_header_is_read_all_the_same() {
    let bytes = stored(&correct());
    let events = &bytes[bytes.iter().position(|&b| b == b'\n').unwrap() + 1..];
    assert_eq!(codes(&check(events, 64)), ["INVALID_HEADER"]);
    assert_eq!(codes(&check(b"", 64)), ["INVALID_HEADER"]);
    assert_eq!(codes(&check(&[0; 413], 64)), ["INVALID_HEADER"]);
    let foreign = [&br#"{"type":"session","version":7,"id":"s","createdAt":1}"#[..], b"\n", &events[..100]].concat();
    assert_eq!(codes(&check(&foreign, 64))[0], "UNSUPPORTED_VERSION");
    let marked = [b"\xEF\xBB\xBF", &bytes[..]].concat();
    assert_eq!(check(&marked, 2), []);
}

#[test]
fn a_source_that_was_lost_is_unknown() {
    let mut session = correct();
    session.append(&event(Kind::TurnStart, r#"{"turn":2}"#, Intent::default())).unwrap();
    session.append(&event(Kind::UserMessage, USER, replace(1, 1, &[1]))).unwrap();
    let found = check(&with_line(&session, 2, b"x\n"), 64);
    assert_eq!(codes(&found), ["CORRUPT_LOG", "UNKNOWN_SOURCE", "INVALID_REPLACE", "TURN_OPEN_AT_END"]);
}

#[test]
fn what_a_session_refuses_is_found_in_a_file() {
    for (bad, code) in [
        (&br#"{"type":"turn/start","seq":10,"time":1,"data":{"turn":2},"surfaceOp":"append"}"#[..], "UNEXPECTED_SURFACE_FIELDS"),
        (br#"{"type":"user/message","seq":10,"time":1,"data":{"content":[{"type":"text","text":"x"}]}}"#, "MISSING_SURFACE_OP"),
        (br#"{"type":"user/message","seq":10,"time":1,"data":{"content":[{"type":"text","text":"x"}]},"surfaceOp":"append","sourceEventSeqs":[]}"#, "INVALID_SOURCES"),
        (br#"{"type":"user/message","seq":10,"time":1,"data":{"content":[{"type":"text","text":"x"}]},"surfaceOp":"append","sourceEventSeqs":[1,1]}"#, "INVALID_SOURCES"),
        (br#"{"type":"user/message","seq":10,"time":1,"data":{"content":[{"type":"text","text":"x"}]},"surfaceOp":"append","sourceEventSeqs":[10]}"#, "INVALID_SOURCES"),
        (br#"{"type":"user/message","seq":10,"time":1,"data":{"content":[{"type":"text","text":"x"}]},"surfaceOp":"prepend"}"#, "INVALID_SURFACE_OP"),
        (br#"{"type":"user/message","seq":10,"time":1,"data":{"content":"x"},"surfaceOp":"append"}"#, "INVALID_PAYLOAD"),
    ] {
        let bytes = [stored(&correct()), bad.to_vec(), b"\n".to_vec()].concat();
        let found = check(&bytes, 64);
        assert!(codes(&found).contains(&code), "{code}: {:?}", codes(&found));
        assert!(!found[0].message.is_empty() || found.len() > 1);
    }
}

#[test]
fn times_are_compared_as_written() {
    let mut checker = LineChecker::new(Limits { latest: 1000, ..Limits::default() });
    let intent = Intent::default();
    for (time, future) in [
        ("1000", false),
        ("1001", true),
        ("1000.5", false),
        ("1001.5", true),
        ("-1", false),
        ("1e21", true),
        ("1e-9", false),
        ("99999999999999999999", true),
        ("0", false),
        ("-99999999999999999999", false),
    ] {
        let event = Event { kind: Kind::RequestHeader, seq: 0, time: time.as_bytes(), data: b"{}", intent: &intent };
        checker.found.list.clear();
        checker.checker.check(&event, &mut checker.found);
        assert_eq!(!checker.found.list.is_empty(), future, "{time}");
    }
}

#[test]
fn rules_have_distinct_codes() {
    let codes: Vec<&str> = Rule::all().map(Rule::code).collect();
    let mut unique = codes.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), codes.len());
    assert_eq!((Rule::TornTail.code(), Rule::TornTail.severity()), ("TORN_TAIL", Severity::Warning));
    assert_eq!((Rule::SeqGap.code(), Rule::SeqGap.severity()), ("SEQ_GAP", Severity::Error));
}

#[test]
fn ids_are_found_among_thousands() {
    let mut session = session();
    session.append(&event(Kind::TurnStart, r#"{"turn":1}"#, Intent::default())).unwrap();
    for n in 0..5000 {
        let step = format!(r#"{{"turn":1,"step":{}}}"#, n + 1);
        let id = if n == 4999 { 17 } else { n };
        let calls = format!(
            r#"{{"turn":1,"step":{},"content":[{{"type":"tool-call","id":"c{id}","name":"t","arguments":""}}]}}"#,
            n + 1
        );
        let result = format!(r#"{{"turn":1,"step":{},"callId":"c{id}","content":[],"isError":false}}"#, n + 1);
        session.append(&event(Kind::StepStart, &step, Intent::default())).unwrap();
        session.append(&event(Kind::AssistantMessage, &calls, append())).unwrap();
        session.append(&event(Kind::ToolCall, &result, Intent::default())).unwrap();
        session.append(&event(Kind::ToolResult, &result, append())).unwrap();
        session.append(&event(Kind::StepEnd, &step, Intent::default())).unwrap();
    }
    let found = check(&stored(&session), 1 << 16);
    assert_eq!(codes(&found), ["CALL_ID_DUPLICATE", "TURN_OPEN_AT_END"]);
    assert_eq!(found[0].related[0], 17 * 5 + 2);
}

#[test]
fn a_replace_inside_a_step_opens_no_call_again() {
    let mut session = correct();
    let step = r#"{"turn":2,"step":1}"#;
    let calls = r#"{"turn":1,"step":1,"content":[{"type":"tool-call","id":"a","name":"t","arguments":"{}"}]}"#;
    session.append(&event(Kind::TurnStart, r#"{"turn":2}"#, Intent::default())).unwrap();
    session.append(&event(Kind::StepStart, step, Intent::default())).unwrap();
    session.append(&event(Kind::AssistantMessage, calls, replace(3, 3, &[3]))).unwrap();
    let closers = repair::interrupted_turn_closers(session.log(), 0);
    assert_eq!(closers.len(), 2, "step/end and turn/end");
    for closer in &closers {
        session.append_line(closer).unwrap();
    }
    assert_eq!(check(&stored(&session), 64), []);
}

#[test]
fn a_position_is_where_the_log_stands() {
    let mut session = correct();
    const NONE: u32 = u32::MAX;
    let at = |session: &Session| {
        let at = position::of(session.log(), 0);
        (at.turn, at.open_turn, at.step, at.open_step, at.compaction)
    };
    assert_eq!(at(&session), (1, NONE, 0, NONE, NONE));
    for (kind, data, expected) in [
        (Kind::TurnStart, r#"{"turn":2}"#, (2, 10, 0, NONE, NONE)),
        (Kind::CompactStart, r#"{"turn":2}"#, (2, 10, 0, NONE, 11)),
        (Kind::StepStart, r#"{"turn":2,"step":1}"#, (2, 10, 1, 12, 11)),
        (Kind::StepEnd, r#"{"turn":2,"step":1}"#, (2, 10, 1, NONE, 11)),
        (Kind::CompactEnd, r#"{"turn":2}"#, (2, 10, 1, NONE, NONE)),
        (Kind::CompactStart, r#"{"turn":2}"#, (2, 10, 1, NONE, 15)),
        (Kind::TurnEnd, r#"{"turn":2}"#, (2, NONE, 0, NONE, NONE)),
    ] {
        session.append(&event(kind, data, Intent::default())).unwrap();
        assert_eq!(at(&session), expected, "{kind:?}");
    }
    assert_eq!(at(&make::session()), (0, NONE, 0, NONE, NONE));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_checker_panic(noise in proptest::collection::vec(any::<u8>(), 0..40), at in any::<prop::sample::Index>(), chunk in 1..200usize) {
        let mut bytes = stored(&correct());
        let at = at.index(bytes.len());
        let end = (at + noise.len() / 2).min(bytes.len());
        bytes.splice(at..end, noise);
        let whole = check(&bytes, bytes.len());
        prop_assert_eq!(&check(&bytes, chunk), &whole, "chunks change nothing");
        // What a load accepts has at most findings of the rules, and what it refuses has an error.
        if make::read(&bytes).is_err() {
            prop_assert!(whole.iter().any(|finding| finding.severity == Severity::Error));
        }
    }
}
