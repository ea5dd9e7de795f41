//! Linear memory grows in large steps: each step makes the engine look at its whole heap. Near its end (4 GiB, or what the
//! host gives) some of it is kept free, since an allocation that fails would end the core and all sessions with it.

use std::cell::Cell;
use std::hint::black_box;

const PAGE: usize = 1 << 16;

/// What is kept free at the end: enough for what waits to cross, a block, and whatever reading needs.
const HEADROOM: usize = 8 << 20;

thread_local! {
    /// Size of the memory, in pages, when it was last looked at.
    static SEEN: Cell<usize> = const { Cell::new(0) };
    /// Whether the host has refused to grow it.
    static CAPPED: Cell<bool> = const { Cell::new(false) };
}

/// Grows linear memory by one allocation that is given back at once; false where the host has not as much.
pub fn grow(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let has = black_box(room.try_reserve_exact(bytes)).is_ok();
    if !has {
        CAPPED.set(true);
    }
    has
}

/// Whether there is memory left for more than what is under way.
pub fn has_room() -> bool {
    !CAPPED.get() || grow(HEADROOM)
}

/// Where the memory has grown since the last call, grows it by a quarter more. What is not used of
/// it costs addresses, but no memory of the machine.
pub fn keep_ahead() {
    let pages = size();
    if pages != SEEN.get() {
        grow(pages * PAGE / 4);
        SEEN.set(size());
    }
}

fn size() -> usize {
    core::arch::wasm32::memory_size::<0>()
}
