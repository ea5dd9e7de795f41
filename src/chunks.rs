//! A list in chunks behind reference counts: cloning shares every chunk, a write copies one chunk.
//!
//! This is what makes a fork cost the same on a short log and on a long one.

use std::ops::Range;
use std::sync::Arc;

const CHUNK: usize = 1024;

/// Append-mostly list with cheap clones.
#[derive(Clone, Debug)]
pub struct Chunks<T> {
    full: Vec<Arc<Vec<T>>>,
    /// The chunk being filled; shared after a clone, copied by the next write.
    tail: Arc<Vec<T>>,
}

impl<T: Clone> Default for Chunks<T> {
    fn default() -> Self {
        Chunks { full: Vec::new(), tail: Arc::default() }
    }
}

impl<T: Clone> Chunks<T> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.tail.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        let tail = Arc::make_mut(&mut self.tail);
        tail.push(item);
        if tail.len() == CHUNK {
            self.full.push(std::mem::take(&mut self.tail));
        }
    }

    /// The item at `index`.
    pub fn get(&self, index: usize) -> Option<&T> {
        match self.full.get(index / CHUNK) {
            Some(chunk) => chunk.get(index % CHUNK),
            None => self.tail.get(index.checked_sub(self.full.len() * CHUNK)?),
        }
    }

    /// The item at `index`, for writing.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let full = self.full.len();
        match self.full.get_mut(index / CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).get_mut(index % CHUNK),
            None => Arc::make_mut(&mut self.tail).get_mut(index.checked_sub(full * CHUNK)?),
        }
    }

    /// The last item.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.full.iter().flat_map(|chunk| chunk.iter()).chain(self.tail.iter())
    }

    /// Index of the first item for which `before` is false; items must be partitioned by it.
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        self.partition_point_in(0..self.len(), before)
    }

    /// [`Chunks::partition_point`] among the items of a range that it is known to be in or at the end of.
    pub fn partition_point_in(&self, range: Range<usize>, before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Keeps the first `len` items.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        let whole = len / CHUNK;
        if whole < self.full.len() {
            self.tail = self.full.swap_remove(whole);
            self.full.truncate(whole);
        }
        if self.tail.len() > len % CHUNK {
            Arc::make_mut(&mut self.tail).truncate(len % CHUNK);
        }
    }
}
