//! Messages in parts: the form in which the core hands messages over, many at a time.
//!
//! Texts lie next to each other, unescaped, so that the host decodes each once and parses none; behind
//! them lie all the short ones, which it decodes as one. Words say what is to be made of them: the
//! number of messages, the lengths of the texts and of the short ones, and then in order
//!
//! | message | words |
//! | --- | --- |
//! | none | 0 |
//! | to be projected by the host | 1, the event's kind, the length of its payload's JSON text |
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
//! A string is one word: four times its length in bytes, plus 0 where it is UTF-8, 1 where it is
//! UTF-16 (little endian), which decoders turn to text faster where a character beyond Latin-1 is in
//! it, and 2 where it is one of the short ones.
//!
//! Only blocks spelt as [`crate::event::write_line`]'s callers spell them go in parts: their members
//! in this order and no others, without blanks. Whatever else a log holds stays JSON.

use crate::event::{Kind, Payload, PayloadSpans};
use crate::json;
use crate::log::Stored;

/// Longer payloads stay JSON: strings want three times their room here.
const LONG: usize = 1 << 20;

/// Longest of the short strings. Engines copy parts of a text up to this length; a longer part keeps
/// the whole text alive.
const SHORT: usize = 12;

/// Words before those of the first message.
const HEAD: usize = 3;

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
    /// Short texts, ASCII all of them.
    short: Vec<u8>,
}

impl Default for Parts {
    fn default() -> Self {
        Parts { words: vec![0; HEAD], text: Vec::new(), end: 0, short: Vec::new() }
    }
}

impl Parts {
    /// Forgets all messages, keeping the memory.
    pub fn clear(&mut self) {
        self.words.truncate(HEAD);
        self.words.fill(0);
        self.end = 0;
        self.short.clear();
    }

    /// What the messages are made of.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Their texts.
    pub fn text(&self) -> &[u8] {
        self.text.get(..self.end).unwrap_or_default()
    }

    /// Ends the layout.
    pub fn finish(&mut self) {
        self.words[1] = self.end as u32;
        self.words[2] = self.short.len() as u32;
        let short = std::mem::take(&mut self.short);
        self.json(&short);
        self.short = short;
    }

    /// Adds the message of an event.
    pub fn put(&mut self, event: Option<Stored<'_>>) {
        self.words[0] += 1;
        let (words, end, short) = (self.words.len(), self.end, self.short.len());
        let Some(event) = event.filter(|event| event.kind.is_surface()) else { return self.words.push(0) };
        if self.message(&event).is_none() {
            self.words.truncate(words);
            self.end = end;
            self.short.truncate(short);
            // A payload is below 2 GiB.
            self.words.extend([1, event.kind as u32, event.data().len() as u32]);
            self.json(event.data());
        }
    }

    /// Makes sure that there is room for this many bytes of text.
    fn room(&mut self, len: usize) {
        if self.text.len() < self.end + len {
            self.text.resize(self.end + len, 0);
        }
    }

    fn json(&mut self, text: &[u8]) {
        self.room(text.len());
        self.text[self.end..self.end + text.len()].copy_from_slice(text);
        self.end += text.len();
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
        self.room(data.len() * 3 + 16);
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
        let (words, start, short) = (self.words.len(), self.end, self.short.len());
        for (shape, word) in BLOCKS.iter().zip(1..) {
            if json::after(json, at, shape[0]).is_none() {
                continue;
            }
            self.words.push(word);
            let strings = shape.iter().try_fold(at, |at, before| {
                let quote = json::after(json, at, before)?;
                self.string(json, quote)
            });
            match strings {
                Some(end) if json.get(end) == Some(&b'}') => return Some(end + 1),
                _ => {}
            }
            self.words.truncate(words);
            self.end = start;
            self.short.truncate(short);
            break;
        }
        let end = json::value(json, at).ok()?;
        self.words.extend([0, (end - at) as u32]);
        self.json(&json[at..end]);
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
        let (mut len, mut form) = (read.len, 0);
        match utf8.iter().fold(0, |most, &b| most.max(b)) {
            0..0x80 if len <= SHORT => {
                self.short.extend_from_slice(utf8);
                self.words.push((len as u32) << 2 | 2);
                return Some(read.end);
            }
            // The bytes that begin U+0100 and what is beyond.
            0xC4.. => {
                len = widen(utf8, room);
                form = 1;
                self.text.copy_within(self.end + read.len..self.end + read.len + len, self.end);
            }
            _ => {}
        }
        self.words.push((len as u32) << 2 | form);
        self.end += len;
        Some(read.end)
    }
}

/// Writes UTF-8 as UTF-16; its length in bytes.
fn widen(mut utf8: &[u8], out: &mut [u8]) -> usize {
    let mut end = 0;
    let mut put = |unit: u32| {
        if let Some(slot) = out.get_mut(end..end + 2) {
            slot.copy_from_slice(&(unit as u16).to_le_bytes());
            end += 2;
        }
    };
    let bits = |b: u8| u32::from(b & 0x3F);
    loop {
        utf8 = match *utf8 {
            [a, ref rest @ ..] if a < 0x80 => {
                put(u32::from(a));
                rest
            }
            [a, b, ref rest @ ..] if a < 0xE0 => {
                put(u32::from(a & 0x1F) << 6 | bits(b));
                rest
            }
            [a, b, c, ref rest @ ..] if a < 0xF0 => {
                put(u32::from(a) << 12 | bits(b) << 6 | bits(c));
                rest
            }
            [a, b, c, d, ref rest @ ..] => {
                let high = u32::from(a & 7) << 8 | bits(b) << 2 | bits(c) >> 4;
                put(0xD7C0 + high);
                put(0xDC00 | (bits(c) & 0xF) << 6 | bits(d));
                rest
            }
            _ => return end,
        }
    }
}
