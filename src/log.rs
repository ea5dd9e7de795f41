//! The append-only log: blocks of JSONL bytes, and beside each block the index of its lines.
//!
//! Invariants:
//! - An event's bytes are written once and never change; a sealed block is immutable and may be
//!   shared by any number of logs (forks).
//! - Events are found by seq: runs of blocks by binary search, then the block's own index.
//! - A log may use only the first events of a shared block: the run says how many.

use std::sync::Arc;

use crate::event::{self, Kind, NewEvent};
use crate::json::Span;

/// A block is sealed when it holds this many bytes.
pub const BLOCK: usize = 1 << 20;

/// Where one event stands in its block.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Offset of the line in the block.
    offset: u32,
    /// Length of the line without its line end.
    len: u32,
    /// Offset of `data` in the line.
    data: u32,
    /// Length of `data`.
    data_len: u32,
    /// Kind of the event.
    kind: Kind,
}

/// Bytes and index of consecutive events.
#[derive(Debug, Default)]
pub struct Block {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// False where blank lines or carriage returns stand between the lines (files of other origin).
    contiguous: bool,
}

impl Block {
    fn new() -> Self {
        Block { contiguous: true, ..Block::default() }
    }

    /// A block over bytes that a reader has filled and indexed; `contiguous` says that the lines
    /// and their line ends are all there is.
    pub fn from_parts(bytes: Vec<u8>, entries: Vec<Entry>, contiguous: bool) -> Self {
        Block { bytes, entries, contiguous }
    }

    fn line(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.offset as usize..(entry.offset + entry.len) as usize]
    }
}

impl Entry {
    /// The index entry of a line at `offset`; `None` where the block would be too large for it.
    pub fn new(offset: usize, len: usize, data: Span, kind: Kind) -> Option<Self> {
        u32::try_from(offset + len).ok()?;
        Some(Entry {
            offset: offset as u32,
            len: len as u32,
            data: data.start as u32,
            data_len: data.len() as u32,
            kind,
        })
    }
}

#[derive(Clone, Debug)]
struct Run {
    block: Arc<Block>,
    first: u32,
    count: u32,
}

/// One stored event, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The line without its line end.
    pub line: &'a [u8],
    /// The payload.
    pub data: &'a [u8],
    /// The kind.
    pub kind: Kind,
}

/// The log itself.
#[derive(Debug)]
pub struct Log {
    runs: Vec<Run>,
    tail: Block,
    /// Seq of the tail's first event.
    tail_first: u32,
}

impl Default for Log {
    fn default() -> Self {
        Log { runs: Vec::new(), tail: Block::new(), tail_first: 0 }
    }
}

impl Log {
    /// An empty log whose first event will have this seq: a stretch cut out of a longer one.
    pub fn starting_at(first: u32) -> Self {
        Log { tail_first: first, ..Log::default() }
    }

