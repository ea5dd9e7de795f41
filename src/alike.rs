//! Chunk lines that are like the one before: of a streamed answer's many lines only the seq, the
//! time and the piece of text differ.
//!
//! Whether a text is JSON does not depend on which string stands where a string stood, nor on which
//! number. A line is thus an event if around its seq, its time and one string it equals one that was
//! read. That string is the last that is no key: keys seldom differ.

use crate::event::{Envelope, Head, Kind};
use crate::json::{self, Span};

const START: &[u8] = b"{\"type\":\"assistant/chunk\",\"seq\":";
const TIME: &[u8] = b",\"time\":";
const DATA: &[u8] = b",\"data\":";

/// A chunk line, around what differs.
#[derive(Debug, Default)]
pub struct Alike {
    /// From behind the time to the string's quote, that included; empty while there is no line.
    before: Vec<u8>,
    /// From behind that string to the line's end, that included.
    after: Vec<u8>,
}

/// A line that was found to be alike.
pub struct Found {
    /// Length without the line end.
    pub len: usize,
    /// Where `data` stands in the line.
    pub data: Span,
}

impl Alike {
    /// Reads the line at the start of `text` if it is like the one before and has this seq.
    pub fn read(&self, text: &[u8], seq: u32) -> Option<Found> {
        if self.before.is_empty() {
            return None;
        }
        let number = json::after(text, 0, START)?;
        let end = json::digits(text, number)?;
        if json::plain_integer(&text[number..end]) != Some(u64::from(seq)) {
            return None;
        }
        let end = json::digits(text, json::after(text, end, TIME)?)?;
        let quote = json::after(text, end, &self.before)? - 1;
        let after = json::string(text, quote).ok()?;
        let len = json::after(text, after, &self.after)? - 1;
        Some(Found { len, data: end + DATA.len()..len - 1 })
    }

    /// Keeps a line that was read in place of the one before, if it has the usual members only.
    pub fn learn(&mut self, line: &[u8], envelope: &Envelope) {
        if envelope.kind != Kind::AssistantChunk {
            return;
        }
        self.before.clear();
        self.after.clear();
        let data = envelope.data.clone();
        let (Some(head), true) = (Head::of(line, 0), data.end + 1 == line.len()) else { return };
        let before = head.time.end;
        if !line.starts_with(START) || json::after(line, before, DATA) != Some(data.start) {
            return;
        }
        let (mut at, mut last) = (data.start, None);
        while let Some(b) = line.get(at) {
            if *b != b'"' {
                at += 1;
                continue;
            }
            let Ok(end) = json::string(line, at) else { return };
            if line.get(json::skip_space(line, end)) != Some(&b':') {
                last = Some((at, end));
            }
            at = end;
        }
        if let Some((at, end)) = last {
            self.before.extend_from_slice(&line[before..=at]);
            self.after.extend_from_slice(&line[end..]);
            self.after.push(b'\n');
        }
    }
}
