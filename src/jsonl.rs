//! Reading a stored session from JSONL bytes that come in chunks of any size.
//!
//! The bytes are read into the very buffers that become the log's blocks; only the part of a line at
//! the seam between two blocks is copied. Only byte `0x0A` ends a line. Carriage returns, blanks and
//! blank lines around records are tolerated, as is one byte-order mark at the very start.
//!
//! Over a [`Source`] the bytes are only looked at, and read again when an event is asked for.
//!
//! A record that no line end closes, or that stops before its JSON does, is *torn* when nothing
//! follows it: its write was cut and never acknowledged, so it is dropped. Any other line that is
//! not JSON is corruption, the last one too (zero bytes may stand before a record that was
//! acknowledged), and the log is refused with its line and byte.

use crate::alike::Alike;
use crate::error::{Code, Error, Result};
use crate::event::{self, Kind, LineFault, Payload};
use crate::filed::{File, STRETCH, Source, Stretch};
use crate::json::{self, Span};
use crate::log::{BLOCK, Block, Entry};
use crate::session::{Session, SessionHeader};
use std::sync::Arc;

/// Smallest block buffer; each next one is twice as large, up to [`BLOCK`].
const FIRST_BLOCK: usize = 4096;

/// Incremental reader of one stored session.
#[derive(Debug)]
pub struct Reader {
    session: Option<Session>,
    /// Where the bytes come from and stay; none: they are kept.
    file: Option<Arc<File>>,
    /// The block being filled: whole lines up to `scanned`, then a part of a line.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    alike: Alike,
    /// Whether nothing but line ends stands between the indexed lines.
    contiguous: bool,
    scanned: usize,
    /// Bytes up to here hold no line end after `scanned`.
    searched: usize,
    /// File offset of `bytes[0]`.
    offset: u64,
    /// Line ends seen so far.
    lines: u64,
    /// File offset after the last whole record, and blanks after it.
    committed: u64,
    /// A record that was cut short: dropped at the end, refused as soon as another one follows.
    torn: Option<Error>,
    /// A refused log stays refused.
    failed: Option<Error>,
}

/// What a reader found.
#[derive(Debug)]
pub struct Loaded {
    /// The session with every whole event.
    pub session: Session,
    /// File offset where the next write goes.
    pub committed_bytes: u64,
    /// Bytes after it that were dropped.
    pub torn_bytes: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            session: None,
            file: None,
            bytes: Vec::new(),
            entries: Vec::new(),
            alike: Alike::default(),
            contiguous: true,
            scanned: 0,
            searched: 0,
            offset: 0,
            lines: 0,
            committed: 0,
            torn: None,
            failed: None,
        }
    }
}

impl Reader {
    /// A reader at the start of a file.
    pub fn new() -> Self {
        Reader::default()
    }

    /// A reader at the start of a source whose bytes are to stay where they are.
    pub fn over(source: Box<dyn Source>) -> Self {
        Reader { file: Some(Arc::new(File::new(source))), ..Reader::default() }
    }

