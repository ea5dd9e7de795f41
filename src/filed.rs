//! Stretches of a log whose bytes stay where they are stored and are read when somebody looks: for
//! logs that are larger than memory. What is kept of an event is its kind, one byte.
//!
//! Invariants:
//! - What a stretch reads is what was indexed: as many lines, each the event that belongs there. A
//!   source that has changed, or can no longer be read, gives no event and marks the file as failed.
//! - At most [`KEPT`] bytes of the source are held at a time, and one stretch.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::{self, Kind};
use crate::json::{self, Span};
use crate::log::{Entry, Stored};

/// A stretch ends when it covers this many bytes: what one look at an event reads.
pub const STRETCH: usize = 1 << 18;

/// Bytes that were read last and are held for the next look.
const KEPT: usize = 8 << 20;

/// Where stored bytes can be read again, at any offset and any number of times.
pub trait Source: fmt::Debug + Send + Sync {
    /// Fills `into` with the bytes at `offset`; false where that cannot be done.
    fn read(&self, offset: u64, into: &mut [u8]) -> bool;
}

/// A source with what was read from it last.
#[derive(Debug)]
pub struct File {
    source: Box<dyn Source>,
    /// Oldest first, by the offset of their stretch.
    kept: Mutex<VecDeque<(u64, Arc<Lines>)>>,
    failed: AtomicBool,
}

/// Bytes and the lines in them, blanks around them left out.
#[derive(Debug)]
struct Lines {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl File {
    /// A file over a source.
    pub fn new(source: Box<dyn Source>) -> Self {
        File { source, kept: Mutex::default(), failed: AtomicBool::new(false) }
    }

    /// Whether bytes could not be read, or are no longer those that were indexed.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn fail<T>(&self) -> Option<T> {
        self.failed.store(true, Ordering::Relaxed);
        None
    }

    fn read(&self, offset: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        if self.source.read(offset, &mut bytes) { Some(bytes) } else { self.fail() }
    }

    fn lines(&self, stretch: &Stretch) -> Option<Arc<Lines>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, lines)) = kept.iter().rev().find(|(offset, _)| *offset == stretch.offset) {
            return Some(lines.clone());
        }
        let bytes = self.read(stretch.offset, stretch.len as usize)?;
        let spans = spans(&bytes);
        if spans.len() != stretch.kinds.len() {
            return self.fail();
        }
        let lines = Arc::new(Lines { bytes, spans });
        let mut held = lines.bytes.len() + kept.iter().map(|(_, lines)| lines.bytes.len()).sum::<usize>();
        while held > KEPT {
            let Some((_, oldest)) = kept.pop_front() else { break };
            held -= oldest.bytes.len();
        }
        kept.push_back((stretch.offset, lines.clone()));
        Some(lines)
    }
}

fn spans(bytes: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let end = json::find_byte::<b'\n'>(bytes, start).unwrap_or(bytes.len());
        let line = json::trimmed(&bytes[start..end]);
        if !line.is_empty() {
            spans.push(start + line.start..start + line.end);
        }
        start = end + 1;
    }
    spans
}

/// Consecutive events in a file.
#[derive(Debug)]
pub struct Stretch {
    file: Arc<File>,
    /// Offset of the first line in the file.
    offset: u64,
    /// Bytes from there to the end of the last line.
    len: u32,
    /// Bytes of the lines alone, a line end for each.
    line_bytes: u64,
    kinds: Box<[Kind]>,
}

impl Stretch {
    /// The indexed events of a block that was read from `offset` on; `None` where there are none.
    pub fn new(file: &Arc<File>, offset: u64, entries: &[Entry]) -> Option<Self> {
        let (first, last) = (entries.first()?.span().start, entries.last()?.span().end);
        Some(Stretch {
            file: file.clone(),
            offset: offset + first as u64,
            // An entry's offsets have 32 bits.
            len: (last - first) as u32,
            line_bytes: entries.iter().map(|entry| entry.span().len() as u64 + 1).sum(),
            kinds: entries.iter().map(Entry::kind).collect(),
        })
    }

    /// Whether the file does not give its events any more.
    pub fn failed(&self) -> bool {
        self.file.failed()
    }

    /// Number of events.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// The kind of the event at `index`.
    pub fn kind(&self, index: usize) -> Option<Kind> {
        self.kinds.get(index).copied()
    }

    /// The event at `index`, which has this seq.
    #[inline(never)]
    pub fn event(&self, index: usize, seq: u32) -> Option<Stored<'static>> {
        let kind = self.kind(index)?;
        let lines = self.file.lines(self)?;
        let line = lines.bytes[lines.spans.get(index)?.clone()].to_vec();
        match event::parse(&line) {
            Ok(found) if found.seq == seq && found.kind == kind => {
                Some(Stored::new(Cow::Owned(line), found.data, kind, found.payload))
            }
            _ => self.file.fail(),
        }
    }

    /// Appends the lines of the events `range`, each with its line end.
    #[inline(never)]
    pub fn copy_lines(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let Some(lines) = self.file.lines(self) else { return };
        for span in lines.spans.get(range).unwrap_or(&[]) {
            out.extend_from_slice(&lines.bytes[span.clone()]);
            out.push(b'\n');
        }
    }

    /// Bytes of the lines `range`, line ends included.
    pub fn line_bytes(&self, range: std::ops::Range<usize>) -> u64 {
        if range == (0..self.count()) {
            return self.line_bytes;
        }
        let Some(lines) = self.file.lines(self) else { return 0 };
        lines.spans.get(range).unwrap_or(&[]).iter().map(|span| span.len() as u64 + 1).sum()
    }
}
