//! One event: its kinds, its envelope on a line, and the checks that need nothing but the event.
//!
//! A line is `{"type":…,"seq":…,"time":…,"data":…[,"sourceEventSeqs":[…]][,"surfaceOp":…]}`, keys in
//! this order when written here, in any order (and with members we do not know) when read.
//!
//! One file, though a long one: what reads a line and what writes it are one format, seen from two sides.

use std::borrow::Cow;
use std::collections::BinaryHeap;

use crate::error::{Code, Error, Result};
use crate::json::{self, Span, SyntaxError};

/// Kinds of event that the core treats specially; every other type is [`Kind::Other`].
/// The numbers are the ones the façade sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Any type without meaning to the core: stored and replayed, never on the surface.
    Other = 0,
    /// `user/message` (surface).
    UserMessage = 1,
    /// `assistant/message` (surface).
    AssistantMessage = 2,
    /// `tool/result` (surface).
    ToolResult = 3,
    /// `context/message` (surface).
    ContextMessage = 4,
    /// `steering/message` (surface).
    SteeringMessage = 5,
    /// `turn/start`.
    TurnStart = 6,
    /// `turn/end`.
    TurnEnd = 7,
    /// `step/start`.
    StepStart = 8,
    /// `step/end`.
    StepEnd = 9,
    /// `tool/call`.
    ToolCall = 10,
    /// `request/header`.
    RequestHeader = 11,
    /// `request/header-delta`.
    RequestHeaderDelta = 12,
    /// `assistant/chunk`.
    AssistantChunk = 13,
    /// `compact/start`.
    CompactStart = 14,
    /// `compact/summary`.
    CompactSummary = 15,
    /// `compact/end`.
    CompactEnd = 16,
}

/// Every kind with a name of its own, by its number.
const NAMED: [(Kind, &str); 16] = [
    (Kind::UserMessage, "user/message"),
    (Kind::AssistantMessage, "assistant/message"),
    (Kind::ToolResult, "tool/result"),
    (Kind::ContextMessage, "context/message"),
    (Kind::SteeringMessage, "steering/message"),
    (Kind::TurnStart, "turn/start"),
    (Kind::TurnEnd, "turn/end"),
    (Kind::StepStart, "step/start"),
    (Kind::StepEnd, "step/end"),
    (Kind::ToolCall, "tool/call"),
    (Kind::RequestHeader, "request/header"),
    (Kind::RequestHeaderDelta, "request/header-delta"),
    (Kind::AssistantChunk, "assistant/chunk"),
    (Kind::CompactStart, "compact/start"),
    (Kind::CompactSummary, "compact/summary"),
    (Kind::CompactEnd, "compact/end"),
];

impl Kind {
    /// The kind of a type name.
    pub fn of(name: &[u8]) -> Kind {
        NAMED.iter().find(|(_, n)| n.as_bytes() == name).map_or(Kind::Other, |(kind, _)| *kind)
    }

    /// The kind with this number; unknown numbers are [`Kind::Other`].
    pub fn from_number(number: u32) -> Kind {
        NAMED.get((number as usize).wrapping_sub(1)).map_or(Kind::Other, |(kind, _)| *kind)
    }

    /// The type name; empty for [`Kind::Other`], whose events carry their own.
    pub fn name(self) -> &'static str {
        NAMED.get((self as usize).wrapping_sub(1)).map_or("", |(_, name)| name)
    }

    /// Whether events of this kind yield a message.
    pub fn is_surface(self) -> bool {
        matches!(self as u8, 1..=5)
    }
}

/// How a surface event entered the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceOp {
    /// At the tail.
    Append,
    /// In place of the nodes from `start` through `end`, by surface position.
    Replace {
        /// Seq of the first replaced node.
        start: u32,
        /// Seq of the last replaced node.
        end: u32,
    },
}

/// Surface fields of an event, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    /// `surfaceOp`, when there is one.
    pub op: Option<SurfaceOp>,
    /// `sourceEventSeqs`, when there are any.
    pub sources: Option<Vec<u32>>,
}

impl Intent {
    /// Append at the tail, no provenance.
    pub fn append() -> Self {
        Intent { op: Some(SurfaceOp::Append), sources: None }
    }

