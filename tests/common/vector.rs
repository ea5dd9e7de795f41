//! `N.jsonl` against `N.expected.json`: prefixes, torn cuts, the corrupt line.

use super::{Tally, count, member};
use palimpsest_core::error::Code;
use palimpsest_core::event::{self, Kind};
use palimpsest_core::log::Log;
use palimpsest_core::{Header, Loaded, Reader, Result, Session, json, pairing, repair};

/// A stored session and what must be computed from it.
pub struct Vector<'a> {
    pub log: &'a [u8],
    pub expected: &'a [u8],
}

macro_rules! embedded {
    ($($number:literal)*) => {
        [$(Vector {
            log: include_bytes!(concat!("../fixtures/vectors/", $number, ".jsonl")),
            expected: include_bytes!(concat!("../fixtures/vectors/", $number, ".expected.json")),
        }),*]
    };
}

pub const VECTORS: [Vector<'static>; 24] = embedded!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);

fn read(bytes: &[u8]) -> Result<Loaded> {
    let mut reader = Reader::new();
    reader.push(bytes)?;
    reader.finish()
}

impl Vector<'_> {
    /// Checks every prefix; the number of cases.
    pub fn check(&self) -> usize {
        let mut tally = Tally::default();
        let mut whole = read(self.log).expect("the whole log").session;
        for prefix in json::items(member(self.expected, "prefixes")) {
            self.check_prefix(&mut whole, prefix, &mut tally);
        }
        tally.cases()
    }

    /// Checks the damaged variants of the log; the number of cases.
    pub fn check_damage(&self) -> usize {
        let mut tally = Tally::default();
        for torn in json::items(member(self.expected, "torn")) {
            let cut = count(torn, "cut") as usize;
            check_damaged(&self.log[..cut], torn, &format!("cut at {cut}"), &mut tally);
        }
        let corrupt = member(self.expected, "corrupt");
        let line = count(corrupt, "line") as usize;
        check_damaged(&self.without_end_of(line), corrupt, &format!("corrupt line {line}"), &mut tally);
        tally.cases()
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.log.strip_suffix(b"\n").unwrap_or(self.log).split(|&b| b == b'\n').collect()
    }

    /// The log with the last three bytes of one line removed.
    fn without_end_of(&self, line: usize) -> Vec<u8> {
        let mut lines = self.lines();
        lines[line] = &lines[line][..lines[line].len() - 3];
        [lines.join(&b'\n'), b"\n".to_vec()].concat()
    }

    /// One prefix, reached in every way there is.
    fn check_prefix(&self, whole: &mut Session, prefix: &[u8], tally: &mut Tally) {
        let n = count(prefix, "n") as u32;
        let lines = &self.lines()[..=n as usize];

        let read = read(&[&lines.join(&b'\n')[..], b"\n"].concat()).expect("a prefix is a log").session;
        check_session(&read, prefix, &format!("first {n} read"), tally);

        let mut appended = Session::new(whole.header().clone());
        for line in &lines[1..] {
            appended.append_line(line).expect("a line of the log");
        }
        check_session(&appended, prefix, &format!("first {n} appended"), tally);

        check_view(whole, n, prefix, tally);
        check_last_turn_alone(&lines[1..], prefix, tally);

        let boundary = n.checked_sub(1);
        if boundary.is_none_or(|seq| whole.log().kind(seq) == Some(Kind::TurnEnd)) {
            let header = whole.header().clone();
            let mut fork = whole.fork(boundary, header).expect("a fork at a turn end");
            check_session(&fork, prefix, &format!("fork after {n}"), tally);
            // The fork goes on as its parent did and arrives where it arrived.
            for line in &self.lines()[lines.len()..] {
                fork.append_line(line).expect("a line of the log");
            }
            let last = json::items(member(self.expected, "prefixes")).last().expect("prefixes");
            check_session(&fork, last, &format!("fork after {n} continued"), tally);
        }
    }
}

/// A session that holds exactly the prefix; closes its open turn at the end.
fn check_session(session: &Session, prefix: &[u8], what: &str, tally: &mut Tally) {
    tally.equal(&format!("{what}: events"), u64::from(session.len()), count(prefix, "n"));
    let generation = u64::from(session.replace_generation());
    tally.equal(&format!("{what}: replaceGeneration"), generation, count(prefix, "replaceGeneration"));
    check_nodes(&session.surface().seqs(), prefix, what, tally);
    check_messages(&session.derive_json(session.len()), prefix, what, tally);
    check_header(session, session.len(), prefix, what, tally);
    check_balanced(|before| session.is_balanced(before), prefix, what, tally);
    check_closers(&session.closers(), member(prefix, "closers"), what, tally);
}

/// The whole log, looked at as of the event before `n`.
fn check_view(whole: &Session, n: u32, prefix: &[u8], tally: &mut Tally) {
    let what = format!("at {n}");
    let nodes = whole.surface().seqs_before(n);
    let replaces = u64::from(whole.surface().replaces_before(n));
    tally.equal(&format!("{what}: replaceGeneration"), replaces, count(prefix, "replaceGeneration"));
    check_nodes(&nodes, prefix, &what, tally);
    check_messages(&whole.derive_json(n), prefix, &what, tally);
    check_header(whole, n, prefix, &what, tally);
    check_balanced(|before| pairing::is_balanced(whole.log(), &nodes, before), prefix, &what, tally);
}

