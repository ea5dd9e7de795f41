//! A session: one log with the folds that are kept over it.
//!
//! Invariants:
//! - An event enters `log` only after every check has passed; a refused append changes nothing.
//! - `surface` and `headers` have folded exactly the events that are in `log`.

use crate::chunks::Chunks;
use crate::derive;
use crate::error::{Code, Error, Result};
use crate::event::{self, Envelope, Kind, LineFault, NewEvent};
use crate::filed::Stretch;
use crate::header::Header;
use crate::json;
use crate::log::{Block, Log, Stored};
use crate::pairing;
use crate::parts::Parts;
use crate::repair;
use crate::surface::{Plan, Surface};

/// Format version that this build reads and writes. Any other is refused.
pub const FORMAT_VERSION: u64 = 0;

/// An event's bytes must fit the 32 bits of an index entry.
const MAX_EVENT: usize = (u32::MAX / 2) as usize;

/// Bytes of messages that are handed over at once.
const MESSAGES: usize = 1 << 18;

/// The immutable first line of a stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHeader {
    line: Vec<u8>,
}

impl SessionHeader {
    /// Checks a header line (without its line end) and keeps it as it is.
    ///
    /// # Errors
    /// `UNSUPPORTED_VERSION` for any version but [`FORMAT_VERSION`], else `INVALID_HEADER`.
    pub fn parse(line: &[u8]) -> Result<SessionHeader> {
        let bad = |what: &str| Err(Error::new(Code::InvalidHeader, format!("not a session header: {what}")));
        let Ok(span) = json::whole(line) else { return bad("the line is not JSON") };
        let text = &line[span];
        if text.contains(&b'\n') {
            return bad("it must stand on one line");
        }
        let member = |name| json::get(text, name);
        let string = |name| member(name).filter(|v| json::is_string(v));
        if text.first() != Some(&b'{') || !string("type").is_some_and(|t| json::key_is(t, "session")) {
            return bad("it must be an object with \"type\":\"session\"");
        }
        let versions = json::members(text).filter(|(key, _)| json::key_is(&text[key.clone()], "version")).count();
        match member("version") {
            Some(version) if versions == 1 && json::plain_integer(version) == Some(FORMAT_VERSION) => {}
            Some(version) => {
                let found = json::readable(&version[..version.len().min(40)]);
                let what = format!(
                    "the log has format version {found}, this build reads version {FORMAT_VERSION} only; open it with the build that wrote it"
                );
                return Err(Error::new(Code::UnsupportedVersion, what).at_path("version"));
            }
            None => return bad("version is missing"),
        }
        if string("id").is_none_or(|id| id.len() <= 2) {
            return bad("id must be a non-empty string");
        }
        if !member("createdAt").is_some_and(|v| matches!(v[0], b'-' | b'0'..=b'9')) {
            return bad("createdAt must be a number (epoch ms)");
        }
        for name in ["cwd", "parentSession"] {
            if member(name).is_some_and(|v| !json::is_string(v)) {
                return bad(&format!("{name} must be a string"));
            }
        }
        if member("seedLength").is_some_and(|v| json::plain_integer(v).is_none()) {
            return bad("seedLength must be a count of events");
        }
        Ok(SessionHeader { line: text.to_vec() })
    }

    /// The header line without its line end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }
}

/// A log, its surface and its request headers.
#[derive(Debug)]
pub struct Session {
    header: SessionHeader,
    log: Log,
    surface: Surface,
    /// Seqs of the `request/header` and `request/header-delta` events.
    headers: Chunks<u32>,
    /// Bumps of the replace generation that no replace caused.
    invalidations: u32,
}

/// Up to where a request reads the log: messages from the events before one seq, the request header
/// from the events before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestScope {
    /// Messages derive from the events before this seq.
    pub messages_end: u32,
    /// The request header folds the events before this seq.
    pub header_end: u32,
}

impl Session {
    /// An empty session.
    pub fn new(header: SessionHeader) -> Self {
        Session {
            header,
            log: Log::default(),
            surface: Surface::default(),
            headers: Chunks::default(),
            invalidations: 0,
        }
    }

    /// The session's header.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The surface over the log.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// Number of events, which is the next seq.
    pub fn len(&self) -> u32 {
        self.log.len()
    }