    /// Whether the event carries no surface field at all.
    pub fn is_empty(&self) -> bool {
        self.op.is_none() && self.sources.is_none()
    }

    /// The checks that need nothing but the event: markers where they belong, sources unique,
    /// earlier than the event, and empty only where that means something.
    pub fn check(&self, kind: Kind, seq: u32) -> Result<()> {
        if !kind.is_surface() {
            if self.is_empty() {
                return Ok(());
            }
            return Err(Error::new(
                Code::UnexpectedSurfaceFields,
                "only surface events carry surfaceOp and sourceEventSeqs; append this type without an intent",
            )
            .at_seq(seq));
        }
        if self.op.is_none() {
            let what =
                format!("{} needs a surfaceOp ('append' or a replace), else the model never sees it", kind.name());
            return Err(Error::new(Code::MissingSurfaceOp, what).at_seq(seq).at_path("surfaceOp"));
        }
        let Some(sources) = &self.sources else { return Ok(()) };
        let refuse = |what: String| Err(Error::new(Code::InvalidSources, what).at_seq(seq).at_path("sourceEventSeqs"));
        if sources.is_empty() && kind != Kind::AssistantMessage {
            return refuse(
                "an empty sourceEventSeqs is accepted on assistant/message only; leave the field out".into(),
            );
        }
        if let Some(late) = sources.iter().find(|&&s| s >= seq) {
            return refuse(format!("source {late} is not earlier than the event itself"));
        }
        match sorted(sources).windows(2).find(|w| w[0] == w[1]) {
            Some(w) => refuse(format!("source {} is listed twice", w[0])),
            None => Ok(()),
        }
    }
}

/// The seqs in order. The library's own sorts are ten times the code.
#[inline(never)]
pub(crate) fn sorted(seqs: &[u32]) -> Cow<'_, [u32]> {
    if seqs.is_sorted() { seqs.into() } else { BinaryHeap::from(seqs.to_vec()).into_sorted_vec().into() }
}

/// The envelope of one event line: where its parts stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Kind, from the type.
    pub kind: Kind,
    /// The event's own seq.
    pub seq: u32,
    /// `time`, a JSON number.
    pub time: Span,
    /// `data`, any value.
    pub data: Span,
    /// Surface fields.
    pub intent: Intent,
    /// What is known of `data`, of a surface event.
    pub payload: Payload,
}

/// What a look at the payload of a surface event has found; kept with the event, since it spares
/// the projection a look at the members that it does not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Payload {
    /// Nobody has looked.
    #[default]
    Unknown,
    /// Nothing that the projection could rely on.
    Other,
    /// Of the members that the projection reads none stands in it twice; there is no `isError`.
    Plain,
    /// The same with `"isError":false`.
    Success,
    /// The same with `"isError":true`.
    Failure,
}

/// Why a line is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// Not JSON: what a torn or overwritten line looks like.
    Syntax(SyntaxError),
    /// JSON, but not an event that may stand here.
    Rule(Error),
}

impl From<SyntaxError> for LineFault {
    fn from(e: SyntaxError) -> Self {
        LineFault::Syntax(e)
    }
}

impl From<Error> for LineFault {
    fn from(e: Error) -> Self {
        LineFault::Rule(e)
    }
}

/// Members of `data` that the projection needs, found while the line was checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct PayloadSpans {
    object: bool,
    pub content: Option<Span>,
    pub source: Option<Span>,
    pub call_id: Option<Span>,
    pub is_error: Option<Span>,
    /// Whether one of these stands there twice.
    twice: bool,
}

impl PayloadSpans {
    /// The members of a payload that was checked before.
    #[inline(never)]
    pub fn of(data: &[u8]) -> Self {
        let mut found = PayloadSpans::default();
        let _ = payload_value(data, json::skip_space(data, 0), &mut found);
        found
    }

    pub fn summary(&self, text: &[u8]) -> Payload {
        match self.is_error.clone().map(|s| &text[s]) {
            _ if self.twice || !self.object => Payload::Other,
            None => Payload::Plain,
            Some(b"false") => Payload::Success,
            Some(b"true") => Payload::Failure,
            Some(_) => Payload::Other,
        }
    }
}

