//! Reads messages in parts as a host does, and writes them as JSON in the spelling of `JSON.stringify`.
#![allow(dead_code, reason = "each test file uses its part of this")]

use palimpsest_core::Session;
use palimpsest_core::parts::Parts;
use palimpsest_core::{Kind, derive, json};

struct Layout<'a> {
    words: std::slice::Iter<'a, u32>,
    text: &'a [u8],
    short: &'a [u8],
}

/// The messages of these events, `null` where one has none.
pub fn messages(session: &Session, seqs: &[u32]) -> Vec<Vec<u8>> {
    let mut parts = Parts::default();
    let mut messages = Vec::new();
    while messages.len() < seqs.len() {
        session.messages(&seqs[messages.len()..], &mut parts);
        let [count, texts, shorts, ref words @ ..] = *parts.words() else { panic!("the first three words") };
        let (text, short) = parts.text().split_at(texts as usize);
        let mut layout = Layout { words: words.iter(), text, short };
        assert!(count > 0 && short.len() == shorts as usize, "some progress");
        messages.extend((0..count).map(|_| layout.message()));
        assert!(layout.words.next().is_none() && layout.text.is_empty() && layout.short.is_empty(), "all was read");
    }
    messages
}

/// The derived history in parts must be the one that the core makes as text.
pub fn check(session: &Session) {
    let made: Vec<Vec<u8>> =
        messages(session, &session.surface().seqs()).into_iter().filter(|message| message != b"null").collect();
    let text = session.derive_json(u32::MAX);
    let expected: Vec<Vec<u8>> = json::items(&text).map(json::normalized).collect();
    assert!(made == expected, "{} is {}", String::from_utf8_lossy(&made.concat()), String::from_utf8_lossy(&text));
}

impl Layout<'_> {
    fn word(&mut self) -> u32 {
        *self.words.next().expect("a word")
    }

    fn take(&mut self, len: u32) -> &[u8] {
        let (taken, rest) = self.text.split_at(len as usize);
        self.text = rest;
        taken
    }

    fn json(&mut self) -> Vec<u8> {
        let len = self.word();
        json::normalized(self.take(len))
    }

    fn string(&mut self) -> Vec<u8> {
        let word = self.word();
        if word & 2 == 2 {
            let (taken, rest) = self.short.split_at(word as usize >> 2);
            self.short = rest;
            assert!(taken.is_ascii() && taken.len() <= 12, "a short one");
            let mut quoted = Vec::new();
            json::encode(taken, &mut quoted);
            return quoted;
        }
        let bytes = self.take(word >> 2);
        let text = match word & 1 {
            0 => String::from_utf8(bytes.to_vec()).expect("UTF-8"),
            _ => {
                let units: Vec<u16> = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
                String::from_utf16(&units).expect("UTF-16")
            }
        };
        assert_eq!(word & 1 == 1, text.chars().any(|c| c > '\u{FF}'), "UTF-16 where it is needed");
        let mut quoted = Vec::new();
        json::encode(text.as_bytes(), &mut quoted);
        quoted
    }

    fn message(&mut self) -> Vec<u8> {
        let kind = self.word();
        let mut out = match kind {
            0 => return b"null".to_vec(),
            1 => {
                let kind = Kind::from_number(self.word());
                let len = self.word();
                let mut out = Vec::new();
                return if derive::message(kind, self.take(len), &mut out) {
                    json::normalized(&out)
                } else {
                    b"null".to_vec()
                };
            }
            3 => br#"{"role":"assistant","content":"#.to_vec(),
            _ => br#"{"role":"user","content":"#.to_vec(),
        };
        if kind >= 4 {
            out.extend(br#"[{"type":"tool-result","toolCallId":"#);
            out.extend(self.string());
            out.extend(b",\"content\":");
        }
        let blocks: Vec<Vec<u8>> = (0..self.word()).map(|_| self.block()).collect();
        out.extend([b"[", blocks.join(&b',').as_slice(), b"]"].concat());
        out.extend(match kind {
            0..4 => b"}".as_slice(),
            4 => b"}]}",
            5 => b",\"isError\":false}]}",
            _ => b",\"isError\":true}]}",
        });
        out
    }

    fn block(&mut self) -> Vec<u8> {
        let names: &[&str] = match self.word() {
            0 => return self.json(),
            1 => &[r#"{"type":"text","text":"#],
            2 => &[r#"{"type":"reasoning","text":"#],
            _ => &[r#"{"type":"tool-call","id":"#, r#","name":"#, r#","arguments":"#],
        };
        let mut out = Vec::new();
        for name in names {
            out.extend(name.as_bytes());
            out.extend(self.string());
        }
        out.push(b'}');
        out
    }
}