    /// Room for `len` more bytes, to be filled and then announced with [`Reader::commit`].
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`; the reader is then as it was.
    pub fn reserve(&mut self, len: usize) -> Result<&mut [u8]> {
        let filled = self.bytes.len();
        if filled + len > self.bytes.capacity() {
            let room = if self.scanned > 0 {
                self.seal(len)
            } else {
                // The first buffer, or a line longer than the buffer.
                self.bytes.try_reserve_exact(len.max(filled).max(FIRST_BLOCK)).ok()
            };
            room.ok_or_else(Error::out_of_memory)?;
        }
        let filled = self.bytes.len();
        self.bytes.resize(filled + len, 0);
        Ok(&mut self.bytes[filled..])
    }

    /// Reads the bytes that were put where [`Reader::reserve`] pointed: `filled` of `reserved`.
    ///
    /// # Errors
    /// Whatever makes the log unreadable; every later call fails with the same error.
    pub fn commit(&mut self, reserved: usize, filled: usize) -> Result<()> {
        let before = self.bytes.len().saturating_sub(reserved).max(self.searched);
        self.bytes.truncate(before + filled.min(reserved));
        if self.failed.is_none() {
            self.failed = self.scan().err();
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Reads a chunk; see [`Reader::commit`].
    ///
    /// # Errors
    /// As [`Reader::commit`].
    pub fn push(&mut self, chunk: &[u8]) -> Result<()> {
        for piece in chunk.chunks(BLOCK / 4) {
            self.reserve(piece.len())?.copy_from_slice(piece);
            self.commit(piece.len(), piece.len())?;
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// `INVALID_HEADER` where not even the header line is whole, else as [`Reader::commit`].
    pub fn finish(mut self) -> Result<Loaded> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let total = self.offset + self.bytes.len() as u64;
        let rest_is_blank = json::trimmed(&self.bytes[self.scanned..]).is_empty();
        match self.torn.take() {
            Some(torn) if !rest_is_blank => return Err(torn),
            _ => {}
        }
        self.seal(0).ok_or_else(Error::out_of_memory)?;
        let Some(session) = self.session else {
            let what = if total == 0 { "the file is empty" } else { "the file ends within its first line" };
            return Err(Error::new(Code::InvalidHeader, format!("not a session log: {what}")).at_line(1, 0));
        };
        Ok(Loaded { session, committed_bytes: self.committed, torn_bytes: total - self.committed })
    }

    /// Hands the whole lines over to the session and carries the rest into a buffer with room for
    /// `more` bytes; `None`, and nothing has changed, where there is no memory for that.
    fn seal(&mut self, more: usize) -> Option<()> {
        match &self.file {
            None => self.keep(more)?,
            Some(file) => {
                let rest = self.bytes.len() - self.scanned;
                let size = if more == 0 { 0 } else { STRETCH.max(rest + more) };
                self.bytes.try_reserve_exact(size.saturating_sub(self.bytes.len())).ok()?;
                if let (Some(session), Some(stretch)) =
                    (&mut self.session, Stretch::new(file, self.offset, &self.entries))
                {
                    session.push_stretch(stretch);
                }
                self.entries.clear();
                self.bytes.drain(..self.scanned);
            }
        }
        self.contiguous = true;
        self.offset += self.scanned as u64;
        self.searched -= self.scanned;
        self.scanned = 0;
        Some(())
    }

    /// Makes a block of the whole lines, without a copy.
    fn keep(&mut self, more: usize) -> Option<()> {
        let rest = self.bytes.len() - self.scanned;
        let size = (self.bytes.capacity() * 2).clamp(FIRST_BLOCK, BLOCK).max(rest + more);
        let mut next = Vec::new();
        next.try_reserve_exact(if more == 0 { rest } else { size }).ok()?;
        next.extend_from_slice(&self.bytes[self.scanned..]);
        let mut bytes = std::mem::replace(&mut self.bytes, next);
        bytes.truncate(self.scanned);
        if bytes.capacity() > bytes.len() + bytes.len() / 8 {
            bytes.shrink_to_fit();
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.shrink_to_fit();
        if let Some(session) = &mut self.session {
            session.push_block(Block::from_parts(bytes, entries, self.contiguous));
        }
        Some(())
    }

    fn scan(&mut self) -> Result<()> {
        while self.line_alike() {}
        while let Some(end) = json::find_byte::<b'\n'>(&self.bytes, self.searched) {
            self.line(self.scanned..end)?;
            self.scanned = end + 1;
            self.searched = end + 1;
            while self.line_alike() {}
        }
        self.searched = self.bytes.len();
        Ok(())
    }

    /// Reads the next line if it is like the one before.
    fn line_alike(&mut self) -> bool {
        let (Some(session), None) = (&self.session, &self.torn) else { return false };
        let seq = session.len() + self.entries.len() as u32;
        let start = self.scanned;
        let Some(found) = self.alike.read(&self.bytes[start..], seq) else { return false };
        let kind = Kind::AssistantChunk;
        let Some(entry) = Entry::new(start, found.len, found.data, kind, Payload::Unknown) else { return false };
        self.entries.push(entry);
        self.lines += 1;
        self.scanned = start + found.len + 1;
        self.searched = self.scanned;
        self.committed = self.offset + self.scanned as u64;
        true
    }

    /// One line, given without its line end.
    fn line(&mut self, span: Span) -> Result<()> {
        self.lines += 1;
        let after = self.offset + span.end as u64 + 1;
        let at = self.offset + span.start as u64;
        let mut start = span.start;
        if at == 0 && self.bytes.starts_with(b"\xEF\xBB\xBF") {
            start += 3;
        }
        let inner = json::trimmed(&self.bytes[start..span.end]);
        let text = &self.bytes[start + inner.start..start + inner.end];
        start += inner.start;
        self.contiguous &= start == span.start && text.len() == span.len() && !text.is_empty();
        if text.is_empty() {
            if self.torn.is_none() {
                self.committed = after;
            }
            return Ok(());
        }
        if let Some(torn) = &self.torn {
            return Err(torn.clone());
        }
        let Some(session) = &mut self.session else {
            self.session = Some(Session::new(SessionHeader::parse(text).map_err(|e| e.at_line(self.lines, at))?));
            self.committed = after;
            return Ok(());
        };
        let too_large = || Error::new(Code::CorruptLog, "the line is too long to be an event").at_line(self.lines, at);
        let seq = session.len() + self.entries.len() as u32;
        match event::parse(text) {
            Ok(envelope) => {
                self.alike.learn(text, &envelope);
                let plan = session.admit(&envelope, seq).map_err(|e| e.at_line(self.lines, at))?;
                let entry = Entry::new(start, text.len(), envelope.data, envelope.kind, envelope.payload)
                    .ok_or_else(too_large)?;
                self.entries.push(entry);
                session.fold(envelope.kind, plan, seq);
                self.committed = after;
            }
            Err(LineFault::Rule(e)) => return Err(Error { seq: e.seq.or(Some(seq)), ..e }.at_line(self.lines, at)),
            Err(LineFault::Syntax(e)) => {
                let byte = at + (start - span.start + e.at) as u64;
                let cut_short = e.at == text.len();
                let what = format!(
                    "the line of event {seq} is not JSON (expected {}){}; nothing was changed, recover what is readable from a copy",
                    e.expected,
                    if cut_short { " and more follows it" } else { "" }
                );
                let error = Error::new(Code::CorruptLog, what).at_seq(seq).at_line(self.lines, byte);
                if !cut_short {
                    return Err(error);
                }
                self.torn = Some(error);
            }
        }
        Ok(())
    }
}