/// Reads one line (without its line end): checks that it is JSON throughout and an event by itself.
#[inline(never)]
pub fn parse(line: &[u8]) -> std::result::Result<Envelope, LineFault> {
    let bad = |what: &str| LineFault::Rule(Error::new(Code::CorruptLog, format!("not an event: {what}")));
    let start = json::skip_space(line, 0);
    if line.get(start) != Some(&b'{') {
        json::whole(line)?;
        return Err(bad("not an object"));
    }
    let head = Head::of(line, start);
    let (mut kind_span, mut seq, mut time) = match &head {
        Some(head) => (Some(head.kind.clone()), Some(head.seq.clone()), Some(head.time.clone())),
        None => (None, None, None),
    };
    let log_only =
        kind_span.clone().is_some_and(|kind: Span| !Kind::of(&line[kind.start + 1..kind.end - 1]).is_surface());
    let (mut data, mut sources, mut op) = (None, None, None);
    let mut payload = None;
    let member = |key: Span, at| {
        let slot = match &*key_name(&line[key]) {
            b"type" => &mut kind_span,
            b"seq" => &mut seq,
            b"time" => &mut time,
            b"data" if log_only => &mut data,
            b"data" => {
                let end = payload_value(line, at, payload.insert(PayloadSpans::default()))?;
                data = Some(at..end);
                return Ok(end);
            }
            b"sourceEventSeqs" => &mut sources,
            b"surfaceOp" => &mut op,
            _ => return json::value(line, at),
        };
        let end = json::value(line, at)?;
        *slot = Some(at..end);
        Ok(end)
    };
    let end = match &head {
        Some(head) => members(line, head.end, member)?,
        None => object(line, start, member)?,
    };
    let rest = json::skip_space(line, end);
    if rest != line.len() {
        return Err(SyntaxError { at: rest, expected: "the end of the line" }.into());
    }
    let type_span = kind_span.filter(|s: &Span| json::is_string(&line[s.clone()]) && s.len() > 2);
    let kind_text = &line[type_span.ok_or_else(|| bad("no type"))?];
    let inner = &kind_text[1..kind_text.len() - 1];
    let kind = if inner.contains(&b'\\') { Kind::of(&json::decode(kind_text)) } else { Kind::of(inner) };
    let number = seq.and_then(|s: Span| json::plain_integer(&line[s]));
    let seq = number.and_then(|n| u32::try_from(n).ok()).ok_or_else(|| bad("no seq in plain digits"))?;
    let time = time.filter(|s: &Span| matches!(line[s.start], b'-' | b'0'..=b'9')).ok_or_else(|| bad("no time"))?;
    let data = data.ok_or_else(|| bad("no data"))?;
    let intent = Intent {
        op: op.map(|s| parse_op(&line[s], seq)).transpose()?,
        sources: sources.map(|s| parse_sources(&line[s], seq)).transpose()?,
    };
    let mut summary = Payload::Unknown;
    if kind.is_surface() {
        let mut found = payload.unwrap_or_default();
        if log_only {
            // A second "type" has made it one.
            payload_value(line, data.start, &mut found)?;
        }
        check_payload(line, kind, seq, &found)?;
        summary = found.summary(line);
    }
    Ok(Envelope { kind, seq, time, data, intent, payload: summary })
}

/// The start of a line as [`write_line`] writes it: the first three members in their order, in plain
/// letters and digits and without blanks. A line that starts otherwise is read member by member.
pub(crate) struct Head {
    pub kind: Span,
    pub seq: Span,
    pub time: Span,
    /// Where the next key is.
    pub end: usize,
}

impl Head {
    pub fn of(line: &[u8], start: usize) -> Option<Head> {
        let name = json::after(line, start, b"{\"type\":\"")?;
        let is_plain = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.');
        let len = line[name..].iter().take_while(is_plain).count();
        let seq = json::after(line, name + len, b"\",\"seq\":")?;
        let seq = seq..json::digits(line, seq)?;
        let time = json::after(line, seq.end, b",\"time\":")?;
        let time = time..json::digits(line, time)?;
        let end = json::skip_space(line, json::after(line, time.end, b",")?);
        Some(Head { kind: name - 1..name + len + 1, seq, time, end })
    }
}

