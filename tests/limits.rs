//! Large and deep: nothing crashes, and nothing costs more than it should.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{append, event, line, read, replace, session, state, stored};
use palimpsest_core::event::{self, Intent, Kind};
use palimpsest_core::{Header, Session, SessionHeader, json};
use std::time::{Duration, Instant};

const USER: &str = r#"{"content":[{"type":"text","text":"x"}],"source":{"kind":"user"}}"#;

fn header() -> SessionHeader {
    SessionHeader::parse(make::HEADER.as_bytes()).unwrap()
}

/// `levels` containers, each the only item of the one around it.
fn nested(levels: usize, object: bool) -> String {
    let (open, close) = if object { ("{\"a\":", "}") } else { ("[", "]") };
    open.repeat(levels) + "1" + &close.repeat(levels)
}

#[test]
fn nesting_of_100_000_levels() {
    for object in [false, true] {
        let deep = nested(100_000, object);
        for cut in [1, 2, 50_000, 100_000] {
            assert!(json::whole(&deep.as_bytes()[..deep.len() - cut]).is_err());
        }
        assert!(json::whole(format!("{deep}]").as_bytes()).is_err());
        assert_eq!(json::normalized(deep.as_bytes()), deep.as_bytes());

        let mut session = session();
        let content = format!(r#"{{"content":[{deep}]}}"#);
        session.append(&event(Kind::UserMessage, &content, append())).unwrap();
        let snapshot = format!(r#"{{"header":{{"config":{deep},"tools":[{deep}],"messagePrefix":[{deep}]}}}}"#);
        session.append(&event(Kind::RequestHeader, &snapshot, Intent::default())).unwrap();
        let delta = format!(r#"{{"config":{deep},"system":{deep},"tools":{deep}}}"#);
        session.append(&event(Kind::RequestHeaderDelta, &delta, Intent::default())).unwrap();
        session.append(&event(Kind::AssistantMessage, &content, append())).unwrap();
        assert_eq!(session.is_balanced(None), Ok(true));
        assert!(session.derive_json(4).len() > 2 * deep.len());
        assert_eq!(state(&read(&stored(&session)).unwrap().session), state(&session));
    }
    let mixed = "[{\"a\":".repeat(50_000) + "[]" + &"}]".repeat(50_000);
    assert!(json::whole(mixed.as_bytes()).is_ok());
    let crossed = "[{\"a\":".repeat(50_000) + "[]" + &"]}".repeat(50_000);
    assert!(json::whole(crossed.as_bytes()).is_err());
    let header = Header::parse(format!(r#"{{"config":{mixed}}}"#).as_bytes());
    assert_eq!(header.to_json().len(), mixed.len() + r#"{"config":}"#.len());
}

/// A million events, every tenth on the surface, a turn end after every thousandth and at the end.
fn million() -> Session {
    let mut session = session();
    for i in 1..=1_000_000u32 {
        if i % 1000 == 0 {
            session.append(&event(Kind::TurnEnd, "{}", Intent::default())).unwrap();
        } else if i % 10 == 0 {
            session.append(&event(Kind::UserMessage, USER, append())).unwrap();
        } else {
            session.append(&event(Kind::AssistantChunk, r#"{"chunk":{"text":"x"}}"#, Intent::default())).unwrap();
        }
    }
    session
}

/// The bound is far above what a busy machine needs and far below what a quadratic step costs.
#[test]
fn a_million_events() {
    let start = Instant::now();
    let within_reason = |what: &str| {
        assert!(start.elapsed() < Duration::from_secs(120), "{what} took {:?}", start.elapsed());
    };
    let mut session = million();
    within_reason("appending");
    assert_eq!(session.len(), 1_000_000);
    assert_eq!(session.surface().len(), 99_000);
    assert_eq!(json::items(&session.derive_json(u32::MAX)).count(), 99_000);
    assert_eq!(json::items(&session.derive_json(500_000)).count(), 49_500);

    let all = session.surface().seqs();
    let summary = replace(all[0], all[98_989], &all[..98_990]);
    session.append(&event(Kind::UserMessage, USER, summary)).unwrap();
    session.append(&event(Kind::TurnEnd, "{}", Intent::default())).unwrap();
    assert_eq!(session.surface().len(), 11);
    assert_eq!(session.surface().seqs_before(1_000_000).len(), 99_000);
    within_reason("deriving and one replace over it all");

    let file = stored(&session);
    let reread = read(&file).unwrap().session;
    assert_eq!(stored(&reread), file);
    assert_eq!(reread.surface().seqs(), session.surface().seqs());
    within_reason("writing and reading");
}

#[test]
fn a_fork_costs_the_same_on_a_long_log() {
    let mut session = million();
    let last = session.len() - 1;
    let start = Instant::now();
    let mut forks: Vec<Session> = Vec::new();
    for _ in 0..2000 {
        // Each fork writes at once, which copies what is shared only in part.
        let mut fork = session.fork(Some(last), header()).unwrap();
        fork.append(&event(Kind::UserMessage, USER, append())).unwrap();
        session.append(&event(Kind::TurnEnd, "{}", Intent::default())).unwrap();
        forks.push(fork);
    }
    // 2000 copies of the index alone would be 40 GB.
    assert!(start.elapsed() < Duration::from_secs(60), "2000 forks took {:?}", start.elapsed());
    for fork in &forks {
        assert_eq!((fork.len(), fork.surface().len()), (1_000_001, 99_001));
        assert_eq!(fork.event(1_000_000).unwrap().kind, Kind::UserMessage);
    }
    assert_eq!((session.len(), session.surface().len()), (1_002_000, 99_000));
}

#[test]
fn ten_thousand_sessions() {
    let sessions: Vec<Session> = (0..10_000)
        .map(|i| {
            let text = format!(r#"{{"type":"session","version":0,"id":"session-{i}","createdAt":1}}"#);
            let mut session = Session::new(SessionHeader::parse(text.as_bytes()).unwrap());
            for _ in 0..i % 7 {
                session.append(&event(Kind::UserMessage, USER, append())).unwrap();
            }
            session.append(&event(Kind::TurnEnd, "{}", Intent::default())).unwrap();
            session.fork(Some(i % 7), header()).unwrap();
            session
        })
        .collect();
    for (i, session) in sessions.iter().enumerate() {
        assert_eq!((session.len() as usize, session.surface().len()), (i % 7 + 1, i % 7));
        assert!(String::from_utf8_lossy(session.header().line()).contains(&format!("session-{i}\"")));
    }
}

#[test]
fn a_string_of_100_megabytes() {
    const MEGABYTE: usize = 1 << 20;
    let text = "é".repeat(50 * MEGABYTE - 16) + "end";
    let data = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    drop(text);
    let mut session = session();
    session.append(&event(Kind::UserMessage, &data, append())).unwrap();
    session.append(&event(Kind::TurnEnd, "{}", Intent::default())).unwrap();
    let file = stored(&session);
    assert!(file.len() > 100 * MEGABYTE - 16);
    let reread = read(&file).unwrap().session;
    drop(file);
    assert!(reread.event(0).unwrap().data() == data.as_bytes());
    let messages = reread.derive_json(2);
    assert!(messages.ends_with(b"end\"}]}]"));
    assert!(session.fork(Some(1), header()).unwrap().event(0).unwrap().data() == data.as_bytes());
}

#[test]
fn a_line_of_one_megabyte_in_chunks_of_every_size() {
    let data = format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "日".repeat(350_000));
    let mut session = session();
    session.append(&event(Kind::UserMessage, USER, append())).unwrap();
    session.append(&event(Kind::UserMessage, &data, append())).unwrap();
    session.append(&event(Kind::UserMessage, USER, append())).unwrap();
    let file = stored(&session);
    for size in [1, 2, 3, 4095, 4096, 4097, 65535, 1 << 20, file.len()] {
        let mut reader = palimpsest_core::Reader::new();
        for chunk in file.chunks(size) {
            reader.push(chunk).unwrap();
        }
        let loaded = reader.finish().unwrap();
        assert_eq!((loaded.session.len(), loaded.torn_bytes), (3, 0), "chunks of {size}");
        assert!(stored(&loaded.session) == file, "chunks of {size}");
    }
}

#[test]
fn forks_of_forks_at_every_turn_end() {
    let turn = |session: &mut Session, text: &str| {
        let data = USER.replace('x', text);
        let seq = session.append(&event(Kind::UserMessage, &data, append())).unwrap();
        let first = session.surface().seqs()[0];
        if session.surface().len() > 3 {
            let shadowed = &session.surface().seqs()[..3];
            session.append(&event(Kind::UserMessage, USER, replace(first, shadowed[2], shadowed))).unwrap();
        }
        session.append(&event(Kind::TurnEnd, &format!(r#"{{"turn":{seq}}}"#), Intent::default())).unwrap();
    };
    let turn_ends =
        |session: &Session| (0..session.len()).filter(|&seq| session.log().kind(seq) == Some(Kind::TurnEnd)).collect();
    let mut root = session();
    (0..6).for_each(|i| turn(&mut root, &format!("root {i}")));
    let mut generation = vec![root];
    for depth in 0..3 {
        let mut children = Vec::new();
        for (p, parent) in generation.iter_mut().enumerate() {
            let ends: Vec<u32> = turn_ends(parent);
            let before = state(parent);
            for seq in ends {
                let mut child = parent.fork(Some(seq), header()).unwrap();
                let prefix = read(&before.bytes[..byte_of(&before.bytes, seq + 2)]).unwrap().session;
                assert_eq!(state(&child), state(&prefix), "a fork is the prefix read alone");
                turn(&mut child, &format!("{depth} {p} {seq}"));
                assert_eq!(state(&read(&stored(&child)).unwrap().session), state(&child));
                children.push(child);
            }
            assert_eq!(state(parent), before, "children change nothing in their parent");
        }
        generation.extend(children);
    }
    assert!(generation.len() > 200, "{} sessions", generation.len());
    for session in &generation {
        assert_eq!(state(&read(&stored(session)).unwrap().session), state(session));
    }
}

/// Where the line after the first `lines` lines starts.
fn byte_of(bytes: &[u8], lines: u32) -> usize {
    let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1);
    ends.take(lines as usize).last().unwrap_or(0)
}

#[test]
fn chained_replaces() {
    let mut session = session();
    session.append(&event(Kind::UserMessage, USER, append())).unwrap();
    let mut summary = 0;
    for round in 1..3000 {
        let last = session.append(&event(Kind::UserMessage, USER, append())).unwrap();
        assert_eq!(session.surface().seqs(), [summary, last]);
        summary = session.append(&event(Kind::UserMessage, USER, replace(summary, last, &[summary, last]))).unwrap();
        assert_eq!(session.surface().seqs(), [summary]);
        assert_eq!(session.replace_generation(), round);
    }
    for end in (1..session.len()).step_by(97) {
        let expected = if end % 2 == 1 { vec![end - 1] } else { vec![end.saturating_sub(2), end - 1] };
        assert_eq!(session.surface().seqs_before(end), expected, "at {end}");
        assert_eq!(session.surface().replaces_before(end), (end - 1) / 2);
    }
    assert_eq!(state(&read(&stored(&session)).unwrap().session), state(&session));
}

#[test]
fn a_log_cut_out_of_a_longer_one() {
    let mut log = palimpsest_core::log::Log::starting_at(5);
    assert_eq!((log.len(), log.get(4).is_none(), log.get(5).is_none()), (5, true, true));
    for seq in 5..8 {
        let text = line(&event(Kind::TurnStart, "{}", Intent::default()), seq);
        let text = text.trim_ascii_end();
        log.push_line(text, event::parse(text).unwrap().data, Kind::TurnStart);
    }
    let copied = |log: &palimpsest_core::log::Log, from, to| {
        let mut out = Vec::new();
        log.copy_lines(from, to, &mut out);
        String::from_utf8(out).unwrap().lines().count()
    };
    for sealed in [false, true] {
        if sealed {
            log.seal();
        }
        assert_eq!(
            (copied(&log, 0, 5), copied(&log, 0, 6), copied(&log, 0, u32::MAX), copied(&log, 7, 6)),
            (0, 1, 3, 0)
        );
        assert_eq!(log.kind(4), None);
        assert_eq!(log.kind(7), Some(Kind::TurnStart));
    }
}
