//! The rules over a stored log's bytes, read as far as they can be read.
//!
//! Where the loader refuses a log at its first bad line, this goes on: a bad line is a finding, and
//! what follows it is checked as well.

use super::rule::{Findings, Rule};
use super::{Checker, Event, Limits};
use crate::error::{Code, Error};
use crate::event::{self, Envelope, LineFault};
use crate::json;
use crate::session::SessionHeader;
use crate::surface::NONE;

/// Checks a stored log that comes in chunks of any size.
#[derive(Debug)]
pub struct LineChecker {
    /// The rules' state after the lines so far.
    pub checker: Checker,
    /// What is wrong with the lines so far.
    pub found: Findings,
    /// The line that has not ended yet.
    rest: Vec<u8>,
    /// File offset of `rest`.
    offset: u64,
    /// Lines that have ended.
    lines: u64,
    /// Lines that were no event since the last one that was.
    lost: u32,
    /// The last line was cut short; its line and byte. Torn if nothing follows it.
    cut: Option<(u64, u64)>,
    header_seen: bool,
    /// Of another format version: its rules are not known here.
    foreign: bool,
}

impl LineChecker {
    /// A checker at the start of a file.
    pub fn new(limits: Limits) -> Self {
        LineChecker {
            checker: Checker::new(limits),
            found: Findings::default(),
            rest: Vec::new(),
            offset: 0,
            lines: 0,
            lost: 0,
            cut: None,
            header_seen: false,
            foreign: false,
        }
    }

    /// Reads a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut searched = self.rest.len();
        self.rest.extend_from_slice(chunk);
        let bytes = std::mem::take(&mut self.rest);
        let mut start = 0;
        while let Some(end) = json::find_byte::<b'\n'>(&bytes, searched) {
            self.lines += 1;
            let at = self.offset + start as u64;
            let bom = if at == 0 && bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
            let line = &bytes[start + bom..end];
            self.placed((self.lines, at), |this| this.line(&line[json::trimmed(line)], at));
            start = end + 1;
            searched = start;
        }
        self.offset += start as u64;
        self.rest = bytes;
        self.rest.drain(..start);
    }

    /// Ends the file.
    pub fn finish(&mut self) {
        let rest = json::trimmed(&self.rest).len();
        if self.lines == 0 {
            let what = if rest == 0 { "the file is empty" } else { "the file ends within its first line" };
            self.found.seq = NONE;
            return self.placed((1, 0), |this| this.found.error(Error::new(Code::InvalidHeader, what)));
        }
        if rest > 0 {
            self.end_cut();
            self.cut = Some((self.lines + 1, self.offset));
        }
        if let Some(place) = self.cut {
            let end = self.offset + self.rest.len() as u64;
            self.found.seq = self.checker.next() + self.lost;
            self.placed(place, |this| this.found.with(Rule::TornTail, [NONE, NONE], (end - place.1) as u32));
        }
        self.checker.finish(&mut self.found);
    }

    /// Runs `check` and says that what it finds is found at `place`.
    fn placed(&mut self, place: (u64, u64), check: impl FnOnce(&mut Self)) {
        let from = self.found.list.len();
        check(self);
        for finding in &mut self.found.list[from..] {
            finding.place = finding.place.or(Some(place));
        }
    }

    /// A line was no event.
    fn lose(&mut self, error: Error) {
        self.found.seq = self.checker.next() + self.lost;
        self.found.error(error);
        self.lost += 1;
    }

    /// What was cut short is followed by more: it is damage, not a torn write.
    fn end_cut(&mut self) {
        if let Some(place) = self.cut.take() {
            self.placed(place, |this| this.lose(not_json()));
        }
    }

    /// One line, without blanks around it, that starts at `at`.
    fn line(&mut self, text: &[u8], at: u64) {
        if text.is_empty() || self.foreign {
            return;
        }
        self.end_cut();
        let is_header = !std::mem::replace(&mut self.header_seen, true);
        if is_header {
            let Err(error) = SessionHeader::parse(text) else { return };
            self.foreign = error.code == Code::UnsupportedVersion;
            self.found.seq = NONE;
            self.found.error(error);
        }
        match event::parse(text) {
            Ok(envelope) => self.event(text, &envelope),
            // What was said of the header says it.
            Err(_) if is_header => {}
            Err(LineFault::Rule(error)) => self.lose(error),
            Err(LineFault::Syntax(error)) if error.at == text.len() => self.cut = Some((self.lines, at)),
            Err(LineFault::Syntax(_)) => self.lose(not_json()),
        }
    }

    fn event(&mut self, text: &[u8], envelope: &Envelope) {
        let Envelope { kind, seq, time, data, intent, .. } = envelope;
        let expected = self.checker.next();
        let lost = std::mem::take(&mut self.lost);
        self.found.seq = *seq;
        if *seq < expected {
            return self.found.with(Rule::SeqRepeated, [NONE, NONE], expected);
        }
        if *seq > expected {
            // Each bad line was an event, and has its finding.
            if *seq - expected > lost {
                self.found.with(Rule::SeqGap, [NONE, NONE], expected);
            }
            self.checker.skip_to(*seq);
        }
        let event = Event { kind: *kind, seq: *seq, time: &text[time.clone()], data: &text[data.clone()], intent };
        self.checker.check(&event, &mut self.found);
        self.checker.fold(&event);
    }
}

fn not_json() -> Error {
    Error::new(Code::CorruptLog, "the line is not JSON")
}