/// The name that a key (with its quotes) spells.
fn key_name(quoted: &[u8]) -> Cow<'_, [u8]> {
    let inner = &quoted[1..quoted.len() - 1];
    if inner.contains(&b'\\') { Cow::Owned(json::decode(quoted)) } else { Cow::Borrowed(inner) }
}

/// Walks the members of the object at `at`; `member` gets the key span and the place of the value,
/// and returns where the value ends.
fn object(
    text: &[u8],
    at: usize,
    member: impl FnMut(Span, usize) -> std::result::Result<usize, SyntaxError>,
) -> std::result::Result<usize, SyntaxError> {
    let at = json::skip_space(text, at + 1);
    if text.get(at) == Some(&b'}') { Ok(at + 1) } else { members(text, at, member) }
}

/// [`object`] from a key on.
fn members(
    text: &[u8],
    mut at: usize,
    mut member: impl FnMut(Span, usize) -> std::result::Result<usize, SyntaxError>,
) -> std::result::Result<usize, SyntaxError> {
    loop {
        if text.get(at) != Some(&b'"') {
            return Err(SyntaxError { at, expected: "a key" });
        }
        let key = at..json::string(text, at)?;
        at = json::skip_space(text, key.end);
        if text.get(at) != Some(&b':') {
            return Err(SyntaxError { at, expected: "':'" });
        }
        at = json::skip_space(text, at + 1);
        at = json::skip_space(text, member(key, at)?);
        match text.get(at) {
            Some(b',') => at = json::skip_space(text, at + 1),
            Some(b'}') => return Ok(at + 1),
            _ => return Err(SyntaxError { at, expected: "',' or '}'" }),
        }
    }
}

fn payload_value(text: &[u8], at: usize, found: &mut PayloadSpans) -> std::result::Result<usize, SyntaxError> {
    *found = PayloadSpans::default();
    if text.get(at) != Some(&b'{') {
        return json::value(text, at);
    }
    found.object = true;
    object(text, at, |key, at| {
        let end = json::value(text, at)?;
        let slot = match &*key_name(&text[key]) {
            b"content" => &mut found.content,
            b"source" => &mut found.source,
            b"callId" => &mut found.call_id,
            b"isError" => &mut found.is_error,
            _ => return Ok(end),
        };
        found.twice |= slot.replace(at..end).is_some();
        Ok(end)
    })
}

/// Checks that a surface event can be projected: content is a list, and what the projection quotes
/// is there. Refused when it is appended, since every later request would fail on it.
fn check_payload(text: &[u8], kind: Kind, seq: u32, found: &PayloadSpans) -> Result<()> {
    if !kind.is_surface() {
        return Ok(());
    }
    let refuse = |path, what: &str| {
        Err(Error::new(Code::InvalidPayload, format!("{}: {what}", kind.name())).at_seq(seq).at_path(path))
    };
    if !found.object {
        return refuse("data", "the payload must be an object");
    }
    let starts = |span: &Option<Span>, with: u8| span.as_ref().is_some_and(|s| text[s.start] == with);
    if !starts(&found.content, b'[') {
        return refuse("data.content", "content must be an array of blocks");
    }
    if kind == Kind::ToolResult && !starts(&found.call_id, b'"') {
        return refuse("data.callId", "callId must be a string");
    }
    if matches!(kind, Kind::ContextMessage | Kind::SteeringMessage) {
        let source = found.source.clone().map(|s| &text[s]).unwrap_or_default();
        if !json::get(source, "kind").is_some_and(json::is_string) {
            return refuse("data.source.kind", "source.kind must be a string");
        }
    }
    Ok(())
}

/// [`check_payload`] for a payload that stands alone and was checked to be JSON.
pub fn check_data(data: &[u8], kind: Kind, seq: u32) -> Result<()> {
    let mut found = PayloadSpans::default();
    if kind.is_surface() && payload_value(data, json::skip_space(data, 0), &mut found).is_err() {
        return Err(Error::new(Code::InvalidJson, "the payload is not JSON").at_seq(seq).at_path("data"));
    }
    check_payload(data, kind, seq, &found)
}

