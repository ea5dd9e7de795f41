//! Bytes in memory as the source of a log whose bytes stay where they are.

use palimpsest_core::filed::Source;

#[derive(Debug)]
pub struct Kept(pub Vec<u8>);

impl Source for Kept {
    fn read(&self, offset: u64, into: &mut [u8]) -> bool {
        let found = self.0.get(offset as usize..).and_then(|rest| rest.get(..into.len()));
        found.is_some_and(|found| {
            into.copy_from_slice(found);
            true
        })
    }
}
