//! The append-only log: blocks of JSONL bytes, and beside each block the index of its lines.
//! Where a log was opened over a file, its first events are stretches of that file instead.
//!
//! Invariants:
//! - An event's bytes are written once and never change; a sealed block is immutable and may be
//!   shared by any number of logs (forks).
//! - Events are found by seq: runs of blocks by binary search, then the block's own index.
//! - A log may use only the first events of a shared block: the run says how many.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::event::{self, Kind, NewEvent, Payload};
use crate::filed::Stretch;
use crate::json::Span;

/// A block is sealed when it holds this many bytes.
pub const BLOCK: usize = 1 << 20;

/// Most bytes of events that are read at once, unless one alone has more.
pub const PAGE: u64 = 4 << 20;

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
    /// What is known of its payload.
    payload: Payload,
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
        &self.bytes[entry.span()]
    }

    fn copy_lines(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let entries = &self.entries[range];
        match (entries.first(), entries.last()) {
            (Some(a), Some(z)) if self.contiguous => {
                out.extend_from_slice(&self.bytes[a.offset as usize..(z.offset + z.len) as usize]);
                out.push(b'\n');
            }
            _ => {
                for entry in entries {
                    out.extend_from_slice(self.line(entry));
                    out.push(b'\n');
                }
            }
        }
    }
}

impl Entry {
    /// Where the line stands in its block.
    pub fn span(&self) -> Span {
        self.offset as usize..(self.offset + self.len) as usize
    }

    /// The event's kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The index entry of a line at `offset`; `None` where the block would be too large for it.
    pub fn new(offset: usize, len: usize, data: Span, kind: Kind, payload: Payload) -> Option<Self> {
        u32::try_from(offset + len).ok()?;
        Some(Entry {
            offset: offset as u32,
            len: len as u32,
            data: data.start as u32,
            data_len: data.len() as u32,
            kind,
            payload,
        })
    }
}

/// What a run's events are kept in.
#[derive(Clone, Debug)]
enum Place {
    Held(Arc<Block>),
    Filed(Arc<Stretch>),
}

#[derive(Clone, Debug)]
struct Run {
    place: Place,
    first: u32,
    count: u32,
}

/// One stored event: borrowed from a block, or read from a file.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    line: Cow<'a, [u8]>,
    data: Span,
    /// The kind.
    pub kind: Kind,
    /// What is known of the payload.
    pub payload: Payload,
}

impl<'a> Stored<'a> {
    /// An event and where its payload stands in its line.
    pub fn new(line: Cow<'a, [u8]>, data: Span, kind: Kind, payload: Payload) -> Self {
        Stored { line, data, kind, payload }
    }

    /// The line without its line end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// The payload.
    pub fn data(&self) -> &[u8] {
        &self.line[self.data.clone()]
    }
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

    /// Writes an event at the end and returns its seq; `None` where there is no memory for it.
    pub fn push(&mut self, event: &NewEvent<'_>) -> Option<u32> {
        let seq = self.len();
        self.make_room(event.room())?;
        let offset = self.tail.bytes.len();
        let data = event::write_line(event, seq, &mut self.tail.bytes);
        let len = self.tail.bytes.len() - 1 - offset;
        // A block starts below 1 MiB and a payload is below 4 GiB of wasm memory; a native payload
        // that does not fit 32 bits is refused by the session before it gets here.
        if let Some(entry) = Entry::new(offset, len, data, event.kind, Payload::Unknown) {
            self.tail.entries.push(entry);
        }
        Some(seq)
    }

    /// Takes a line as it is (without its line end) at the end; `None` where there is no memory for it.
    pub fn push_line(&mut self, line: &[u8], data: Span, kind: Kind) -> Option<()> {
        self.make_room(line.len() + 1)?;
        let offset = self.tail.bytes.len();
        self.tail.bytes.extend_from_slice(line);
        self.tail.bytes.push(b'\n');
        if let Some(entry) = Entry::new(offset, line.len(), data, kind, Payload::Unknown) {
            self.tail.entries.push(entry);
        }
        Some(())
    }

    /// Takes a whole block that a reader has indexed.
    pub fn push_block(&mut self, block: Block) {
        let count = block.entries.len();
        self.push_run(Place::Held(Arc::new(block)), count);
    }

    /// Takes a stretch of a file that a reader has indexed.
    pub fn push_stretch(&mut self, stretch: Stretch) {
        let count = stretch.count();
        self.push_run(Place::Filed(Arc::new(stretch)), count);
    }

    fn push_run(&mut self, place: Place, count: usize) {
        self.seal();
        if count > 0 {
            self.runs.push(Run { place, first: self.tail_first, count: count as u32 });
            self.tail_first += count as u32;
        }
    }

