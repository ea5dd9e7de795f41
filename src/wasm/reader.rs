//! A reader's handle.

use super::memory::{grow, has_room};
use super::session::CoreSession;
use super::source::HostSource;
use super::thrown;
use crate::error::Error;
use crate::jsonl::Reader;
use js_sys::Function;
use wasm_bindgen::prelude::*;

/// Reads one stored session: `reserve`, put bytes there, `commit`; then `finish`.
#[wasm_bindgen]
#[derive(Default)]
pub struct CoreReader {
    reader: Reader,
    /// Bytes read, and the mark at which memory is grown next.
    read: usize,
    grown: usize,
}

#[wasm_bindgen]
impl CoreReader {
    /// A reader at the start of a file of about `expected` bytes (0: unknown).
    #[wasm_bindgen(constructor)]
    pub fn new(expected: f64) -> CoreReader {
        let expected = expected.clamp(0.0, (2u32 << 30) as f64) as usize;
        if expected > 1 << 20 {
            grow(expected + expected / 8);
        }
        CoreReader { grown: expected, ..CoreReader::default() }
    }

    /// A reader whose bytes stay in a source: they are read here once, and again through the
    /// host when an event is asked for; see [`HostSource`].
    pub fn over(read: Function, close: Function) -> CoreReader {
        CoreReader { reader: Reader::over(Box::new(HostSource::new(read, close))), grown: usize::MAX, read: 0 }
    }

    /// Room for `len` more bytes; where it is in linear memory.
    pub fn reserve(&mut self, len: usize) -> Result<*const u8, JsValue> {
        if self.read.saturating_add(len) > self.grown {
            let more = (self.read / 2).max(1 << 20);
            grow(more);
            self.grown = self.read + more;
        }
        let room = if has_room() { self.reader.reserve(len) } else { Err(Error::out_of_memory()) };
        room.map(|room| room.as_ptr()).map_err(thrown)
    }

    /// Reads `filled` of the `reserved` bytes.
    pub fn commit(&mut self, reserved: usize, filled: usize) -> Result<(), JsValue> {
        self.read = self.read.saturating_add(filled);
        self.reader.commit(reserved, filled).map_err(thrown)
    }

    /// The session that was read.
    pub fn finish(self) -> Result<CoreSession, JsValue> {
        let loaded = self.reader.finish().map_err(thrown)?;
        let mut core = CoreSession::of(loaded.session);
        core.committed_bytes = loaded.committed_bytes as f64;
        core.torn_bytes = loaded.torn_bytes as f64;
        Ok(core)
    }
}
