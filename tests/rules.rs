//! What a log refuses, with which code, and that a refusal changes nothing.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{append, event, line, read, replace, session, state, stored};
use palimpsest_core::error::{Code, Error};
use palimpsest_core::event::{Intent, Kind, NewEvent, SurfaceOp};
use palimpsest_core::{Header, Session, SessionHeader};

const SURFACE: [Kind; 5] =
    [Kind::UserMessage, Kind::AssistantMessage, Kind::ToolResult, Kind::ContextMessage, Kind::SteeringMessage];
const LOG_ONLY: [Kind; 11] = [
    Kind::TurnStart,
    Kind::TurnEnd,
    Kind::StepStart,
    Kind::StepEnd,
    Kind::ToolCall,
    Kind::RequestHeader,
    Kind::RequestHeaderDelta,
    Kind::AssistantChunk,
    Kind::CompactStart,
    Kind::CompactSummary,
    Kind::CompactEnd,
];

/// A payload that any kind of event accepts.
const DATA: &str = r#"{"turn":1,"callId":"a","content":[{"type":"text","text":"x"}],"source":{"kind":"user"}}"#;
const CALL: &str = r#"{"content":[{"type":"tool-call","id":"a","name":"t","arguments":"{}"}]}"#;

/// 0 `turn/start`, surface 1, 2, 4, 5, the call at 3, and 6 `turn/end`; then seq 7 is next.
fn base() -> Session {
    let mut session = session();
    session.append(&event(Kind::TurnStart, DATA, Intent::default())).unwrap();
    session.append(&event(Kind::UserMessage, DATA, append())).unwrap();
    session.append(&event(Kind::AssistantMessage, CALL, append())).unwrap();
    session.append(&event(Kind::ToolCall, DATA, Intent::default())).unwrap();
    session.append(&event(Kind::ToolResult, DATA, append())).unwrap();
    session.append(&event(Kind::UserMessage, DATA, append())).unwrap();
    session.append(&event(Kind::TurnEnd, DATA, Intent::default())).unwrap();
    session
}

fn sources(sources: &[u32]) -> Intent {
    Intent { op: Some(SurfaceOp::Append), sources: Some(sources.to_vec()) }
}

/// Refused by `append`, as a line, and in a file, each time with this code; nothing changes.
#[track_caller]
fn refused(session: &mut Session, event: &NewEvent<'_>, code: Code) -> Error {
    let before = state(session);
    let error = session.append(event).expect_err("append");
    assert_eq!(error.code, code, "{error}");
    assert_eq!(state(session), before, "a refused append changes nothing");
    assert_eq!(refused_line(session, &line(event, session.len()), code), error);
    error
}

/// Refused as a line and in a file, with this code; nothing changes.
#[track_caller]
fn refused_line(session: &mut Session, line: &[u8], code: Code) -> Error {
    let before = state(session);
    let error = session.append_line(line.trim_ascii_end()).expect_err("append_line");
    assert_eq!(error.code, code, "{error}");
    assert_eq!(state(session), before, "a refused line changes nothing");

    let file = [&before.bytes[..], line].concat();
    let read = read(&file).expect_err("the reader");
    let place = (Some(u64::from(before.len) + 2), Some(before.bytes.len() as u64));
    assert_eq!((read.line, read.byte), place, "the line and where it starts");
    assert_eq!(Error { line: None, byte: None, ..read.clone() }, Error { seq: read.seq, ..error.clone() });
    assert!(read.seq.is_some(), "a reader names the seq: {read}");
    error
}

#[track_caller]
fn accepted(session: &mut Session, event: &NewEvent<'_>) {
    let expected = line(event, session.len());
    let seq = session.append(event).expect("an event that fits");
    assert_eq!(session.event(seq).unwrap().line(), expected.trim_ascii_end());
    assert_eq!(state(&read(&stored(session)).unwrap().session), state(session), "the same after a reload");
}

