//! Crash repair: the events that close an open tail turn, so that the log can be continued.

use crate::event::{self, Intent, Kind, NewEvent, SurfaceOp};
use crate::json;
use crate::log::Log;
use crate::pairing;
use crate::position;
use crate::surface::NONE;

/// What the model is told about a call whose result was lost.
pub const INTERRUPTED_TEXT: &str = "Tool call interrupted by a crash; no result was recorded.";

/// Event lines (with line ends) that close the open tail turn of the events `first..`, in order: an
/// error result for each call of the open step that has none, `step/end`, `turn/end` with reason
/// `interrupted`. Empty where the log ends in a closed turn. Their time is the last event's.
pub fn interrupted_turn_closers(log: &Log, first: u32) -> Vec<Vec<u8>> {
    let open = position::of(log, first);
    if open.open_turn == NONE {
        return Vec::new();
    }
    let number = |seq: u32, name: &str| {
        let event = log.get(seq);
        let value = event.as_ref().and_then(|event| json::get(event.data(), name));
        value.map_or_else(|| b"null".to_vec(), json::normalized)
    };
    let turn = number(open.open_turn, "turn");
    let mut closers = Closers { log, lines: Vec::new() };
    if open.open_step != NONE {
        let step = number(open.open_step, "step");
        for call in open_calls(log, open.open_step) {
            let mut data = braced(&[("turn", &turn), ("step", &step), ("callId", &call.id)]);
            data.pop();
            json::put(&mut data, b",\"content\":[{\"type\":\"text\",\"text\":");
            json::encode(INTERRUPTED_TEXT.as_bytes(), &mut data);
            json::put(
                &mut data,
                b"}],\"isError\":true,\"error\":{\"name\":\"InterruptedError\",\"code\":\"interrupted\"}}",
            );
            let sources = call.logged_at.map(|seq| vec![seq]);
            closers.push(Kind::ToolResult, data, Intent { op: Some(SurfaceOp::Append), sources });
        }
        closers.push(Kind::StepEnd, braced(&[("turn", &turn), ("step", &step)]), Intent::default());
    }
    let reason = b"{\"kind\":\"interrupted\"}";
    closers.push(Kind::TurnEnd, braced(&[("turn", &turn), ("reason", reason)]), Intent::default());
    closers.lines
}

struct OpenCall {
    /// The id as a JSON string.
    id: Vec<u8>,
    /// Seq of its `tool/call`, when one was logged.
    logged_at: Option<u32>,
}

/// Calls of the step that starts at `from` which have no result, in log order.
fn open_calls(log: &Log, from: u32) -> Vec<OpenCall> {
    let mut calls: Vec<OpenCall> = Vec::new();
    for seq in from..log.len() {
        let Some(event) = log.get(seq) else { continue };
        // What replaces repeats calls and results that were logged before, of whichever step.
        if json::get(event.line(), "surfaceOp").is_some_and(|op| op.first() == Some(&b'{')) {
            continue;
        }
        let id = || json::get(event.data(), "callId").map(json::normalized).unwrap_or_default();
        match event.kind {
            Kind::AssistantMessage => calls.extend(
                pairing::tool_calls(event.data()).map(|id| OpenCall { id: json::normalized(id), logged_at: None }),
            ),
            Kind::ToolCall => {
                let id = id();
                if let Some(call) = calls.iter_mut().find(|call| call.id == id && call.logged_at.is_none()) {
                    call.logged_at = Some(seq);
                }
            }
            Kind::ToolResult => {
                let id = id();
                if let Some(answered) = calls.iter().position(|call| call.id == id) {
                    calls.remove(answered);
                }
            }
            _ => {}
        }
    }
    calls
}

fn braced(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (i, (name, value)) in members.iter().enumerate() {
        if i > 0 {
            json::put(&mut out, b",");
        }
        json::put(&mut out, b"\"");
        json::put(&mut out, name.as_bytes());
        json::put(&mut out, b"\":");
        json::put(&mut out, value);
    }
    json::put(&mut out, b"}");
    out
}

struct Closers<'a> {
    log: &'a Log,
    lines: Vec<Vec<u8>>,
}

impl Closers<'_> {
    fn push(&mut self, kind: Kind, data: Vec<u8>, intent: Intent) {
        let seq = self.log.len() + self.lines.len() as u32;
        let last = self.log.get(self.log.len().wrapping_sub(1));
        let time = last.as_ref().and_then(|event| json::get(event.line(), "time")).unwrap_or(b"0");
        let mut line = Vec::new();
        event::write_line(&NewEvent { kind, type_json: b"", time, data: &data, intent }, seq, &mut line);
        self.lines.push(line);
    }
}
