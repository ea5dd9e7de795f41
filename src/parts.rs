//! Messages in parts: the form in which the core hands messages over, many at a time.
//!
//! Texts lie next to each other, unescaped, so that the host decodes each once and parses none.
//! Words say what is to be made of them: the number of messages, and then in order
//!
//! | message | words |
//! | --- | --- |
//! | none | 0 |
//! | as JSON text | 1, its length |
//! | from the user, from the assistant | 2 or 3, the blocks |
//! | a tool's result without `isError`, with false, with true | 4, 5 or 6, the string `toolCallId`, the blocks |
//!
//! Blocks are their number, and then of each block:
//!
//! | block | words |
//! | --- | --- |
//! | as JSON text | 0, its length |
//! | `text`, `reasoning` | 1 or 2, the string `text` |
//! | `tool-call` | 3, the strings `id`, `name`, `arguments` |
//!
//! A string is one word: twice its length in bytes, plus one where it is UTF-16 (little endian) and
//! not UTF-8: decoders turn the first to text faster where a character beyond Latin-1 is in it.
//!
//! Only blocks spelt as [`crate::event::write_line`]'s callers spell them go in parts: their members
//! in this order and no others, without blanks. Whatever else a log holds stays JSON.

use crate::derive;
use crate::event::{Kind, Payload, PayloadSpans};
use crate::json;
use crate::log::Stored;

/// Longer payloads stay JSON: strings want three times their room here.
const LONG: usize = 1 << 20;

/// Members of the blocks that go in parts: what stands before each of their strings.
const BLOCKS: [&[&[u8]]; 3] = [
    &[b"{\"type\":\"text\",\"text\":"],
    &[b"{\"type\":\"reasoning\",\"text\":"],
    &[b"{\"type\":\"tool-call\",\"id\":", b",\"name\":", b",\"arguments\":"],
];

/// Messages, laid out one after the other.
#[derive(Debug)]
pub struct Parts {
    words: Vec<u32>,
    /// Texts up to `end`, and room.
    text: Vec<u8>,
    end: usize,
}

impl Default for Parts {
    fn default() -> Self {
        Parts { words: vec![0], text: Vec::new(), end: 0 }
    }
}

