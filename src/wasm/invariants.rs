//! A checker's handle.

use super::session::CoreSession;
use super::{scratch, text};
use crate::event;
use crate::invariants::lines::LineChecker;
use crate::invariants::{Event, Limits};
use wasm_bindgen::prelude::*;

/// Checks the rules of correct logs: over a session that grows, or over a stored log's bytes.
/// Findings are taken as one JSON array; each is given once.
#[wasm_bindgen]
pub struct CoreChecker {
    lines: LineChecker,
    /// Events before this seq were examined before they entered.
    examined: u32,
}

#[wasm_bindgen]
impl CoreChecker {
    /// A checker at the start of a log.
    #[wasm_bindgen(constructor)]
    pub fn new(max_blob: f64, latest: f64) -> CoreChecker {
        let limits = Limits { max_blob: max_blob as usize, latest: latest as u64 };
        CoreChecker { lines: LineChecker::new(limits), examined: 0 }
    }

    /// Checks the events of a session up to `end` that were not checked yet.
    #[wasm_bindgen(js_name = catchUp)]
    pub fn catch_up(&mut self, core: &CoreSession, end: u32) {
        let LineChecker { checker, found, .. } = &mut self.lines;
        for seq in checker.next()..end {
            let Some(stored) = core.session.event(seq) else { break };
            let Ok(envelope) = event::parse(stored.line()) else { break };
            let time = &stored.line()[envelope.time];
            let event = Event { kind: stored.kind, seq, time, data: stored.data(), intent: &envelope.intent };
            if seq >= self.examined {
                checker.check(&event, found);
            }
            checker.fold(&event);
        }
    }

    /// Checks the event whose record is the first `used` bytes of the scratch area, and which is
    /// about to enter the session. Says nothing of one that the session itself will refuse.
    pub fn examine(&mut self, core: &CoreSession, used: usize, latest: f64) {
        let session = &core.session;
        self.catch_up(core, session.len());
        let LineChecker { checker, found, .. } = &mut self.lines;
        checker.limits.latest = latest as u64;
        let seq = session.len();
        let shown = scratch::for_each_record(used, &mut |new| {
            new.intent.check(new.kind, seq)?;
            session.surface().plan(&new.intent, seq)?;
            checker.check(&Event { kind: new.kind, seq, time: new.time, data: new.data, intent: &new.intent }, found);
            Ok(())
        });
        if shown.is_ok() {
            self.examined = seq + 1;
        }
    }

    /// Reads a piece of a stored log.
    pub fn push(&mut self, bytes: &[u8]) {
        self.lines.push(bytes);
    }

    /// Ends a stored log.
    #[wasm_bindgen(js_name = finishLines)]
    pub fn finish_lines(&mut self) {
        self.lines.finish();
    }

    /// Ends a session's log.
    pub fn finish(&mut self) {
        self.lines.checker.finish(&mut self.lines.found);
    }

    /// The findings since the last call, as a JSON array; none where there are none.
    pub fn take(&mut self) -> Option<String> {
        let findings = std::mem::take(&mut self.lines.found.list);
        if findings.is_empty() {
            return None;
        }
        let mut out = vec![b'['];
        for (i, finding) in findings.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            finding.put_json(&mut out);
        }
        out.push(b']');
        Some(text(out))
    }
}
