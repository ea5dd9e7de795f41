//! The scratch area: linear memory that the façade writes event records into, and the records' form.
//!
//! A record is ten little-endian words, then the sources as u32, the type's JSON string (only for
//! types without a number), and the payload's JSON text; padded to eight bytes:
//!
//! | byte | field |
//! | --- | --- |
//! | 0 | length of the record, padding included (u32) |
//! | 4 | kind (u32) |
//! | 8 | time (f64, epoch ms) |
//! | 16 | surfaceOp: 0 none, 1 append, 2 replace (u32) |
//! | 20, 24 | start and end of a replace (u32) |
//! | 28 | number of sources, `0xFFFFFFFF` for none given (u32) |
//! | 32 | length of the type (u32) |
//! | 36 | length of the payload (u32) |

use crate::error::Result;
use crate::event::{Intent, Kind, NewEvent, SurfaceOp};
use crate::json;
use crate::session::Session;
use std::cell::RefCell;

/// Fixed part of a record.
const HEAD: usize = 40;
/// Smallest size of the area.
const FIRST: usize = 1 << 17;

thread_local! {
    static AREA: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Where texts are escaped; the façade gives them in pieces, so this stays small.
    static ESCAPED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes the area at least `len` bytes long, keeping its contents, and returns where it is.
#[unsafe(no_mangle)]
pub extern "C" fn scratch_reserve(len: usize) -> *const u8 {
    AREA.with_borrow_mut(|area| {
        if area.len() < len {
            let size = len.max(area.len() * 2).max(FIRST);
            area.resize(size, 0);
        }
        area.as_ptr()
    })
}

/// Gives the area back.
#[unsafe(no_mangle)]
pub extern "C" fn scratch_release() {
    AREA.set(Vec::new());
}

/// Turns the `len` bytes of UTF-8 at `at` into the inside of a JSON string, in place; the new length.
/// The area may move.
#[unsafe(no_mangle)]
pub extern "C" fn scratch_escape(at: usize, len: usize) -> usize {
    AREA.with_borrow_mut(|area| {
        let Some(raw) = area.get(at..at + len) else { return 0 };
        if json::is_clean(raw) {
            return len;
        }
        ESCAPED.with_borrow_mut(|escaped| {
            let room = json::escaped_room(len);
            if escaped.len() < room {
                escaped.resize(room, 0);
            }
            let written = json::escape_into(&area[at..at + len], escaped);
            let end = at + written;
            if area.len() < end {
                let size = end.max(area.len() * 2);
                area.resize(size, 0);
            }
            area[at..end].copy_from_slice(&escaped[..written]);
            written
        })
    })
}

/// Whether the `len` bytes at `at` hold U+FFFD, which is also what an encoder makes of an unpaired
/// surrogate.
#[unsafe(no_mangle)]
pub extern "C" fn scratch_has_replacement(at: usize, len: usize) -> bool {
    AREA.with_borrow(|area| json::has_replacement(area.get(at..at + len).unwrap_or_default()))
}

/// Reads the first `len` bytes of the area.
pub fn with_bytes<T>(len: usize, read: impl FnOnce(&[u8]) -> T) -> T {
    AREA.with_borrow(|area| read(area.get(..len).unwrap_or_default()))
}

/// Appends the records in the first `len` bytes of the area, in order. The façade makes sure that
/// only the last one can be refused.
pub fn append(session: &mut Session, len: usize) -> Result<()> {
    for_each_record(len, &mut |event| session.append_checked(event).map(|_| ()))
}

/// Shows the records in the first `len` bytes of the area, in order, until one is refused.
pub fn for_each_record(len: usize, show: &mut dyn FnMut(&NewEvent<'_>) -> Result<()>) -> Result<()> {
    with_bytes(len, |mut area| {
        while area.len() >= HEAD {
            let word = |at: usize| u32::from_le_bytes([area[at], area[at + 1], area[at + 2], area[at + 3]]);
            let (size, kind) = (word(0) as usize, Kind::from_number(word(4)));
            let mut time = [0; 8];
            time.copy_from_slice(&area[8..16]);
            let mut time_text = Vec::with_capacity(16);
            json::push_integer(f64::from_le_bytes(time) as u64, &mut time_text);
            let op = match word(16) {
                0 => None,
                1 => Some(SurfaceOp::Append),
                _ => Some(SurfaceOp::Replace { start: word(20), end: word(24) }),
            };
            let given = word(28);
            let count = if given == u32::MAX { 0 } else { given as usize };
            let types = HEAD + count * 4;
            let data = types + word(32) as usize;
            let end = data + word(36) as usize;
            let (Some(body), true) = (area.get(..end), size >= end && size <= area.len()) else { break };
            let sources = (given != u32::MAX).then(|| {
                body[HEAD..types].chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            });
            show(&NewEvent {
                kind,
                type_json: &body[types..data],
                time: &time_text,
                data: &body[data..],
                intent: Intent { op, sources },
            })?;
            area = &area[size..];
        }
        Ok(())
    })
}