/// The events from the last `turn/start` on, without those before, close in the same way.
fn check_last_turn_alone(lines: &[&[u8]], prefix: &[u8], tally: &mut Tally) {
    let kind = |line: &&[u8]| event::parse(line).expect("an event").kind;
    let first = lines.iter().rposition(|line| kind(line) == Kind::TurnStart).unwrap_or(0);
    let mut log = Log::starting_at(first as u32);
    for line in &lines[first..] {
        let envelope = event::parse(line).expect("an event");
        log.push_line(line, envelope.data, envelope.kind);
    }
    let closers = repair::interrupted_turn_closers(&log, first as u32);
    check_closers(&closers, member(prefix, "closers"), &format!("from {first} alone"), tally);
}

/// A log that was cut or damaged: refused, or read up to the damage and closed.
fn check_damaged(bytes: &[u8], expected: &[u8], what: &str, tally: &mut Tally) {
    let loaded = read(bytes);
    let refused = json::get(expected, "error") == Some(b"true");
    tally.same(&format!("{what}: refused"), loaded.is_err().to_string(), refused.to_string());
    let Ok(mut loaded) = loaded else { return };
    tally.equal(&format!("{what}: events"), u64::from(loaded.session.len()), count(expected, "events"));
    tally.equal(&format!("{what}: committedBytes"), loaded.committed_bytes, count(expected, "committedBytes"));
    tally.equal(&format!("{what}: all bytes"), loaded.committed_bytes + loaded.torn_bytes, bytes.len() as u64);
    let closers = loaded.session.closers();
    if let Some(expected) = json::get(expected, "closers") {
        check_closers(&closers, expected, what, tally);
    }
    for closer in &closers {
        loaded.session.append_line(closer.trim_ascii_end()).expect("a closer continues the log");
    }
    tally.equal(&format!("{what}: open after repair"), loaded.session.closers().len() as u64, 0);
}

fn check_nodes(seqs: &[u32], prefix: &[u8], what: &str, tally: &mut Tally) {
    let text = |seq: Option<&u32>| seq.map_or("null".into(), u32::to_string);
    let nodes: Vec<String> = (0..seqs.len())
        .map(|i| {
            let previous = i.checked_sub(1).and_then(|i| seqs.get(i));
            format!("[{},{},{}]", seqs[i], text(previous), text(seqs.get(i + 1)))
        })
        .collect();
    tally.same(&format!("{what}: nodes"), format!("[{}]", nodes.join(",")), member(prefix, "nodes"));
}

fn check_messages(found: &[u8], prefix: &[u8], what: &str, tally: &mut Tally) {
    let found = json::normalized(found);
    tally.same(&format!("{what}: messages"), found, json::normalized(member(prefix, "messages")));
}

fn check_header(session: &Session, end: u32, prefix: &[u8], what: &str, tally: &mut Tally) {
    let header = session.request_header(end).expect("a header in force");
    let found = header.as_ref().map_or_else(|| b"null".to_vec(), Header::to_json);
    tally.same(&format!("{what}: header"), found, json::normalized(member(prefix, "header")));
}

fn check_balanced(balanced: impl Fn(Option<u32>) -> Result<bool>, prefix: &[u8], what: &str, tally: &mut Tally) {
    let expected = member(prefix, "balanced");
    let cuts = json::items(member(prefix, "nodes")).count() + 1;
    assert_eq!(json::members(expected).count(), cuts, "{what}: one cut before each node and one after the tail");
    for (cut, value) in json::members(expected) {
        let cut = String::from_utf8(json::decode(&expected[cut])).expect("a seq or null");
        let found = match balanced(cut.parse().ok()) {
            Ok(balanced) => balanced.to_string(),
            Err(error) => {
                assert_eq!(error.code, Code::UnpairedToolResult, "{what}: cut before {cut}");
                "\"corrupt\"".into()
            }
        };
        tally.same(&format!("{what}: balanced before {cut}"), found, &expected[value]);
    }
}

/// The expected closers are objects whose surface fields stand in another order than on a line, where
/// they stand as in every other line; all else is compared as text.
fn check_closers(closers: &[Vec<u8>], expected: &[u8], what: &str, tally: &mut Tally) {
    let expected: Vec<&[u8]> = json::items(expected).collect();
    tally.equal(&format!("{what}: number of closers"), closers.len() as u64, expected.len() as u64);
    for (closer, expected) in closers.iter().zip(expected) {
        let mut line = b"{".to_vec();
        for name in ["type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp"] {
            if let Some(value) = json::get(expected, name) {
                if line.len() > 1 {
                    line.push(b',');
                }
                json::encode(name.as_bytes(), &mut line);
                line.push(b':');
                line.extend(json::normalized(value));
            }
        }
        line.extend(b"}\n");
        tally.same(&format!("{what}: closer"), closer, &line);
        assert!(event::parse(closer.trim_ascii_end()).is_ok(), "{what}: a closer is an event");
    }
}