    /// Number of events, which is the next seq.
    pub fn len(&self) -> u32 {
        self.tail_first + self.tail.entries.len() as u32
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes an event at the end and returns its seq.
    pub fn push(&mut self, event: &NewEvent<'_>) -> u32 {
        let seq = self.len();
        self.seal_if_full(event.data.len());
        let offset = self.tail.bytes.len();
        let data = event::write_line(event, seq, &mut self.tail.bytes);
        let len = self.tail.bytes.len() - 1 - offset;
        // A block starts below 1 MiB and a payload is below 4 GiB of wasm memory; a native payload
        // that does not fit 32 bits is refused by the session before it gets here.
        if let Some(entry) = Entry::new(offset, len, data, event.kind) {
            self.tail.entries.push(entry);
        }
        seq
    }

    /// Takes a line as it is (without its line end) at the end.
    pub fn push_line(&mut self, line: &[u8], data: Span, kind: Kind) {
        self.seal_if_full(line.len());
        let offset = self.tail.bytes.len();
        self.tail.bytes.extend_from_slice(line);
        self.tail.bytes.push(b'\n');
        if let Some(entry) = Entry::new(offset, line.len(), data, kind) {
            self.tail.entries.push(entry);
        }
    }

    /// Takes a whole block that a reader has indexed.
    pub fn push_block(&mut self, block: Block) {
        self.seal();
        if !block.entries.is_empty() {
            let count = block.entries.len() as u32;
            self.runs.push(Run { block: Arc::new(block), first: self.tail_first, count });
            self.tail_first += count;
        }
    }

    fn seal_if_full(&mut self, more: usize) {
        if !self.tail.entries.is_empty() && self.tail.bytes.len() + more > BLOCK {
            self.seal();
            // After a full block another one is to be expected.
            self.tail.bytes.reserve_exact(BLOCK);
        }
    }

    /// Makes the tail shareable; the next event opens a block of its own.
    pub fn seal(&mut self) {
        if self.tail.entries.is_empty() {
            return;
        }
        let mut block = std::mem::replace(&mut self.tail, Block::new());
        if block.bytes.capacity() > block.bytes.len() + block.bytes.len() / 8 {
            block.bytes.shrink_to_fit();
        }
        block.entries.shrink_to_fit();
        let count = block.entries.len() as u32;
        self.runs.push(Run { block: Arc::new(block), first: self.tail_first, count });
        self.tail_first += count;
    }

    /// The first `len` events as a log of its own, sharing all blocks. Seals the tail.
    pub fn prefix(&mut self, len: u32) -> Log {
        self.seal();
        let used = self.runs.partition_point(|run| run.first < len);
        let mut runs = self.runs[..used].to_vec();
        if let Some(last) = runs.last_mut() {
            last.count = last.count.min(len - last.first);
        }
        Log { runs, tail: Block::new(), tail_first: len.min(self.tail_first) }
    }

    fn locate(&self, seq: u32) -> Option<(&Block, &Entry)> {
        if seq >= self.tail_first {
            return Some((&self.tail, self.tail.entries.get((seq - self.tail_first) as usize)?));
        }
        let run = &self.runs[self.runs.partition_point(|run| run.first <= seq).checked_sub(1)?];
        Some((&run.block, run.block.entries.get((seq - run.first) as usize)?))
    }

    /// The event at `seq`.
    pub fn get(&self, seq: u32) -> Option<Stored<'_>> {
        let (block, entry) = self.locate(seq)?;
        let line = block.line(entry);
        let data = &line[entry.data as usize..(entry.data + entry.data_len) as usize];
        Some(Stored { line, data, kind: entry.kind })
    }

    /// The kind of the event at `seq`.
    pub fn kind(&self, seq: u32) -> Option<Kind> {
        self.locate(seq).map(|(_, entry)| entry.kind)
    }

    /// Appends the lines of `from..to`, each with its line end, exactly as they are stored.
    pub fn copy_lines(&self, from: u32, to: u32, out: &mut Vec<u8>) {
        let to = to.min(self.len());
        // A stretch has no events before its first.
        let mut seq = from.max(self.runs.first().map_or(self.tail_first, |run| run.first));
        while seq < to {
            let Some((block, first, count)) = self.block_at(seq) else { break };
            let until = to.min(first + count);
            let entries = &block.entries[(seq - first) as usize..(until - first) as usize];
            match (entries.first(), entries.last()) {
                (Some(a), Some(z)) if block.contiguous => {
                    // One growth for all that is still to come, not a doubling at a time.
                    if out.is_empty() {
                        out.reserve_exact(self.lines_len(from, to));
                    }
                    out.extend_from_slice(&block.bytes[a.offset as usize..(z.offset + z.len) as usize]);
                    out.push(b'\n');
                }
                _ => {
                    for entry in entries {
                        out.extend_from_slice(block.line(entry));
                        out.push(b'\n');
                    }
                }
            }
            seq = until;
        }
    }

    fn block_at(&self, seq: u32) -> Option<(&Block, u32, u32)> {
        if seq >= self.tail_first {
            return Some((&self.tail, self.tail_first, self.tail.entries.len() as u32));
        }
        let run = &self.runs[self.runs.partition_point(|run| run.first <= seq).checked_sub(1)?];
        Some((&run.block, run.first, run.count))
    }

    /// Bytes of the lines `from..to`, line ends included; exact where nothing else stands between them.
    fn lines_len(&self, from: u32, to: u32) -> usize {
        let mut seq = from;
        let mut len = 0;
        while seq < to {
            let Some((block, first, count)) = self.block_at(seq) else { break };
            let until = to.min(first + count);
            let entries = &block.entries[(seq - first) as usize..(until - first) as usize];
            if let (Some(a), Some(z)) = (entries.first(), entries.last()) {
                len += (z.offset + z.len - a.offset) as usize + 1;
            }
            seq = until;
        }
        len
    }

    /// Bytes of the lines that this log holds or shares, line ends included.
    pub fn byte_len(&self) -> usize {
        let lines = |block: &Block, count: u32| -> usize {
            block.entries.iter().take(count as usize).map(|e| e.len as usize + 1).sum()
        };
        self.runs.iter().map(|run| lines(&run.block, run.count)).sum::<usize>()
            + lines(&self.tail, self.tail.entries.len() as u32)
    }
}
