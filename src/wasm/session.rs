//! A session's handle.

use super::{array, memory, scratch, text, thrown};
use crate::parts::Parts;
use crate::position;
use crate::session::{Session, SessionHeader};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

type JsResult<T> = std::result::Result<T, JsValue>;

/// A session in the core. `free()` gives its memory back.
#[wasm_bindgen]
pub struct CoreSession {
    pub(super) session: Session,
    /// File offset where the next write goes (after a load).
    #[wasm_bindgen(js_name = committedBytes)]
    pub committed_bytes: f64,
    /// Bytes of a torn last record that the load dropped.
    #[wasm_bindgen(js_name = tornBytes)]
    pub torn_bytes: f64,
    /// Messages on their way to the façade.
    parts: RefCell<Parts>,
}

impl CoreSession {
    pub(super) fn of(session: Session) -> Self {
        CoreSession { session, committed_bytes: 0.0, torn_bytes: 0.0, parts: RefCell::default() }
    }
}

#[wasm_bindgen]
impl CoreSession {
    /// An empty session with this header (JSON text).
    #[wasm_bindgen(constructor)]
    pub fn new(header: &str) -> JsResult<CoreSession> {
        let header = SessionHeader::parse(header.as_bytes()).map_err(thrown)?;
        Ok(CoreSession::of(Session::new(header)))
    }

    /// The header's JSON text.
    pub fn header(&self) -> String {
        text(self.session.header().line().to_vec())
    }

    /// The header line with its line end.
    #[wasm_bindgen(js_name = headerLine)]
    pub fn header_line(&self) -> Vec<u8> {
        [self.session.header().line(), b"\n"].concat()
    }

    /// Number of events.
    #[wasm_bindgen(js_name = length)]
    pub fn len(&self) -> u32 {
        self.session.len()
    }

    /// Appends the records in the first `used` bytes of the scratch area; only the last may be refused. Whether there is
    /// memory for more of them.
    #[wasm_bindgen(js_name = appendRecords)]
    pub fn append_records(&mut self, used: usize) -> JsResult<bool> {
        let appended = scratch::append(&mut self.session, used);
        memory::keep_ahead();
        appended.map(|()| memory::has_room()).map_err(thrown)
    }

    /// Appends the event lines in the first `used` bytes of the scratch area; stops at the first that
    /// is refused.
    #[wasm_bindgen(js_name = appendLines)]
    pub fn append_lines(&mut self, used: usize) -> JsResult<()> {
        scratch::with_bytes(used, |bytes| {
            bytes
                .split(|&b| b == b'\n')
                .filter(|line| !line.is_empty())
                .try_for_each(|line| self.session.append_line(line).map(|_| ()))
        })
        .map_err(thrown)
    }

    /// Last turn, seq of its start while it is open, the same of its last step, seq of the open
    /// compaction's start; `0xFFFFFFFF` for none.
    pub fn position(&self) -> Vec<u32> {
        let at = position::of(self.session.log(), 0);
        vec![at.turn, at.open_turn, at.step, at.open_step, at.compaction]
    }

    /// Whether a file that holds events of this session does not give them any more.
    pub fn failed(&self) -> bool {
        self.session.log().failed()
    }

    /// Number of the kind of the event at `seq`; -1 past the end.
    #[wasm_bindgen(js_name = kindAt)]
    pub fn kind_at(&self, seq: u32) -> i32 {
        self.session.log().kind(seq).map_or(-1, |kind| kind as i32)
    }

    /// Where a page of the events `from..to` ends that is read at once.
    #[wasm_bindgen(js_name = pageEnd)]
    pub fn page_end(&self, from: u32, to: u32) -> u32 {
        self.session.log().page_end(from, to)
    }

