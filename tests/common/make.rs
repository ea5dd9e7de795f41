//! Sessions and events for the tests that make their own.
#![allow(dead_code, reason = "each test file uses its part of this")]

use palimpsest_core::event::{Intent, Kind, NewEvent, SurfaceOp};
use palimpsest_core::{Header, Loaded, Reader, Result, Session, SessionHeader};

pub const HEADER: &str = r#"{"type":"session","version":0,"id":"s","createdAt":1}"#;

pub fn session() -> Session {
    Session::new(SessionHeader::parse(HEADER.as_bytes()).expect("a header"))
}

pub fn append() -> Intent {
    Intent::append()
}

pub fn replace(start: u32, end: u32, sources: &[u32]) -> Intent {
    Intent { op: Some(SurfaceOp::Replace { start, end }), sources: Some(sources.to_vec()) }
}

/// An event of a kind that has a name of its own.
pub fn event(kind: Kind, data: &str, intent: Intent) -> NewEvent<'_> {
    NewEvent { kind, type_json: b"", time: b"7", data: data.as_bytes(), intent }
}

/// The event as its line, with the line end.
pub fn line(event: &NewEvent<'_>, seq: u32) -> Vec<u8> {
    let mut out = Vec::new();
    palimpsest_core::event::write_line(event, seq, &mut out);
    out
}

/// All lines of a session, its header first: what a store holds.
pub fn stored(session: &Session) -> Vec<u8> {
    let mut out = [session.header().line(), b"\n"].concat();
    session.log().copy_lines(0, session.len(), &mut out);
    out
}

pub fn read(bytes: &[u8]) -> Result<Loaded> {
    let mut reader = Reader::new();
    reader.push(bytes)?;
    reader.finish()
}

/// Everything that can be seen of a session.
#[derive(Debug, PartialEq)]
pub struct State {
    pub bytes: Vec<u8>,
    pub len: u32,
    pub byte_len: usize,
    pub surface: Vec<u32>,
    pub generation: u32,
    pub messages: Vec<u8>,
    pub header: Result<Option<Header>>,
    pub closers: Vec<Vec<u8>>,
}

pub fn state(session: &Session) -> State {
    State {
        bytes: stored(session),
        len: session.len(),
        byte_len: session.log().byte_len() as usize,
        surface: session.surface().seqs(),
        generation: session.replace_generation(),
        messages: session.derive_json(session.len()),
        header: session.request_header(session.len()),
        closers: session.closers(),
    }
}