    /// Whether the log is empty.
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// The event at `seq`.
    pub fn event(&self, seq: u32) -> Option<Stored<'_>> {
        self.log.get(seq)
    }

    /// Rises with every replace and every [`Session::invalidate`], never falls.
    pub fn replace_generation(&self) -> u32 {
        self.surface.replaces() + self.invalidations
    }

    /// Tells consumers that compare generations to start anew.
    pub fn invalidate(&mut self) {
        self.invalidations += 1;
    }

    /// Appends one event; its seq.
    ///
    /// # Errors
    /// Whatever makes the event unfit to stand here; the session is then as it was.
    pub fn append(&mut self, event: &NewEvent<'_>) -> Result<u32> {
        let seq = self.len();
        let data = match json::whole(event.data) {
            Ok(span) if !event.data.contains(&b'\n') => &event.data[span],
            _ => {
                return Err(Error::new(Code::InvalidJson, "data must be JSON text on one line")
                    .at_seq(seq)
                    .at_path("data"));
            }
        };
        if event.kind == Kind::Other && !is_type_name(event.type_json) {
            let what = "the event type must be a non-empty JSON string; a type that the core knows goes by its kind";
            return Err(Error::new(Code::InvalidType, what).at_seq(seq));
        }
        if !is_number(event.time) {
            return Err(Error::new(Code::InvalidJson, "time must be a JSON number").at_seq(seq).at_path("time"));
        }
        event::check_data(data, event.kind, seq)?;
        self.append_checked(&NewEvent { data, intent: event.intent.clone(), ..*event })
    }

    /// [`Session::append`] for a caller that made `data` and checked the payload itself, as the
    /// façade's walk does; the rules that need the log are checked here.
    pub fn append_checked(&mut self, event: &NewEvent<'_>) -> Result<u32> {
        let seq = self.len();
        if event.data.len() > MAX_EVENT {
            return Err(too_large().at_seq(seq));
        }
        event.intent.check(event.kind, seq)?;
        let plan = if event.kind.is_surface() { Some(self.surface.plan(&event.intent, seq)?) } else { None };
        self.log.push(event).ok_or_else(|| Error::out_of_memory().at_seq(seq))?;
        self.fold(event.kind, plan, seq);
        Ok(seq)
    }

    /// Appends a finished line as it is, without blanks and line ends around it: it must be the
    /// next event.
    ///
    /// # Errors
    /// As [`Session::append`], and `CORRUPT_LOG` or `SEQ_MISMATCH` where it is no event or another.
    pub fn append_line(&mut self, line: &[u8]) -> Result<u32> {
        let line = &line[json::trimmed(line)];
        if line.contains(&b'\n') {
            return Err(Error::new(Code::InvalidJson, "an event stands on one line").at_seq(self.len()));
        }
        if line.len() > MAX_EVENT {
            return Err(too_large().at_seq(self.len()));
        }
        let envelope = event::parse(line).map_err(|fault| match fault {
            LineFault::Syntax(e) => Error::new(Code::InvalidJson, format!("not JSON: expected {}", e.expected)),
            LineFault::Rule(e) => e,
        })?;
        let seq = self.len();
        let plan = self.admit(&envelope, seq)?;
        self.log.push_line(line, envelope.data, envelope.kind).ok_or_else(|| Error::out_of_memory().at_seq(seq))?;
        self.fold(envelope.kind, plan, seq);
        Ok(seq)
    }

    /// Checks an event read from elsewhere against the log; `expected` is the seq it must have.
    pub(crate) fn admit(&self, envelope: &Envelope, expected: u32) -> Result<Option<Plan>> {
        if envelope.seq != expected {
            let what = format!(
                "expected seq {expected}, found {}; the log has a gap or was written by two writers at once",
                envelope.seq
            );
            return Err(Error::new(Code::SeqMismatch, what).at_seq(envelope.seq));
        }
        envelope.intent.check(envelope.kind, expected)?;
        if !envelope.kind.is_surface() {
            return Ok(None);
        }
        self.surface.plan(&envelope.intent, expected).map(Some)
    }

    /// Folds an admitted event.
    pub(crate) fn fold(&mut self, kind: Kind, plan: Option<Plan>, seq: u32) {
        if let Some(plan) = plan {
            self.surface.apply(plan, seq);
        } else if matches!(kind, Kind::RequestHeader | Kind::RequestHeaderDelta) {
            self.headers.push(seq);
        }
    }

    pub(crate) fn push_block(&mut self, block: Block) {
        self.log.push_block(block);
    }

    pub(crate) fn push_stretch(&mut self, stretch: Stretch) {
        self.log.push_stretch(stretch);
    }

    /// The request header in force after the events before `end`.
    ///
    /// # Errors
    /// `DELTA_WITHOUT_HEADER` where a delta stands before any snapshot.
    pub fn request_header(&self, end: u32) -> Result<Option<Header>> {
        let until = self.headers.partition_point(|&seq| seq < end);
        let is_snapshot = |seq: &u32| self.log.kind(*seq) == Some(Kind::RequestHeader);
        // From the last snapshot on, so that a delta without one spoils nothing that comes after the next.
        let from = (0..until).rev().find(|&i| self.headers.get(i).is_some_and(is_snapshot)).unwrap_or(0);
        let mut state: Option<Header> = None;
        for i in from..until {
            let Some(&seq) = self.headers.get(i) else { continue };
            let Some(event) = self.log.get(seq) else { continue };
            state = Some(Header::fold(state.as_ref(), event.kind == Kind::RequestHeader, event.data(), seq)?);
        }
        Ok(state)
    }

    /// Number of header events so far: while it stands still, so does the header in force.
    pub fn header_events(&self) -> u32 {
        self.headers.len() as u32
    }

    /// Lays out the messages of the first of the given surface events; ends after some [`MESSAGES`]
    /// bytes of text.
    pub fn messages(&self, seqs: &[u32], out: &mut Parts) {
        out.clear();
        for &seq in seqs {
            out.put(self.log.get(seq));
            if out.text().len() > MESSAGES {
                break;
            }
        }
        out.finish();
    }

    /// The derived history after the events before `end`, as a JSON array of messages.
    pub fn derive_json(&self, end: u32) -> Vec<u8> {
        let mut out = vec![b'['];
        let seqs = if end >= self.len() { self.surface.seqs() } else { self.surface.seqs_before(end) };
        for event in seqs.into_iter().filter_map(|seq| self.log.get(seq)) {
            let start = out.len();
            if start > 1 {
                out.push(b',');
            }
            if !derive::message(event.kind, event.data(), &mut out) {
                out.truncate(start);
            }
        }
        out.push(b']');
        out
    }

    /// What the model call of the step that is open after the events before `end` has read; with no
    /// step open, what the next call would read.
    ///
    /// A step's messages are those of the events before its `step/start`; its header is the one in
    /// force when its first output was logged, so the header events that the step itself begins
    /// with count.
    pub fn request_scope(&self, end: u32) -> RequestScope {
        let end = end.min(self.len());
        let whole = RequestScope { messages_end: end, header_end: end };
        for seq in (0..end).rev() {
            match self.log.kind(seq) {
                Some(Kind::StepStart) => {
                    let is_output = |seq: &u32| {
                        matches!(
                            self.log.kind(*seq),
                            Some(
                                Kind::AssistantChunk
                                    | Kind::AssistantMessage
                                    | Kind::ToolCall
                                    | Kind::ToolResult
                                    | Kind::StepStart
                                    | Kind::StepEnd
                                    | Kind::TurnEnd
                            )
                        )
                    };
                    let header_end = (seq + 1..self.len()).find(is_output).unwrap_or(self.len());
                    return RequestScope { messages_end: seq, header_end };
                }
                Some(Kind::StepEnd | Kind::TurnEnd | Kind::TurnStart) => return whole,
                _ => {}
            }
        }
        whole
    }

    /// Lines (with line ends) that close an open tail turn; see [`repair`].
    pub fn closers(&self) -> Vec<Vec<u8>> {
        repair::interrupted_turn_closers(&self.log, 0)
    }

    /// Whether the cut before `before` separates no call from its result; see [`pairing`].
    pub fn is_balanced(&self, before: Option<u32>) -> Result<bool> {
        pairing::is_balanced(&self.log, &self.surface.seqs(), before)
    }

    /// Splits the session for [`crate::fork`]: the first `len` events with their folds.
    pub(crate) fn share(&mut self, len: u32, header: SessionHeader) -> Session {
        let mut headers = self.headers.clone();
        headers.truncate(headers.partition_point(|&seq| seq < len));
        Session { header, log: self.log.prefix(len), surface: self.surface.prefix(len), headers, invalidations: 0 }
    }
}

fn too_large() -> Error {
    Error::new(Code::InvalidPayload, "one event holds at most 2 GiB").at_path("data")
}

fn is_type_name(text: &[u8]) -> bool {
    text.len() > 2
        && json::is_string(text)
        && json::string(text, 0) == Ok(text.len())
        && Kind::of(&json::decode(text)) == Kind::Other
}

fn is_number(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'-' | b'0'..=b'9')) && json::value(text, 0) == Ok(text.len())
}