    /// The first page of the events `from..to` as one JSON array.
    #[wasm_bindgen(js_name = eventsJson)]
    pub fn events_json(&self, from: u32, to: u32) -> JsResult<String> {
        let end = self.session.log().page_end(from, to);
        let mut out = self.session.log().room_for(from, end).map_err(thrown)?;
        out.push(b'[');
        for seq in from..end {
            if seq > from {
                out.push(b',');
            }
            match self.session.event(seq) {
                Some(event) => out.extend_from_slice(event.line()),
                None => out.extend_from_slice(b"null"),
            }
        }
        out.push(b']');
        Ok(text(out))
    }

    /// The lines of events `from..to`, exactly as stored.
    pub fn lines(&self, from: u32, to: u32) -> JsResult<Vec<u8>> {
        self.session.log().lines(from, to).map_err(thrown)
    }

    /// Bytes of all lines.
    #[wasm_bindgen(js_name = byteLength)]
    pub fn byte_len(&self) -> f64 {
        self.session.log().byte_len() as f64
    }

    /// Seqs of the surface after the events before `end`, head to tail.
    #[wasm_bindgen(js_name = surfaceSeqs)]
    pub fn surface_seqs(&self, end: u32) -> Vec<u32> {
        if end >= self.session.len() { self.session.surface().seqs() } else { self.session.surface().seqs_before(end) }
    }

    /// Number of nodes on the surface.
    #[wasm_bindgen(js_name = surfaceLength)]
    pub fn surface_len(&self) -> usize {
        self.session.surface().len()
    }

    /// The replace generation.
    #[wasm_bindgen(js_name = replaceGeneration)]
    pub fn replace_generation(&self) -> u32 {
        self.session.replace_generation()
    }

    /// Number of replaces among the events before `end`.
    #[wasm_bindgen(js_name = replacesBefore)]
    pub fn replaces_before(&self, end: u32) -> u32 {
        self.session.surface().replaces_before(end)
    }

    /// Bumps the replace generation.
    pub fn invalidate(&mut self) {
        self.session.invalidate();
    }

    /// Lays out messages of the first of these surface events; where the words are, see [`crate::parts`].
    /// Good until the next call; one without seqs gives the memory back.
    #[wasm_bindgen(js_name = layMessages)]
    pub fn lay_messages(&self, seqs: &[u32]) -> *const u32 {
        // Taken out, since a source that is read for this is code of the host, which may call anything.
        let mut parts = self.parts.take();
        if seqs.is_empty() {
            parts = Parts::default();
        }
        self.session.messages(seqs, &mut parts);
        let words = parts.words().as_ptr();
        self.parts.replace(parts);
        words
    }

    /// Where the texts of these messages are.
    #[wasm_bindgen(js_name = messageTexts)]
    pub fn message_texts(&self) -> *const u8 {
        self.parts.borrow().text().as_ptr()
    }

    /// The request header after the events before `end`.
    #[wasm_bindgen(js_name = requestHeader)]
    pub fn request_header(&self, end: u32) -> JsResult<Option<String>> {
        let header = self.session.request_header(end).map_err(thrown)?;
        Ok(header.map(|header| text(header.to_json())))
    }

    /// Number of header events.
    #[wasm_bindgen(js_name = headerEvents)]
    pub fn header_events(&self) -> u32 {
        self.session.header_events()
    }

    /// Where the request that is open after the events before `end` reads: [messages end, header end].
    #[wasm_bindgen(js_name = requestScope)]
    pub fn request_scope(&self, end: u32) -> Vec<u32> {
        let scope = self.session.request_scope(end);
        vec![scope.messages_end, scope.header_end]
    }

    /// Events that close an open tail turn, as one JSON array.
    pub fn closers(&self) -> String {
        array(&self.session.closers())
    }

    /// A child sharing the events through `boundary` (inclusive; none: no events).
    pub fn fork(&mut self, boundary: Option<u32>, header: &str) -> JsResult<CoreSession> {
        let header = SessionHeader::parse(header.as_bytes()).map_err(thrown)?;
        self.session.fork(boundary, header).map(CoreSession::of).map_err(thrown)
    }
}