fn seq_of(value: &[u8]) -> Option<u32> {
    json::plain_integer(value).and_then(|n| u32::try_from(n).ok())
}

/// Reads a `surfaceOp` value.
pub fn parse_op(value: &[u8], seq: u32) -> Result<SurfaceOp> {
    if json::is_string(value) && json::key_is(value, "append") {
        return Ok(SurfaceOp::Append);
    }
    let member = |name| json::get(value, name);
    let replace = member("op").is_some_and(|op| json::is_string(op) && json::key_is(op, "replace"));
    match (replace, member("start").and_then(seq_of), member("end").and_then(seq_of)) {
        (true, Some(start), Some(end)) if json::members(value).count() == 3 => Ok(SurfaceOp::Replace { start, end }),
        _ => Err(Error::new(
            Code::InvalidSurfaceOp,
            "surfaceOp must be 'append' or { op: 'replace', start, end } with two seqs",
        )
        .at_seq(seq)
        .at_path("surfaceOp")),
    }
}

/// Reads a `sourceEventSeqs` value.
pub fn parse_sources(value: &[u8], seq: u32) -> Result<Vec<u32>> {
    let refuse = || {
        Error::new(Code::InvalidSources, "sourceEventSeqs must be an array of seqs")
            .at_seq(seq)
            .at_path("sourceEventSeqs")
    };
    if value.first() != Some(&b'[') {
        return Err(refuse());
    }
    json::items(value).map(|item| seq_of(item).ok_or_else(refuse)).collect()
}

/// What `append` knows of an event before it has a seq.
#[derive(Clone, Debug)]
pub struct NewEvent<'a> {
    /// Kind; [`Kind::Other`] takes its name from `type_json`.
    pub kind: Kind,
    /// The type as a JSON string with its quotes; read only for [`Kind::Other`].
    pub type_json: &'a [u8],
    /// Epoch milliseconds, as a JSON number.
    pub time: &'a [u8],
    /// The payload as JSON text without line ends outside strings.
    pub data: &'a [u8],
    /// Surface fields.
    pub intent: Intent,
}

impl NewEvent<'_> {
    /// Bytes that its line takes, at most.
    pub fn room(&self) -> usize {
        /// Keys, braces, the longest name of a kind, and the digits of seq, start and end.
        const FRAME: usize = 160;
        let sources = self.intent.sources.as_ref().map_or(0, |sources| 24 + 11 * sources.len());
        FRAME + self.type_json.len() + self.time.len() + self.data.len() + sources
    }
}

/// Writes an event line with its line end; where `data` stands, counted from the line's first byte.
pub fn write_line(event: &NewEvent<'_>, seq: u32, out: &mut Vec<u8>) -> Span {
    let start = out.len();
    out.extend(b"{\"type\":");
    if event.kind == Kind::Other {
        out.extend_from_slice(event.type_json);
    } else {
        out.push(b'"');
        out.extend(event.kind.name().as_bytes());
        out.push(b'"');
    }
    out.extend(b",\"seq\":");
    json::push_integer(u64::from(seq), out);
    out.extend(b",\"time\":");
    out.extend_from_slice(event.time);
    out.extend(b",\"data\":");
    let data = out.len() - start;
    out.extend_from_slice(event.data);
    let span = data..out.len() - start;
    if let Some(sources) = &event.intent.sources {
        out.extend(b",\"sourceEventSeqs\":[");
        for (i, source) in sources.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            json::push_integer(u64::from(*source), out);
        }
        out.push(b']');
    }
    match event.intent.op {
        None => {}
        Some(SurfaceOp::Append) => out.extend(b",\"surfaceOp\":\"append\""),
        Some(SurfaceOp::Replace { start, end }) => {
            out.extend(b",\"surfaceOp\":{\"op\":\"replace\",\"start\":");
            json::push_integer(u64::from(start), out);
            out.extend(b",\"end\":");
            json::push_integer(u64::from(end), out);
            out.push(b'}');
        }
    }
    out.extend(b"}\n");
    span
}
