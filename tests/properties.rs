//! Sessions against a model that does everything from scratch, over random operations and files.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/kept.rs"]
mod kept;
#[path = "common/layout.rs"]
mod layout;
#[path = "common/make.rs"]
mod make;

use kept::Kept;
use make::{HEADER, event, line, read, replace, session, stored};
use palimpsest_core::event::{Intent, Kind, NewEvent, SurfaceOp};
use palimpsest_core::{Header, Loaded, Reader, Result, Session, SessionHeader, json};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json as value};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_time: 20_000, ..ProptestConfig::default() }
}

/// An event as the model keeps it.
#[derive(Clone, Debug)]
struct Event {
    kind: Kind,
    data: String,
    intent: Intent,
    /// What it says to the model, if it is a surface event with a message.
    message: Option<String>,
}

/// What may be done to a session; indexes are taken modulo what there is.
#[derive(Clone, Debug)]
enum Op {
    /// Append a surface event with this content.
    Append(usize, String),
    /// Append so many of them.
    Bulk(usize),
    /// Replace a range of surface positions.
    Replace(usize, String, Index, Index),
    /// Append a log-only event.
    Log(usize),
    /// A snapshot of the request header.
    Snapshot(Value),
    /// A change of it.
    Delta(Value),
    /// End the turn and fork at one of the turn ends; both sides go on.
    Fork(Index),
}

const SURFACE: [Kind; 5] =
    [Kind::UserMessage, Kind::AssistantMessage, Kind::ToolResult, Kind::ContextMessage, Kind::SteeringMessage];
const LOG_ONLY: [Kind; 6] =
    [Kind::Other, Kind::TurnStart, Kind::TurnEnd, Kind::StepStart, Kind::ToolCall, Kind::AssistantChunk];