impl Parts {
    /// Forgets all messages, keeping the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.words.push(0);
        self.end = 0;
    }

    /// What the messages are made of.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Their texts.
    pub fn text(&self) -> &[u8] {
        self.text.get(..self.end).unwrap_or_default()
    }

    /// Adds the message of an event.
    pub fn put(&mut self, event: Option<Stored<'_>>) {
        self.words[0] += 1;
        let (words, end) = (self.words.len(), self.end);
        let Some(event) = event else { return self.words.push(0) };
        if self.message(&event).is_none() {
            self.words.truncate(words);
            self.text.truncate(end);
            let made = derive::message(event.kind, event.data(), &mut self.text);
            self.end = end;
            if made { self.json(1, self.text.len() - end) } else { self.words.push(0) }
        }
    }

    fn json(&mut self, word: u32, len: usize) {
        // A payload is below 2 GiB.
        self.words.extend([word, len as u32]);
        self.end += len;
    }

    fn message(&mut self, event: &Stored<'_>) -> Option<()> {
        let data = event.data();
        if data.len() > LONG {
            return None;
        }
        let flag = match event.payload {
            Payload::Unknown => PayloadSpans::of(data).summary(data),
            known => known,
        };
        let is_result = event.kind == Kind::ToolResult;
        let head = match (event.kind, flag) {
            (_, Payload::Unknown | Payload::Other) => return None,
            (Kind::UserMessage, _) => 2,
            (Kind::AssistantMessage, _) => 3,
            (Kind::ToolResult, Payload::Plain) => 4,
            (Kind::ToolResult, Payload::Success) => 5,
            (Kind::ToolResult, Payload::Failure) => 6,
            _ => return None,
        };
        let (mut content, mut call_id) = (None, (!is_result).then_some(0));
        let mut members = json::members(data);
        loop {
            let (name, at) = members.key()?;
            match &data[name] {
                b"\"content\"" => content = Some(at),
                b"\"callId\"" => call_id = Some(at),
                _ => {}
            }
            if content.is_some() && call_id.is_some() {
                break;
            }
            members.pass(at)?;
        }
        let room = self.end + data.len() * 3 + 16;
        if self.text.len() < room {
            self.text.resize(room, 0);
        }
        let start = self.words.len();
        self.words.push(head);
        if is_result {
            self.string(data, call_id?)?;
        }
        let count = self.blocks(data, content?)?;
        if count == 0 && head == 3 {
            self.words.truncate(start);
            self.words.push(0);
        }
        Some(())
    }

    /// The blocks of the list at `at`; how many.
    fn blocks(&mut self, json: &[u8], at: usize) -> Option<u32> {
        if json.get(at) != Some(&b'[') {
            return None;
        }
        let counter = self.words.len();
        self.words.push(0);
        let mut at = json::skip_space(json, at + 1);
        if json.get(at) == Some(&b']') {
            return Some(0);
        }
        loop {
            self.words[counter] += 1;
            at = json::skip_space(json, self.block(json, at)?);
            match json.get(at) {
                Some(b',') => at = json::skip_space(json, at + 1),
                Some(b']') => return Some(self.words[counter]),
                _ => return None,
            }
        }
    }

    /// One block; where it ends.
    fn block(&mut self, json: &[u8], at: usize) -> Option<usize> {
        let (words, start) = (self.words.len(), self.end);
        for (shape, word) in BLOCKS.iter().zip(1..) {
            if !json[at..].starts_with(shape[0]) {
                continue;
            }
            self.words.push(word);
            let strings = shape.iter().try_fold(at, |at, before| {
                let quote = json[at..].starts_with(before).then_some(at + before.len())?;
                self.string(json, quote)
            });
            match strings {
                Some(end) if json.get(end) == Some(&b'}') => return Some(end + 1),
                _ => {}
            }
            self.words.truncate(words);
            self.end = start;
            break;
        }
        let end = json::value(json, at).ok()?;
        self.text.get_mut(start..start + end - at)?.copy_from_slice(&json[at..end]);
        self.json(0, end - at);
        Some(end)
    }

    /// The string whose quote is at `at`; where it ends. None where it holds an unpaired surrogate.
    fn string(&mut self, json: &[u8], at: usize) -> Option<usize> {
        if json.get(at) != Some(&b'"') {
            return None;
        }
        let read = json::unescape(json, at + 1, self.text.get_mut(self.end..)?);
        if read.unpaired {
            return None;
        }
        let (utf8, room) = self.text.get_mut(self.end..)?.split_at_mut_checked(read.len)?;
        // From here on bytes begin U+0100 and what is beyond.
        let is_wide = utf8.iter().fold(0, |most, &b| most.max(b)) >= 0xC4;
        let mut len = read.len;
        if is_wide {
            len = widen(utf8, room);
            self.text.copy_within(self.end + read.len..self.end + read.len + len, self.end);
        }
        self.words.push((len as u32) << 1 | u32::from(is_wide));
        self.end += len;
        Some(read.end)
    }
}

/// Writes UTF-8 as UTF-16; its length in bytes.
fn widen(utf8: &[u8], out: &mut [u8]) -> usize {
    let (mut at, mut end) = (0, 0);
    let mut put = |unit: u32| {
        if let Some(slot) = out.get_mut(end..end + 2) {
            slot.copy_from_slice(&(unit as u16).to_le_bytes());
            end += 2;
        }
    };
    while let Some(&lead) = utf8.get(at) {
        let tails = match lead {
            0..0x80 => 0,
            0x80..0xE0 => 1,
            0xE0..0xF0 => 2,
            _ => 3,
        };
        // Of the lead, what is no mark of the length.
        let mut c = u32::from(lead) & (0x7F >> tails);
        for &tail in utf8[at + 1..].iter().take(tails) {
            c = c << 6 | u32::from(tail & 0x3F);
        }
        at += 1 + tails;
        if c >= 0x10000 {
            put(0xD7C0 + (c >> 10));
            c = 0xDC00 | c & 0x3FF;
        }
        put(c);
    }
    end
}