    /// Makes room for `more` bytes in the tail, or in a new one where it is full.
    #[inline]
    fn make_room(&mut self, more: usize) -> Option<()> {
        let room = self.tail.bytes.capacity().min(BLOCK);
        if self.tail.bytes.len() + more <= room { Some(()) } else { self.grow(more) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Option<()> {
        if !self.tail.entries.is_empty() && self.tail.bytes.len() + more > BLOCK {
            self.seal();
            // After a full block another one is to be expected.
            return self.tail.bytes.try_reserve_exact(more.max(BLOCK)).ok();
        }
        self.tail.bytes.try_reserve(more).ok()
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
        self.runs.push(Run { place: Place::Held(Arc::new(block)), first: self.tail_first, count });
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

    fn run_at(&self, seq: u32) -> Option<&Run> {
        self.runs.get(self.runs.partition_point(|run| run.first <= seq).checked_sub(1)?)
    }

    /// The event at `seq`; `None` also where a file does not give it any more.
    pub fn get(&self, seq: u32) -> Option<Stored<'_>> {
        let (block, first) = if seq >= self.tail_first {
            (&self.tail, self.tail_first)
        } else {
            let run = self.run_at(seq)?;
            match &run.place {
                Place::Held(block) => (&**block, run.first),
                Place::Filed(stretch) => {
                    return stretch.event((seq - run.first) as usize, seq);
                }
            }
        };
        let entry = block.entries.get((seq - first) as usize)?;
        let data = entry.data as usize..(entry.data + entry.data_len) as usize;
        Some(Stored::new(Cow::Borrowed(block.line(entry)), data, entry.kind, entry.payload))
    }

    /// Whether a file that holds events of this log does not give them any more.
    pub fn failed(&self) -> bool {
        // Only a reader makes stretches, from one file and before anything else.
        self.runs.first().is_some_and(|run| matches!(&run.place, Place::Filed(stretch) if stretch.failed()))
    }

    /// The kind of the event at `seq`.
    pub fn kind(&self, seq: u32) -> Option<Kind> {
        if seq >= self.tail_first {
            return self.tail.entries.get((seq - self.tail_first) as usize).map(|entry| entry.kind);
        }
        let run = self.run_at(seq)?;
        let index = (seq - run.first) as usize;
        match &run.place {
            Place::Held(block) => block.entries.get(index).map(|entry| entry.kind),
            Place::Filed(stretch) => stretch.kind(index),
        }
    }

    /// The lines of `from..to` as [`Log::copy_lines`] gives them.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub fn lines(&self, from: u32, to: u32) -> Result<Vec<u8>> {
        let mut out = self.room_for(from, to)?;
        self.copy_lines(from, to, &mut out);
        Ok(out)
    }

    /// A text with room for these lines and two bytes more: one growth for all that is to come, not a doubling at a time.
    pub(crate) fn room_for(&self, from: u32, to: u32) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let room = usize::try_from(self.lines_len(from, to.min(self.len())) + 2);
        room.ok().and_then(|room| out.try_reserve_exact(room).ok()).ok_or_else(Error::out_of_memory)?;
        Ok(out)
    }

    /// Appends the lines of `from..to`, each with its line end, exactly as they are stored.
    pub fn copy_lines(&self, from: u32, to: u32, out: &mut Vec<u8>) {
        let to = to.min(self.len());
        // A stretch has no events before its first.
        let mut seq = from.max(self.runs.first().map_or(self.tail_first, |run| run.first));
        while seq < to {
            let Some((place, first, count)) = self.place_at(seq) else { break };
            let until = to.min(first + count);
            let range = (seq - first) as usize..(until - first) as usize;
            match place {
                PlaceRef::Held(block) => block.copy_lines(range, out),
                PlaceRef::Filed(stretch) => stretch.copy_lines(range, out),
            }
            seq = until;
        }
    }

    fn place_at(&self, seq: u32) -> Option<(PlaceRef<'_>, u32, u32)> {
        if seq >= self.tail_first {
            return Some((PlaceRef::Held(&self.tail), self.tail_first, self.tail.entries.len() as u32));
        }
        let run = self.run_at(seq)?;
        let place = match &run.place {
            Place::Held(block) => PlaceRef::Held(block),
            Place::Filed(stretch) => PlaceRef::Filed(stretch),
        };
        Some((place, run.first, run.count))
    }

    /// Bytes of the lines `from..to`, line ends included; exact where nothing else stands between them.
    fn lines_len(&self, from: u32, to: u32) -> u64 {
        let mut seq = from;
        let mut len = 0;
        while seq < to {
            let Some((place, first, count)) = self.place_at(seq) else { break };
            let until = to.min(first + count);
            let (start, end) = ((seq - first) as usize, (until - first) as usize);
            match place {
                PlaceRef::Held(block) => {
                    if let (Some(a), Some(z)) = (block.entries.get(start), block.entries.get(end - 1)) {
                        len += u64::from(z.offset + z.len - a.offset) + 1;
                    }
                }
                PlaceRef::Filed(stretch) => len += stretch.line_bytes(start..end),
            }
            seq = until;
        }
        len
    }

    /// Where a page of the events `from..to` ends that is read at once: behind one event at least, and before its lines
    /// have more than [`PAGE`] bytes.
    pub fn page_end(&self, from: u32, to: u32) -> u32 {
        let to = to.min(self.len());
        if from >= to {
            return to;
        }
        let mut end = from + 1;
        let mut bytes = self.lines_len(from, end);
        while end < to {
            bytes += self.lines_len(end, end + 1);
            if bytes > PAGE {
                break;
            }
            end += 1;
        }
        end
    }

    /// Bytes of the lines that this log holds, shares or finds in a file, line ends included.
    pub fn byte_len(&self) -> u64 {
        let lines = |block: &Block, count: u32| -> u64 {
            block.entries.iter().take(count as usize).map(|e| u64::from(e.len) + 1).sum()
        };
        let run_bytes = |run: &Run| match &run.place {
            Place::Held(block) => lines(block, run.count),
            Place::Filed(stretch) => stretch.line_bytes(0..run.count as usize),
        };
        self.runs.iter().map(run_bytes).sum::<u64>() + lines(&self.tail, self.tail.entries.len() as u32)
    }
}

enum PlaceRef<'a> {
    Held(&'a Block),
    Filed(&'a Stretch),
}