fn surface_event(which: usize, text: &str) -> Event {
    let kind = SURFACE[which % 5];
    let block = |text: &str| format!(r#"{{"type":"text","text":{}}}"#, serde_json::to_string(text).unwrap());
    let blocks = if text.is_empty() { String::new() } else { block(text) };
    let source = serde_json::to_string(text).unwrap();
    let data = format!(
        r#"{{"turn":1,"callId":{source},"content":[{blocks}],"isError":false,"source":{{"kind":{source}}},"n":1e400}}"#
    );
    let tags = |tag: &str| {
        let inner = if blocks.is_empty() { String::new() } else { format!("{blocks},") };
        format!("[{},{inner}{}]", block(&format!("<{tag} source={source}>")), block(&format!("</{tag}>")))
    };
    let message = match kind {
        Kind::AssistantMessage if text.is_empty() => None,
        Kind::AssistantMessage => Some(format!(r#"{{"role":"assistant","content":[{blocks}]}}"#)),
        Kind::ToolResult => Some(format!(
            r#"{{"role":"user","content":[{{"type":"tool-result","toolCallId":{source},"content":[{blocks}],"isError":false}}]}}"#
        )),
        Kind::ContextMessage => Some(format!(r#"{{"role":"user","content":{}}}"#, tags("context"))),
        Kind::SteeringMessage => Some(format!(r#"{{"role":"user","content":{}}}"#, tags("steering"))),
        _ => Some(format!(r#"{{"role":"user","content":[{blocks}]}}"#)),
    };
    Event { kind, data, intent: Intent::append(), message }
}

/// A session as a list of events.
#[derive(Clone, Debug, Default)]
struct Model {
    events: Vec<Event>,
}

impl Model {
    fn surface(&self, end: usize) -> Vec<u32> {
        let mut surface: Vec<u32> = Vec::new();
        for (seq, event) in self.events[..end].iter().enumerate() {
            let position = |surface: &[u32], seq| surface.iter().position(|&s| s == seq).unwrap();
            match event.intent.op {
                None => {}
                Some(SurfaceOp::Append) => surface.push(seq as u32),
                Some(SurfaceOp::Replace { start, end }) => {
                    let range = position(&surface, start)..=position(&surface, end);
                    surface.splice(range, [seq as u32]);
                }
            }
        }
        surface
    }

    fn messages(&self, surface: &[u32]) -> String {
        let messages: Vec<&str> =
            surface.iter().filter_map(|&seq| self.events[seq as usize].message.as_deref()).collect();
        format!("[{}]", messages.join(","))
    }

    fn replaces(&self, end: usize) -> usize {
        let is_replace = |e: &&Event| matches!(e.intent.op, Some(SurfaceOp::Replace { .. }));
        self.events[..end].iter().filter(is_replace).count()
    }

    /// The header in force; an error at the first delta without one.
    fn header(&self, end: usize) -> std::result::Result<Option<Value>, usize> {
        let mut header: Option<Value> = None;
        // What stands before the last snapshot does not matter, not even when it is wrong.
        let from = self.events[..end].iter().rposition(|e| e.kind == Kind::RequestHeader).unwrap_or(0);
        for (seq, event) in self.events[..end].iter().enumerate().skip(from) {
            let data: Value = match event.kind {
                Kind::RequestHeader | Kind::RequestHeaderDelta => serde_json::from_str(&event.data).unwrap(),
                _ => continue,
            };
            if event.kind == Kind::RequestHeader {
                header = Some(canonical(data["header"].clone()));
            } else {
                header = Some(applied(header.ok_or(seq)?, &data));
            }
        }
        Ok(header)
    }
}

fn canonical(mut header: Value) -> Value {
    let members = header.as_object_mut().unwrap();
    members.retain(|name, v| name == "config" || !(v.is_null() || *v == value!("") || *v == value!([])));
    header
}

fn applied(mut header: Value, delta: &Value) -> Value {
    if let Some(change) = delta.get("system") {
        let system = header.get("system").and_then(Value::as_str).unwrap_or_default().to_owned();
        let lines: Vec<&str> = if system.is_empty() { Vec::new() } else { system.split('\n').collect() };
        let count = |name: &str| change[name].as_u64().unwrap() as usize;
        let mut next = lines[..count("keepStart").min(lines.len())].to_vec();
        next.extend(change["insert"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()));
        let rest = lines.len() - count("keepStart").min(lines.len());
        next.extend(&lines[lines.len() - count("keepEnd").min(rest)..]);
        header["system"] = next.join("\n").into();
    }
    if let Some(change) = delta.get("tools") {
        let mut tools = header.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
        let list = |name: &str| change[name].as_array().unwrap().clone();
        tools.retain(|tool| !list("removed").contains(&tool["name"]));
        for tool in &mut tools {
            if let Some(changed) = list("changed").iter().find(|c| c["name"] == tool["name"]) {
                *tool = changed.clone();
            }
        }
        tools.extend(list("added"));
        header["tools"] = tools.into();
    }
    for name in ["config", "messagePrefix"] {
        if let Some(given) = delta.get(name) {
            header[name] = given.clone();
        }
    }
    canonical(header)
}

/// A session beside its model.
struct Pair {
    session: Session,
    model: Model,
}

impl Pair {
    fn push(&mut self, event: Event) {
        let seq = self.model.events.len() as u32;
        let new = new_event(&event);
        // Both ways in.
        let appended = if seq & 1 == 0 {
            self.session.append(&new)
        } else {
            self.session.append_line(line(&new, seq).trim_ascii_end())
        };
        assert_eq!(appended, Ok(seq));
        self.model.events.push(event);
    }

    fn log_only(&mut self, kind: Kind, data: String) {
        self.push(Event { kind, data, intent: Intent::default(), message: None });
    }

    fn apply(&mut self, op: &Op) -> Option<Pair> {
        match op {
            Op::Append(which, text) => self.push(surface_event(*which, text)),
            Op::Bulk(count) => (0..*count).for_each(|i| self.push(surface_event(i, "bulk"))),
            Op::Replace(which, text, a, b) => {
                let surface = self.model.surface(self.model.events.len());
                if !surface.is_empty() {
                    let (a, b) = (a.index(surface.len()), b.index(surface.len()));
                    let range = &surface[a.min(b)..=a.max(b)];
                    let intent = replace(range[0], range[range.len() - 1], range);
                    self.push(Event { intent, ..surface_event(*which, text) });
                }
            }
            Op::Log(which) => {
                self.log_only(LOG_ONLY[which % LOG_ONLY.len()], format!(r#"{{"turn":{which},"callId":"x"}}"#));
            }
            Op::Snapshot(header) => {
                self.log_only(Kind::RequestHeader, value!({"header": header, "reason": "resume"}).to_string());
            }
            Op::Delta(delta) => self.log_only(Kind::RequestHeaderDelta, delta.to_string()),
            Op::Fork(which) => {
                self.log_only(Kind::TurnEnd, "{}".into());
                let ends: Vec<usize> =
                    (0..self.model.events.len()).filter(|&i| self.model.events[i].kind == Kind::TurnEnd).collect();
                let boundary = *which.get(&ends);
                let header = SessionHeader::parse(HEADER.as_bytes()).unwrap();
                let child = self.session.fork(Some(boundary as u32), header).unwrap();
                let model = Model { events: self.model.events[..=boundary].to_vec() };
                return Some(Pair { session: child, model });
            }
        }
        None
    }

    /// The session as of `end` is what the model makes of the events before it.
    fn check(&self, end: usize) {
        let (session, model, at) = (&self.session, &self.model, end as u32);
        let surface = model.surface(end);
        assert_eq!(session.surface().seqs_before(at), surface, "surface at {end}");
        assert_eq!(session.surface().replaces_before(at) as usize, model.replaces(end));
        let messages = String::from_utf8(session.derive_json(at)).unwrap();
        assert_eq!(messages, model.messages(&surface), "messages at {end}");
        let header = session.request_header(at);
        match model.header(end) {
            Ok(expected) => {
                let found = header.unwrap().map(|h| serde_json::from_slice(&h.to_json()).unwrap());
                assert_eq!(found, expected, "header at {end}");
            }
            Err(seq) => assert_eq!(header.unwrap_err().seq, Some(seq as u32)),
        }
    }

    fn check_all(&self) {
        let (session, len) = (&self.session, self.model.events.len());
        assert_eq!(session.len() as usize, len);
        assert_eq!(session.surface().seqs(), self.model.surface(len));
        assert_eq!(session.surface().len(), session.surface().seqs().len());
        assert_eq!(session.replace_generation() as usize, self.model.replaces(len));
        let step = 1 + len / 60;
        for end in (0..len).step_by(step).chain([len]) {
            self.check(end);
        }
        layout::check(session);
        let lines: Vec<Vec<u8>> =
            self.model.events.iter().enumerate().map(|(seq, e)| line(&new_event(e), seq as u32)).collect();
        for (seq, line) in lines.iter().enumerate().step_by(step) {
            assert_eq!(session.event(seq as u32).unwrap().line(), line.trim_ascii_end());
            let data = self.model.events[seq].data.as_bytes();
            assert_eq!(session.event(seq as u32).unwrap().data(), data);
        }
        let mut copied = Vec::new();
        session.log().copy_lines(len as u32 / 3, len as u32, &mut copied);
        assert!(copied == lines[len / 3..].concat(), "the lines from {} on", len / 3);
        assert_eq!(session.log().byte_len() as usize, lines.concat().len());
    }
}

fn new_event(model: &Event) -> NewEvent<'_> {
    NewEvent { type_json: br#""my/event""#, ..event(model.kind, &model.data, model.intent.clone()) }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-c\"\\\\\n<>é\u{2028}\u{1F600}]{1,8}", "[a-z ]{30,60}"]
}

fn tools() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-d]", 0..3u8, 0..4)
        .prop_map(|tools| tools.into_iter().map(|(name, v)| value!({"name": name, "v": v})).collect())
}

fn header() -> impl Strategy<Value = Value> {
    (0..3u8, "[ab\n]{0,6}", tools(), 0..2usize).prop_map(|(model, system, tools, prefix)| {
        value!({"config": {"model": model}, "system": system, "tools": tools, "messagePrefix": vec![value!({"role": "user"}); prefix]})
    })
}

fn delta() -> impl Strategy<Value = Value> {
    let system = (0..4u8, 0..4u8, proptest::collection::vec("[ab]{0,2}", 0..3))
        .prop_map(|(a, z, insert)| value!({"system": {"keepStart": a, "keepEnd": z, "insert": insert}}));
    let tools = (tools(), tools(), proptest::collection::vec("[a-d]", 0..3)).prop_map(|(added, changed, removed)| {
        // As a delta is made: nothing is added that is there.
        let names: Vec<Value> = added.as_array().unwrap().iter().map(|t| t["name"].clone()).collect();
        let removed: Vec<Value> = removed.into_iter().map(Value::from).chain(names).collect();
        value!({"tools": {"added": added, "removed": removed, "changed": changed}})
    });
    let config = (0..5u8).prop_map(|n| value!({"config": {"model": n}}));
    let prefix = (0..3usize).prop_map(|n| value!({"messagePrefix": vec![value!({"role": "user"}); n]}));
    prop_oneof![system, tools, config, prefix]
}

fn op(bulk: usize) -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..5usize, text()).prop_map(|(which, text)| Op::Append(which, text)),
        6 => (0..5usize, text(), any::<Index>(), any::<Index>()).prop_map(|(w, t, a, b)| Op::Replace(w, t, a, b)),
        4 => (0..6usize).prop_map(Op::Log),
        1 => header().prop_map(Op::Snapshot),
        2 => delta().prop_map(Op::Delta),
        2 => any::<Index>().prop_map(Op::Fork),
        1 => (1..=bulk).prop_map(Op::Bulk),
    ]
}

/// Runs operations on a growing family of sessions; each operation on any one of them.
fn family(ops: &[(Index, Op)]) -> Vec<Pair> {
    let mut family = vec![Pair { session: session(), model: Model::default() }];
    for (who, op) in ops {
        let at = who.index(family.len());
        let child = family[at].apply(op);
        family.extend(child);
    }
    family
}

/// The line that stores an event, however it is spelt, and whether a reader leaves its spelling alone.
fn stored_line(seq: u32, data: &str, spelling: usize) -> String {
    let bare = String::from_utf8(line(&event(Kind::UserMessage, data, Intent::append()), seq)).unwrap();
    let bare = bare.trim_end();
    match spelling % 3 {
        0 => bare.replace(",\"time\"", " ,\t\"time\""),
        1 => bare.replace("\"type\"", "\"more\":{\"seq\":[1e999]},\"type\""),
        _ => bare.into(),
    }
}

/// A file with whatever may stand around its lines; its events, and its bytes.
fn any_file() -> impl Strategy<Value = (Vec<String>, Vec<u8>)> {
    let around = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just(" \t\n"), 1 => Just("\n\n"), 1 => Just("\n \r\n\n\t")];
    let row = (text(), 0..3usize, around, 0..300usize);
    (any::<bool>(), proptest::collection::vec(row, 0..40)).prop_map(|(mark, rows)| {
        let mut bytes = if mark { "\u{feff}".to_owned() } else { String::new() };
        bytes += &format!("{HEADER}\n");
        let mut lines = Vec::new();
        for (seq, (text, spelling, around, more)) in rows.into_iter().enumerate() {
            let text = serde_json::to_string(&(text + &"日x".repeat(more))).unwrap();
            let data = format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#);
            let line = stored_line(seq as u32, &data, spelling);
            bytes += &format!("{line}{around}");
            lines.push(line);
        }
        (lines, bytes.into_bytes())
    })
}

const SIZES: [usize; 8] = [1, 2, 3, 7, 4095, 4096, 4097, 65535];

/// Reads with room for more than comes, as a file is read.
fn read_chunks(bytes: &[u8], size: impl FnMut() -> usize) -> Result<Loaded> {
    read_with(Reader::new(), bytes, size)
}

fn read_with(mut reader: Reader, bytes: &[u8], mut size: impl FnMut() -> usize) -> Result<Loaded> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let reserved = size().max(1);
        let filled = reserved.min(rest.len()).min(1 + reserved * 2 / 3);
        reader.reserve(reserved).unwrap()[..filled].copy_from_slice(&rest[..filled]);
        reader.commit(reserved, filled)?;
        rest = &rest[filled..];
    }
    reader.finish()
}

/// The same log over a source, read in chunks.
fn read_filed(bytes: &[u8], size: usize) -> Result<Loaded> {
    read_with(Reader::over(Box::new(Kept(bytes.to_vec()))), bytes, || size)
}

/// All that a reader tells, comparable.
fn told(loaded: Result<Loaded>) -> Result<(make::State, u64, u64)> {
    loaded.map(|loaded| (make::state(&loaded.session), loaded.committed_bytes, loaded.torn_bytes))
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn derivation_equals_a_replay_from_scratch(ops in proptest::collection::vec((any::<Index>(), op(3)), 0..60)) {
        for pair in family(&ops) {
            pair.check_all();
            let reread = read(&stored(&pair.session)).unwrap().session;
            Pair { session: reread, model: pair.model }.check_all();
        }
    }

    #[test]
    fn a_file_is_read_whole_in_chunks_of_any_size(
        (lines, bytes) in any_file(),
        sizes in proptest::collection::vec(1..9000usize, 1..20),
    ) {
        let whole = read(&bytes).unwrap();
        prop_assert_eq!((whole.committed_bytes, whole.torn_bytes), (bytes.iter().rposition(|b| *b == b'\n').unwrap() as u64 + 1, bytes.rsplit(|b| *b == b'\n').next().unwrap().len() as u64));
        let mut copied = Vec::new();
        whole.session.log().copy_lines(0, u32::MAX, &mut copied);
        let verbatim: String = lines.iter().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(String::from_utf8(copied).unwrap(), verbatim);
        let expected = told(Ok(whole));
        for size in SIZES {
            prop_assert_eq!(&told(read_chunks(&bytes, || size)), &expected, "chunks of {}", size);
            prop_assert_eq!(&told(read_filed(&bytes, size)), &expected, "over a source, in chunks of {}", size);
        }
        let mut sizes = sizes.iter().cycle().copied();
        prop_assert_eq!(&told(read_chunks(&bytes, || sizes.next().unwrap())), &expected);
    }

    #[test]
    fn a_damaged_file_reads_the_same_in_chunks_of_any_size(
        (_, mut bytes) in any_file(),
        at in any::<Index>(),
        damage in prop_oneof![Just(None), any::<u8>().prop_map(Some)],
    ) {
        let at = at.index(bytes.len());
        match damage {
            None => bytes.truncate(at),
            Some(byte) => bytes[at] = byte,
        }
        let expected = told(read(&bytes));
        for size in SIZES {
            prop_assert_eq!(&told(read_chunks(&bytes, || size)), &expected, "chunks of {}", size);
            prop_assert_eq!(&told(read_filed(&bytes, size)), &expected, "over a source, in chunks of {}", size);
        }
    }

    #[test]
    fn a_header_delta_leads_where_it_says(previous in header(), next in header()) {
        let parse = |v: &Value| Header::parse(v.to_string().as_bytes());
        let (from, to) = (parse(&previous), parse(&next));
        prop_assert_eq!(from == to, canonical(previous.clone()) == canonical(next.clone()));
        prop_assert_eq!(from.diff(&to).is_none(), from == to);
        let Some(delta) = from.diff(&to) else { return Ok(()) };
        prop_assert!(json::whole(&delta).is_ok());
        let reached = from.apply(&delta);
        // The order of tools is the one thing that a delta cannot say.
        let sorted = |header: &Header| {
            let mut v: Value = serde_json::from_slice(&header.to_json()).unwrap();
            if let Some(tools) = v.get_mut("tools").and_then(Value::as_array_mut) {
                tools.sort_by_key(|tool| tool["name"].to_string());
            }
            v
        };
        prop_assert_eq!(sorted(&reached), sorted(&to));
        prop_assert_eq!(&Header::parse(&reached.to_json()), &reached);
        let by_hand = applied(canonical(previous), &serde_json::from_slice(&delta).unwrap());
        prop_assert_eq!(serde_json::from_slice::<Value>(&reached.to_json()).unwrap(), by_hand);
    }
}

proptest! {
    #![proptest_config(config(12))]

    /// Enough events for the shared lists and blocks to be cut in the middle.
    #[test]
    fn long_logs_fork_like_short_ones(ops in proptest::collection::vec((any::<Index>(), op(1500)), 20..40)) {
        for pair in family(&ops) {
            pair.check_all();
        }
    }
}