#[test]
fn a_surface_event_needs_its_marker() {
    for kind in SURFACE {
        let error = refused(&mut base(), &event(kind, DATA, Intent::default()), Code::MissingSurfaceOp);
        assert_eq!((error.seq, error.path), (Some(7), Some("surfaceOp")));
        assert!(error.message.contains(kind.name()), "{error}");
        refused(&mut base(), &event(kind, DATA, Intent { op: None, sources: Some(vec![1]) }), Code::MissingSurfaceOp);
        accepted(&mut base(), &event(kind, DATA, append()));
    }
}

#[test]
fn other_events_carry_no_surface_field() {
    let fields = [append(), Intent { op: None, sources: Some(vec![1]) }, sources(&[1]), replace(1, 1, &[1])];
    for kind in LOG_ONLY {
        for intent in &fields {
            let error = refused(&mut base(), &event(kind, DATA, intent.clone()), Code::UnexpectedSurfaceFields);
            assert_eq!(error.seq, Some(7));
        }
        accepted(&mut base(), &event(kind, DATA, Intent::default()));
    }
    let custom = NewEvent { type_json: br#""my/event""#, ..event(Kind::Other, "null", append()) };
    refused(&mut base(), &custom, Code::UnexpectedSurfaceFields);
    accepted(&mut base(), &NewEvent { intent: Intent::default(), ..custom });
}

#[test]
fn surface_fields_are_well_formed() {
    let with = |field: &str| format!(r#"{{"type":"user/message","seq":7,"time":7,"data":{DATA},{field}}}"#);
    for op in [
        "null",
        "1",
        "[]",
        "{}",
        r#""prepend""#,
        r#""Append""#,
        r#"{"op":"append"}"#,
        r#"{"op":"replace","start":1}"#,
        r#"{"op":"replace","start":1,"end":1,"more":1}"#,
        r#"{"op":"replace","start":-1,"end":1}"#,
        r#"{"op":"replace","start":1.0,"end":1}"#,
        r#"{"op":"replace","start":1e0,"end":1}"#,
        r#"{"op":"replace","start":"1","end":1}"#,
        r#"{"op":"replace","start":1,"end":4294967296}"#,
        r#"{"op":"replace","start":1,"end":null}"#,
        r#"{"op":"cut","start":1,"end":1}"#,
    ] {
        let line = with(&format!(r#""sourceEventSeqs":[1],"surfaceOp":{op}"#));
        let error = refused_line(&mut base(), &[line.as_bytes(), b"\n"].concat(), Code::InvalidSurfaceOp);
        assert_eq!((error.seq, error.path), (Some(7), Some("surfaceOp")), "{op}");
    }
    for seqs in ["null", "1", "{}", r#""1""#, "[-1]", "[1.0]", r#"["1"]"#, "[null]", "[[1]]", "[4294967296]", "[01]"] {
        let line = with(&format!(r#""sourceEventSeqs":{seqs},"surfaceOp":"append""#));
        if seqs == "[01]" {
            assert_eq!(base().append_line(line.as_bytes()).unwrap_err().code, Code::InvalidJson);
            continue;
        }
        let error = refused_line(&mut base(), &[line.as_bytes(), b"\n"].concat(), Code::InvalidSources);
        assert_eq!((error.seq, error.path), (Some(7), Some("sourceEventSeqs")), "{seqs}");
    }
    base().append_line(with(r#""surfaceOp":"app\u0065nd","sourceEventSeqs":[ 0 , 6 ]"#).as_bytes()).unwrap();
}

#[test]
fn sources_are_unique_and_earlier() {
    for seqs in [&[1, 1][..], &[3, 1, 3], &[7], &[8], &[0, 4_000_000_000]] {
        let error = refused(&mut base(), &event(Kind::UserMessage, DATA, sources(seqs)), Code::InvalidSources);
        assert_eq!((error.seq, error.path), (Some(7), Some("sourceEventSeqs")));
    }
    for kind in SURFACE {
        let empty = event(kind, DATA, sources(&[]));
        if kind == Kind::AssistantMessage {
            accepted(&mut base(), &empty);
        } else {
            refused(&mut base(), &empty, Code::InvalidSources);
        }
    }
    accepted(&mut base(), &event(Kind::UserMessage, DATA, sources(&[6, 0, 3])));
}

#[test]
fn both_ends_of_a_replace_are_on_the_surface() {
    let mut session = base();
    // Log-only, not there yet, the event itself.
    for seq in [0, 3, 6, 8, 4_000_000_000, 7] {
        for (start, end) in [(seq, 5), (1, seq)] {
            let covering = replace(start, end, &[1, 2, 4, 5]);
            let error = refused(&mut session, &event(Kind::UserMessage, DATA, covering), Code::InvalidReplace);
            assert_eq!((error.seq, error.path), (Some(7), Some("surfaceOp")));
            assert!(error.message.contains(&seq.to_string()), "{error}");
        }
    }
    accepted(&mut session, &event(Kind::UserMessage, DATA, replace(2, 4, &[2, 4])));
    assert_eq!(session.surface().seqs(), [1, 7, 5]);
    // Shadowed.
    for seq in [2, 4] {
        refused(&mut session, &event(Kind::UserMessage, DATA, replace(seq, 5, &[1, 2, 4, 5, 7])), Code::InvalidReplace);
        refused(&mut session, &event(Kind::UserMessage, DATA, replace(1, seq, &[1, 2, 4, 5, 7])), Code::InvalidReplace);
    }
    assert_eq!(session.surface().node(4).map(|node| node.shadowed_by), Some(7));
}

#[test]
fn a_replace_is_ordered_by_position() {
    let mut session = base();
    refused(&mut session, &event(Kind::UserMessage, DATA, replace(4, 2, &[2, 4])), Code::InvalidReplace);
    accepted(&mut session, &event(Kind::UserMessage, DATA, replace(1, 2, &[1, 2])));
    assert_eq!(session.surface().seqs(), [7, 4, 5]);
    // 7 now stands before 4.
    let error = refused(&mut session, &event(Kind::UserMessage, DATA, replace(4, 7, &[4, 7])), Code::InvalidReplace);
    assert_eq!(error.seq, Some(8));
    accepted(&mut session, &event(Kind::UserMessage, DATA, replace(7, 4, &[4, 7])));
    assert_eq!(session.surface().seqs(), [8, 5]);
    accepted(&mut session, &event(Kind::UserMessage, DATA, replace(8, 8, &[8])));
    assert_eq!(session.surface().seqs(), [9, 5]);
    assert_eq!(session.replace_generation(), 3);
}

#[test]
fn the_sources_of_a_replace_cover_what_it_shadows() {
    let mut session = base();
    let bare = Intent { op: Some(SurfaceOp::Replace { start: 2, end: 4 }), sources: None };
    for intent in [bare, replace(2, 4, &[2]), replace(2, 4, &[4]), replace(1, 5, &[1, 2, 5]), replace(5, 5, &[4])] {
        let error = refused(&mut session, &event(Kind::UserMessage, DATA, intent), Code::InvalidSources);
        assert_eq!((error.seq, error.path), (Some(7), Some("sourceEventSeqs")));
    }
    refused(&mut session, &event(Kind::AssistantMessage, DATA, replace(2, 4, &[])), Code::InvalidSources);
    accepted(&mut session, &event(Kind::UserMessage, DATA, replace(2, 4, &[3, 4, 0, 2])));
    // A replaced range inside a wider one: only the node in its place must be named.
    accepted(&mut session, &event(Kind::UserMessage, DATA, replace(1, 5, &[1, 5, 7])));
    assert_eq!(session.surface().seqs(), [8]);
}

#[test]
fn a_surface_payload_can_be_projected() {
    let cases = [
        (&SURFACE[..], "null", "data"),
        (&SURFACE, "[]", "data"),
        (&SURFACE, r#""content""#, "data"),
        (&SURFACE, "{}", "data.content"),
        (&SURFACE, r#"{"content":null,"callId":"a","source":{"kind":"user"}}"#, "data.content"),
        (&SURFACE, r#"{"content":{},"callId":"a","source":{"kind":"user"}}"#, "data.content"),
        (&SURFACE, r#"{"content":"x","callId":"a","source":{"kind":"user"}}"#, "data.content"),
        // The last member of a name counts, however it is spelt.
        (&SURFACE, r#"{"content":[],"content":1,"callId":"a","source":{"kind":"user"}}"#, "data.content"),
        (&SURFACE, r#"{"content":[],"c\u006fntent":1,"callId":"a","source":{"kind":"user"}}"#, "data.content"),
        (&SURFACE[2..3], r#"{"content":[]}"#, "data.callId"),
        (&SURFACE[2..3], r#"{"content":[],"callId":1}"#, "data.callId"),
        (&SURFACE[2..3], r#"{"content":[],"callId":"a","c\u0061llId":1}"#, "data.callId"),
        (&SURFACE[3..], r#"{"content":[]}"#, "data.source.kind"),
        (&SURFACE[3..], r#"{"content":[],"source":"user"}"#, "data.source.kind"),
        (&SURFACE[3..], r#"{"content":[],"source":{}}"#, "data.source.kind"),
        (&SURFACE[3..], r#"{"content":[],"source":{"kind":1}}"#, "data.source.kind"),
        (&SURFACE[3..], r#"{"content":[],"source":{"kind":"user","kind":null}}"#, "data.source.kind"),
    ];
    for (kinds, data, path) in cases {
        for &kind in kinds {
            let error = refused(&mut base(), &event(kind, data, append()), Code::InvalidPayload);
            assert_eq!((error.seq, error.path), (Some(7), Some(path)), "{data}");
        }
    }
    // Log-only events hold any JSON; projected ones keep what they do not know.
    for data in ["null", "[]", r#""x""#, "1e400", r#"{"content":1}"#] {
        accepted(&mut base(), &event(Kind::ToolCall, data, Intent::default()));
    }
    accepted(&mut base(), &event(Kind::UserMessage, r#"{"content" : [ ] , "c":9007199254740993}"#, append()));
    let mut session = base();
    accepted(&mut session, &event(Kind::UserMessage, r#"{"c\u006fntent":[{"type":"text","text":"e"}]}"#, append()));
    assert!(session.derive_json(8).ends_with(br#"{"role":"user","content":[{"type":"text","text":"e"}]}]"#));
}

#[test]
fn append_takes_one_line_of_json() {
    let mut session = base();
    let before = state(&session);
    for data in
        ["", " ", "{", "{} {}", "NaN", "undefined", "[1,]", "{\"a\":1,}", "'a'", "\"a", "[1,\n2]", "{}\n", "\u{feff}1"]
    {
        let error = session.append(&event(Kind::AssistantChunk, data, Intent::default())).unwrap_err();
        assert_eq!((error.code, error.seq, error.path), (Code::InvalidJson, Some(7), Some("data")), "{data}");
    }
    for name in [
        "",
        "a",
        "\"\"",
        "\"a",
        "a\"",
        "\"a\"b\"",
        "\"a\n\"",
        "1",
        "null",
        "\"\\x\"",
        " \"a\"",
        "\"turn/end\"",
        "\"user/mess\\u0061ge\"",
    ] {
        let custom = NewEvent { type_json: name.as_bytes(), ..event(Kind::Other, "{}", Intent::default()) };
        let error = session.append(&custom).unwrap_err();
        assert_eq!((error.code, error.seq), (Code::InvalidType, Some(7)), "{name}");
    }
    for time in ["", "x", "null", "\"1\"", "1 2", "1,\"seq\":9", " 1", "[1]", "1\n"] {
        let timed = NewEvent { time: time.as_bytes(), ..event(Kind::TurnStart, "{}", Intent::default()) };
        let error = session.append(&timed).unwrap_err();
        assert_eq!((error.code, error.seq, error.path), (Code::InvalidJson, Some(7), Some("time")), "{time}");
    }
    assert_eq!(state(&session), before);
    for time in ["0", "-1", "1.5", "1e3"] {
        accepted(&mut session, &NewEvent { time: time.as_bytes(), ..event(Kind::TurnStart, "{}", Intent::default()) });
    }
    let name = br#""my \ud800 \u0000 event""#;
    accepted(&mut session, &NewEvent { type_json: name, ..event(Kind::Other, "{}", Intent::default()) });
}

#[test]
fn a_line_is_an_event() {
    for bad in [
        "[]",
        "1",
        "\"x\"",
        "null",
        "{}",
        r#"{"type":"x","seq":7,"time":1}"#,
        r#"{"type":"x","seq":7,"data":1}"#,
        r#"{"type":"x","time":1,"data":1}"#,
        r#"{"seq":7,"time":1,"data":1}"#,
        r#"{"type":"","seq":7,"time":1,"data":1}"#,
        r#"{"type":1,"seq":7,"time":1,"data":1}"#,
        r#"{"type":"x","seq":"7","time":1,"data":1}"#,
        r#"{"type":"x","seq":7.0,"time":1,"data":1}"#,
        r#"{"type":"x","seq":-7,"time":1,"data":1}"#,
        r#"{"type":"x","seq":7e0,"time":1,"data":1}"#,
        r#"{"type":"x","seq":4294967296,"time":1,"data":1}"#,
        r#"{"type":"x","seq":7,"time":"1","data":1}"#,
        r#"{"type":"x","seq":7,"time":null,"data":1}"#,
    ] {
        refused_line(&mut base(), format!("{bad}\n").as_bytes(), Code::CorruptLog);
    }
    let mut session = base();
    let before = state(&session);
    let good = r#"{"type":"x","seq":7,"time":1,"data":1}"#;
    for bad in [&good[1..], &good[..good.len() - 1], &format!("{good} x"), &good.replace(',', ",\n"), "", "\n"] {
        let error = session.append_line(bad.as_bytes()).unwrap_err();
        assert_eq!(error.code, Code::InvalidJson, "{bad:?}: {error}");
    }
    assert_eq!(state(&session), before);
    // What surrounds the event does not enter the log.
    session.append_line(format!(" {good}\r\n").as_bytes()).unwrap();
    assert_eq!(session.event(7).unwrap().line(), good.as_bytes());
    assert_eq!(state(&read(&stored(&session)).unwrap().session), state(&session));
}

/// Blanks may stand wherever JSON has them; what others call a blank is no JSON.
#[test]
fn blanks_are_those_of_json() {
    let line = r#"_{_"type"_:_"x/y"_,_"seq"_:_7_,_"time"_:_1_,_"data"_:_{_}_}_"#;
    for (at, _) in line.match_indices('_') {
        for blank in [" ", "\t", "\r", " \r\t"] {
            let spaced = format!("{}{blank}{}", &line[..at], &line[at + 1..]).replace('_', "");
            assert_eq!(base().append_line(spaced.as_bytes()), Ok(7), "{spaced:?}");
            let file = [&stored(&base())[..], spaced.as_bytes(), b"\n \t\r\n"].concat();
            assert_eq!(read(&file).map(|loaded| loaded.session.len()), Ok(8), "{spaced:?}");
        }
    }
    for other in ["\x0c", "\x0b", "\u{a0}", "\u{feff}"] {
        let file = [&stored(&base())[..], other.as_bytes(), b"\n"].concat();
        assert_eq!(read(&file).unwrap_err().code, Code::CorruptLog, "{other:?}");
        assert_eq!(base().append_line(format!("{other}{{}}").as_bytes()).unwrap_err().code, Code::InvalidJson);
    }
}

#[test]
fn an_event_continues_the_log() {
    let at = |seq: u32| line(&event(Kind::UserMessage, DATA, append()), seq);
    for seq in [0, 6, 8, u32::MAX] {
        let error = refused_line(&mut base(), &at(seq), Code::SeqMismatch);
        assert_eq!(error.seq, Some(seq), "the seq that was found");
    }
    let error = refused_line(&mut session(), &at(1), Code::SeqMismatch);
    assert_eq!(error.seq, Some(1));
    assert_eq!(base().append_line(&at(7)), Ok(7));
}

#[test]
fn envelope_keys_may_be_spelt_with_escapes_and_stand_in_any_order() {
    let mut session = base();
    let spelt = r#"{"surface\u004fp":"append","more":{"seq":1},"d\u0061ta":{"content":[]},"\u0074ime":5,"se\u0071":7,"typ\u0065":"user\u002fmessage","source\u0045ventSeqs":[1]}"#;
    session.append_line(spelt.as_bytes()).unwrap();
    assert_eq!(session.event(7).unwrap().kind, Kind::UserMessage);
    assert_eq!(session.event(7).unwrap().data(), br#"{"content":[]}"#);
    assert_eq!(session.surface().seqs(), [1, 2, 4, 5, 7]);
    // The last member of a name counts.
    let doubled = r#"{"type":"x","seq":0,"time":1,"data":1,"surfaceOp":1,"seq":8,"type":"user/message","data":{"content":[1]},"surfaceOp":"append"}"#;
    session.append_line(doubled.as_bytes()).unwrap();
    assert_eq!(session.surface().seqs(), [1, 2, 4, 5, 7, 8]);
    assert_eq!(session.event(8).unwrap().data(), br#"{"content":[1]}"#);
    let doubled =
        r#"{"type":"user/message","seq":9,"time":1,"data":{"content":[]},"data":{"more":1},"surfaceOp":"append"}"#;
    assert_eq!(session.append_line(doubled.as_bytes()).unwrap_err().code, Code::InvalidPayload);
}

#[test]
fn only_version_0_is_read() {
    let header = |version: &str| format!(r#"{{"type":"session",{version}"id":"s","createdAt":1}}"#);
    for version in [
        "1",
        "0.0",
        "0e0",
        "-0",
        "3.0000000000000001",
        "\"0\"",
        "null",
        "true",
        "[0]",
        "4294967296",
        "9007199254740993",
        "1e400",
        "0,\"version\":0",
        "1,\"version\":0",
        "0,\"version\":1",
        "0,\"v\\u0065rsion\":1",
        "0,\"v\\u0065rsion\":0",
    ] {
        let text = header(&format!(r#""version":{version},"#));
        let error = SessionHeader::parse(text.as_bytes()).unwrap_err();
        assert_eq!((error.code, error.path), (Code::UnsupportedVersion, Some("version")), "{version}");
        let error = read(format!("{text}\n").as_bytes()).unwrap_err();
        assert_eq!((error.code, error.line, error.byte), (Code::UnsupportedVersion, Some(1), Some(0)), "{version}");
    }
    for text in [header(""), header("\"version\":00,"), header("\"version\":,")] {
        assert_eq!(SessionHeader::parse(text.as_bytes()).unwrap_err().code, Code::InvalidHeader, "{text}");
    }
    assert!(SessionHeader::parse(header(r#""v\u0065rsion":0,"#).as_bytes()).is_ok());
}

#[test]
fn a_session_header_is_checked_and_kept() {
    let with = |members: &str| format!(r#"{{"type":"session","version":0,{members}}}"#);
    for text in [
        String::new(),
        "x".into(),
        "[]".into(),
        "{}".into(),
        r#"{"version":0,"id":"s","createdAt":1}"#.into(),
        r#"{"type":"x","version":0,"id":"s","createdAt":1}"#.into(),
        r#"{"type":["session"],"version":0,"id":"s","createdAt":1}"#.into(),
        with(r#""createdAt":1"#),
        with(r#""id":"","createdAt":1"#),
        with(r#""id":1,"createdAt":1"#),
        with(r#""id":"s""#),
        with(r#""id":"s","createdAt":"1""#),
        with(r#""id":"s","createdAt":null"#),
        with(r#""id":"s","createdAt":1,"cwd":1"#),
        with(r#""id":"s","createdAt":1,"cwd":null"#),
        with(r#""id":"s","createdAt":1,"parentSession":{}"#),
        with(r#""id":"s","createdAt":1,"seedLength":-1"#),
        with(r#""id":"s","createdAt":1,"seedLength":1.5"#),
        with(r#""id":"s","createdAt":1,"seedLength":"1""#),
        with(r#""id":"s","createdAt":1,"seedLength":9007199254740992"#),
        with("\"id\":\"s\",\n\"createdAt\":1"),
        with(r#""id":"s","createdAt":1} {"#),
    ] {
        assert_eq!(SessionHeader::parse(text.as_bytes()).unwrap_err().code, Code::InvalidHeader, "{text}");
    }
    let full = r#"{"more":[1e400],"id":"\ud800","type":"session","createdAt":-1.5, "version":0,"cwd":"/a","parentSession":"p","seedLength":0}"#;
    let header = SessionHeader::parse(format!(" {full}\r\n").as_bytes()).unwrap();
    assert_eq!(header.line(), full.as_bytes());
}

#[test]
fn a_delta_needs_a_header_before_it() {
    let mut session = base();
    let delta = event(Kind::RequestHeaderDelta, r#"{"config":{"model":"m"}}"#, Intent::default());
    assert_eq!(session.append(&delta), Ok(7));
    assert_eq!(session.request_header(7), Ok(None));
    for end in [8, 9, u32::MAX] {
        let error = session.request_header(end).unwrap_err();
        assert_eq!((error.code, error.seq), (Code::DeltaWithoutHeader, Some(7)));
    }
    let snapshot = event(Kind::RequestHeader, r#"{"header":{"system":"a\nb"},"reason":"resume"}"#, Intent::default());
    session.append(&snapshot).unwrap();
    session.append(&delta).unwrap();
    let in_force = session.request_header(10).unwrap().unwrap();
    assert_eq!(in_force.to_json(), br#"{"config":{"model":"m"},"system":"a\nb"}"#);
    assert!(session.request_header(8).is_err(), "as of then it was corrupt");
    assert_eq!(session.header_events(), 3);
}

/// A header means what `JSON.parse` makes of it, however its text is spelled.
#[test]
fn a_header_is_read_by_value() {
    let folded = |header: &str, delta: &str| {
        let state = Header::fold(None, true, format!(r#"{{"header":{header}}}"#).as_bytes(), 0).unwrap();
        String::from_utf8(Header::fold(Some(&state), false, delta.as_bytes(), 1).unwrap().to_json()).unwrap()
    };
    let twice = r#"{"system":"x","a":1,"tools":[{"name":"t"}],"b":2,"system":"y","tools":null,"tools":[],"a":3}"#;
    assert_eq!(folded(twice, "{}"), r#"{"system":"y","a":3,"b":2}"#);
    let last = r#"{"tools":[{"name":"t"}],"tools":{"x":1},"system":"x","system":5,"config":1,"config":2}"#;
    assert_eq!(folded(last, "{}"), r#"{"config":2,"tools":{"x":1},"system":5}"#);
    for one in ["1", "1.0", "1e0", "10e-1"] {
        let delta = format!(r#"{{"system":{{"keepStart":{one},"keepEnd":{one},"insert":["n"]}}}}"#);
        assert_eq!(folded(r#"{"system":"a\nb\nc\nd"}"#, &delta), r#"{"system":"a\nn\nd"}"#, "{one}");
    }
}

#[test]
fn a_fork_ends_at_a_turn_end() {
    let mut session = base();
    let before = state(&session);
    let header = || SessionHeader::parse(make::HEADER.as_bytes()).unwrap();
    for seq in 0..6 {
        let error = session.fork(Some(seq), header()).unwrap_err();
        assert_eq!((error.code, error.seq), (Code::OpenTurn, Some(seq)));
    }
    for seq in [7, u32::MAX] {
        let error = session.fork(Some(seq), header()).unwrap_err();
        assert_eq!((error.code, error.seq), (Code::InvalidBoundary, Some(seq)));
    }
    assert_eq!(state(&session), before);
    assert_eq!(state(&session.fork(Some(6), header()).unwrap()), before);
    assert_eq!(session.fork(None, header()).unwrap().len(), 0);
    assert_eq!(state(&session), before);
}

#[test]
fn a_cut_stands_before_a_node_of_the_surface() {
    let mut session = base();
    for (before, balanced) in [(Some(1), true), (Some(2), true), (Some(4), false), (Some(5), true), (None, true)] {
        assert_eq!(session.is_balanced(before), Ok(balanced), "{before:?}");
    }
    for seq in [0, 3, 6, 7, u32::MAX] {
        let error = session.is_balanced(Some(seq)).unwrap_err();
        assert_eq!((error.code, error.seq), (Code::InvalidSeq, Some(seq)));
    }
    // The call is compacted away, its result stays.
    session.append(&event(Kind::UserMessage, DATA, replace(1, 2, &[1, 2]))).unwrap();
    assert_eq!(session.is_balanced(Some(4)), Ok(true), "the result stands after this cut");
    let error = session.is_balanced(None).unwrap_err();
    assert_eq!((error.code, error.seq), (Code::UnpairedToolResult, Some(4)));
}

#[test]
fn a_request_reads_up_to_its_step() {
    let mut session = session();
    let kinds = [
        Kind::TurnStart,
        Kind::UserMessage,
        Kind::StepStart,
        Kind::RequestHeader,
        Kind::AssistantChunk,
        Kind::AssistantMessage,
        Kind::StepEnd,
        Kind::TurnEnd,
    ];
    for kind in kinds {
        let intent = if kind.is_surface() { append() } else { Intent::default() };
        session.append(&event(kind, DATA, intent)).unwrap();
    }
    let scope = |end| {
        let scope = session.request_scope(end);
        (scope.messages_end, scope.header_end)
    };
    for end in [0, 1, 2, 7, 8] {
        assert_eq!(scope(end), (end, end), "no step is open");
    }
    for end in 3..=6 {
        assert_eq!(scope(end), (2, 4), "messages before the step, the header before its first output");
    }
    assert_eq!(scope(u32::MAX), (8, 8));
}

#[test]
fn invalidation_only_raises_the_generation() {
    let mut session = base();
    let before = state(&session);
    session.invalidate();
    assert_eq!(state(&session), make::State { generation: before.generation + 1, ..before });
}

/// However surface events lie between others, each is found, and nothing else is.
#[test]
fn surface_events_are_found_by_seq() {
    for gaps in [vec![0], vec![0, 500, 0, 0], vec![1], vec![9, 0, 3], vec![0; 300].into_iter().chain([4000]).collect()]
    {
        let mut s = session();
        let mut surface = Vec::new();
        for gap in gaps.iter().cycle().take(900) {
            for _ in 0..*gap {
                s.append(&event(Kind::AssistantChunk, "{}", Intent::default())).unwrap();
            }
            surface.push(s.append(&event(Kind::UserMessage, DATA, append())).unwrap());
        }
        let mut expected = surface.iter().copied().peekable();
        for seq in 0..s.len() + 3 {
            let here = expected.next_if_eq(&seq);
            assert_eq!(s.surface().node(seq).map(|node| node.seq), here, "seq {seq}, gaps {gaps:?}");
        }
        for end in (0..s.len() + 2).step_by(97) {
            let before: Vec<u32> = surface.iter().copied().filter(|&seq| seq < end).collect();
            assert_eq!(s.surface().seqs_before(end), before);
        }
    }
}
