//! The scratch area: linear memory that the façade writes event records into; see [`crate::record`].

use super::memory;
use crate::error::Result;
use crate::event::NewEvent;
use crate::json;
use crate::record;
use crate::session::Session;
use std::cell::RefCell;

/// Smallest size of the area.
const FIRST: usize = 1 << 17;

thread_local! {
    static AREA: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Where texts are escaped; the façade gives them in pieces, so this stays small.
    static ESCAPED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes the area at least `len` bytes long, keeping its contents, and returns where it is; null, and nothing has
/// changed, where there is no memory for it.
#[unsafe(no_mangle)]
pub extern "C" fn scratch_reserve(len: usize) -> *const u8 {
    AREA.with_borrow_mut(|area| {
        if area.len() < len {
            let size = len.max(area.len() * 2).max(FIRST);
            if area.try_reserve_exact(size - area.len()).is_err() {
                return std::ptr::null();
            }
            area.resize(size, 0);
        }
        area.as_ptr()
    })
}

/// Whether there is memory for more records.
#[unsafe(no_mangle)]
pub extern "C" fn scratch_has_room() -> bool {
    memory::has_room()
}

/// Gives the area back.
#[unsafe(no_mangle)]
pub extern "C" fn scratch_release() {
    AREA.set(Vec::new());
}

/// Turns the `len` bytes of UTF-8 at `at` into the inside of a JSON string, in place; the new length, or `usize::MAX`
/// where there is no memory for it. The area may move.
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
                if area.try_reserve_exact(size - area.len()).is_err() {
                    return usize::MAX;
                }
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

/// Shows the records in the first `len` bytes of the area; see [`record::for_each`].
pub fn for_each_record(len: usize, show: &mut dyn FnMut(&NewEvent<'_>) -> Result<()>) -> Result<()> {
    with_bytes(len, |area| record::for_each(area, show))
}
