//! Logs over a source: the same as the ones that keep their bytes, in memory that the log's length
//! does not set, and honest when the source changes.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{append, event, read, replace, session, state, stored};
use palimpsest_core::event::{Intent, Kind};
use palimpsest_core::filed::{STRETCH, Source};
use palimpsest_core::{Loaded, Reader, Session};
use std::sync::{Arc, Mutex};

/// A source that can be changed behind the log's back, and knows what was read of it.
#[derive(Clone, Debug, Default)]
struct Shelf(Arc<Mutex<(Vec<u8>, usize)>>);

impl Shelf {
    fn of(bytes: &[u8]) -> Shelf {
        Shelf(Arc::new(Mutex::new((bytes.to_vec(), 0))))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.0.lock().unwrap().0);
    }

    fn bytes_read(&self) -> usize {
        std::mem::take(&mut self.0.lock().unwrap().1)
    }
}

impl Source for Shelf {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let mut shelf = self.0.lock().unwrap();
        let Some(found) = shelf.0.get(offset as usize..offset as usize + into.len()) else { return false };
        into.copy_from_slice(found);
        shelf.1 += into.len();
        true
    }
}

fn open(shelf: &Shelf) -> Loaded {
    let bytes = shelf.0.lock().unwrap().0.clone();
    let mut reader = Reader::over(Box::new(shelf.clone()));
    reader.push(&bytes).unwrap();
    reader.finish().unwrap()
}

/// A log of several stretches: messages, headers, chunks, replaces and an open turn.
fn long_log() -> Session {
    let mut session = session();
    let text = "long enough that a stretch holds a few hundred of these only ".repeat(20);
    for i in 0..2000u32 {
        let data = format!(r#"{{"content":[{{"type":"text","text":"{i} {text}"}}],"source":{{"kind":"user"}}}}"#);
        match i % 5 {
            0 if i % 400 == 200 => {
                let (start, end) = (session.surface().seqs()[3], session.surface().seqs()[30]);
                let sources = session.surface().seqs()[3..=30].to_vec();
                session.append(&event(Kind::UserMessage, &data, replace(start, end, &sources))).unwrap();
            }
            0 => {
                session.append(&event(Kind::UserMessage, &data, append())).unwrap();
            }
            1 if i % 100 == 1 => {
                let header = format!(r#"{{"header":{{"system":"{i}"}},"reason":"resume"}}"#);
                session.append(&event(Kind::RequestHeader, &header, Intent::default())).unwrap();
            }
            _ if i == 777 => {
                session.append(&event(Kind::TurnEnd, r#"{"turn":0}"#, Intent::default())).unwrap();
            }
            _ => {
                session.append(&event(Kind::AssistantChunk, &data, Intent::default())).unwrap();
            }
        }
    }
    session.append(&event(Kind::TurnStart, r#"{"turn":1,"trigger":{}}"#, Intent::default())).unwrap();
    session.append(&event(Kind::StepStart, r#"{"turn":1,"step":1}"#, Intent::default())).unwrap();
    session
}

#[test]
fn it_shows_what_a_log_with_its_bytes_shows() {
    let bytes = stored(&long_log());
    assert!(bytes.len() > 5 * STRETCH);
    let (kept, filed) = (read(&bytes).unwrap(), open(&Shelf::of(&bytes)));
    assert_eq!(filed.committed_bytes, kept.committed_bytes);
    assert_eq!(state(&filed.session), state(&kept.session));
    for seq in (0..kept.session.len() + 1).rev() {
        let (found, wanted) = (filed.session.event(seq), kept.session.event(seq));
        let parts = |e: &palimpsest_core::log::Stored<'_>| (e.line().to_vec(), e.data().to_vec(), e.kind);
        assert_eq!(found.as_ref().map(parts), wanted.as_ref().map(parts), "event {seq}");
        assert_eq!(filed.session.log().kind(seq), kept.session.log().kind(seq));
    }
    assert_eq!(filed.session.derive_json(777), kept.session.derive_json(777));
    assert_eq!(filed.session.request_header(777), kept.session.request_header(777));
    // A fork and what is appended go on in memory.
    let (mut a, mut b) = (filed.session, kept.session);
    let header = || palimpsest_core::SessionHeader::parse(make::HEADER.as_bytes()).unwrap();
    let (mut c, mut d) = (a.fork(Some(777), header()).unwrap(), b.fork(Some(777), header()).unwrap());
    for session in [&mut a, &mut b, &mut c, &mut d] {
        session.append(&event(Kind::UserMessage, r#"{"content":[]}"#, append())).unwrap();
    }
    assert_eq!(state(&a), state(&b));
    drop(a);
    assert_eq!(state(&c), state(&d), "the fork keeps the source");
    assert!(!c.log().failed());
}

#[test]
fn blank_lines_carriage_returns_and_a_torn_end_are_as_they_are() {
    let mut text = String::from_utf8(stored(&long_log())).unwrap().replace('\n', "\r\n \n\n");
    text.insert(0, '\u{feff}');
    text.push_str(r#"{"type":"turn/st"#);
    let bytes = text.as_bytes();
    let (kept, filed) = (read(bytes).unwrap(), open(&Shelf::of(bytes)));
    assert_eq!((filed.committed_bytes, filed.torn_bytes), (kept.committed_bytes, kept.torn_bytes));
    assert_eq!(state(&filed.session), state(&kept.session));
}

#[test]
fn an_event_costs_a_stretch_and_its_neighbours_nothing() {
    let bytes = stored(&long_log());
    let shelf = Shelf::of(&bytes);
    let session = open(&shelf).session;
    assert_eq!(shelf.bytes_read(), 0, "opening reads what it is given");
    for seq in [1000, 1001, 999, 1000] {
        session.event(seq).unwrap();
    }
    let read = shelf.bytes_read();
    assert!(read > 0 && read <= 2 * STRETCH, "{read} bytes for four neighbours");
    session.log().kind(3).unwrap();
    session.surface().seqs_before(500);
    assert_eq!(shelf.bytes_read(), 0, "kinds and the surface are in the index");
}

#[test]
fn a_source_that_changes_gives_no_event_and_says_so() {
    let bytes = stored(&long_log());
    type Change = (&'static str, fn(&mut Vec<u8>));
    let changes: [Change; 4] = [
        ("cut", |bytes| bytes.truncate(bytes.len() / 2)),
        ("other events", |bytes| {
            let middle = bytes.len() * 3 / 4;
            let at = middle + bytes[middle..].iter().position(|b| *b == b'\n').unwrap();
            let seq = bytes[at..].windows(7).position(|w| w == b"\"seq\":1").unwrap() + at;
            bytes[seq + 6] = b'9';
        }),
        ("lines joined", |bytes| {
            let middle = bytes.len() * 3 / 4;
            let at = middle + bytes[middle..].iter().position(|b| *b == b'\n').unwrap();
            bytes[at] = b' ';
        }),
        ("not JSON", |bytes| {
            let at = bytes.len() * 3 / 4;
            bytes[at..].fill(b'x');
        }),
    ];
    for (what, change) in changes {
        let shelf = Shelf::of(&bytes);
        let session = open(&shelf).session;
        shelf.change(change);
        let missing = (0..session.len()).filter(|seq| session.event(*seq).is_none()).count();
        assert!(missing > 0 && session.log().failed(), "{what}");
        assert!(session.event(0).is_some(), "{what}: what is still there is still given");
        session.closers();
        session.derive_json(session.len());
        let _ = (session.request_header(session.len()), session.is_balanced(None));
    }
}
