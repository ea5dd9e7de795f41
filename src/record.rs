//! Event records: the form in which the façade hands events over, many at a time.
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

/// Fixed part of a record.
const HEAD: usize = 40;

/// Shows the records in `area`, in order, until one is refused or does not fit what is left.
///
/// # Errors
/// What `show` returns.
pub fn for_each(mut area: &[u8], show: &mut dyn FnMut(&NewEvent<'_>) -> Result<()>) -> Result<()> {
    // Many events share a millisecond.
    let (mut time, mut digits) = ([0; 8], [0; 20]);
    let mut time_at = digits.len();
    while area.len() >= HEAD {
        let word = |at: usize| u32::from_le_bytes([area[at], area[at + 1], area[at + 2], area[at + 3]]);
        let (size, kind) = (word(0) as usize, Kind::from_number(word(4)));
        if time != area[8..16] || time_at == digits.len() {
            time.copy_from_slice(&area[8..16]);
            time_at = json::write_integer(f64::from_le_bytes(time) as u64, &mut digits);
        }
        let op = match word(16) {
            0 => None,
            1 => Some(SurfaceOp::Append),
            _ => Some(SurfaceOp::Replace { start: word(20), end: word(24) }),
        };
        let given = word(28);
        let count = if given == u32::MAX { 0 } else { given as usize };
        let lengths = [count.checked_mul(4), Some(word(32) as usize), Some(word(36) as usize)];
        let mut ends = [HEAD; 3];
        let mut end = HEAD;
        for (slot, len) in ends.iter_mut().zip(lengths) {
            let Some(next) = len.and_then(|len| end.checked_add(len)) else { return Ok(()) };
            end = next;
            *slot = next;
        }
        let [types, data, end] = ends;
        let (Some(body), true) = (area.get(..end), size >= end && size <= area.len()) else { break };
        let sources = (given != u32::MAX)
            .then(|| body[HEAD..types].chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect());
        show(&NewEvent {
            kind,
            type_json: &body[types..data],
            time: &digits[time_at..],
            data: &body[data..],
            intent: Intent { op, sources },
        })?;
        area = &area[size..];
    }
    Ok(())
}
