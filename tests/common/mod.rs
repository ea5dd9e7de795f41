//! What is tested on every host: the vectors of `tests/fixtures/vectors/` (see the README there), and
//! strings, which the core scans differently from host to host.
//!
//! A host file names its test attribute: `vector_tests!(#[test]);`.

pub mod deltas;
pub mod strings;
pub mod vector;

use palimpsest_core::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what was compared. A host that compares less shows it.
#[derive(Default)]
pub struct Tally {
    cases: usize,
}

impl Tally {
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// One case: both texts are equal.
    #[track_caller]
    pub fn same(&mut self, what: &str, found: impl AsRef<[u8]>, expected: impl AsRef<[u8]>) {
        self.cases += 1;
        let (found, expected) = (found.as_ref(), expected.as_ref());
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        assert!(found == expected, "{what}\n   found: {}\nexpected: {}", text(found), text(expected));
    }

    /// One case: both numbers are equal.
    #[track_caller]
    pub fn equal(&mut self, what: &str, found: u64, expected: u64) {
        self.same(what, found.to_string(), expected.to_string());
    }
}

/// A member that must be there.
#[track_caller]
pub fn member<'a>(object: &'a [u8], name: &str) -> &'a [u8] {
    json::get(object, name).unwrap_or_else(|| panic!("no {name} in {}", String::from_utf8_lossy(object)))
}

/// A member that must be a count.
#[track_caller]
pub fn count(object: &[u8], name: &str) -> u64 {
    json::plain_integer(member(object, name)).unwrap_or_else(|| panic!("{name} is no count"))
}

/// Number of tests that [`vector_tests`] makes.
const TESTS: usize = vector::VECTORS.len() + 2;

static CASES: AtomicUsize = AtomicUsize::new(0);
static FINISHED: AtomicUsize = AtomicUsize::new(0);

/// Notes what one test compared. The last one to finish, in whatever order the host runs them,
/// gets the host's total to print.
pub fn finished(cases: usize) -> Option<String> {
    assert!(cases > 0, "nothing was compared");
    let total = CASES.fetch_add(cases, Ordering::SeqCst) + cases;
    let last = FINISHED.fetch_add(1, Ordering::SeqCst) + 1 == TESTS;
    last.then(|| format!("{total} cases of {} vectors, the header deltas and strings", vector::VECTORS.len()))
}

/// One test for each vector, one for the header deltas and one for strings; `$report` gets the number
/// of cases.
macro_rules! vector_tests {
    (#[$test:meta] $report:path) => {
        vector_tests! { #[$test] $report;
            vector_0 0 vector_1 1 vector_2 2 vector_3 3 vector_4 4 vector_5 5 vector_6 6 vector_7 7
            vector_8 8 vector_9 9 vector_10 10 vector_11 11 vector_12 12 vector_13 13 vector_14 14
            vector_15 15 vector_16 16 vector_17 17 vector_18 18 vector_19 19 vector_20 20
            vector_21 21 vector_22 22 vector_23 23
        }

        #[$test]
        fn header_deltas() {
            $report(common::deltas::check());
        }

        #[$test]
        fn strings() {
            $report(common::strings::check());
        }
    };
    (#[$test:meta] $report:path; $($name:ident $number:literal)*) => {
        $(
            #[$test]
            fn $name() {
                let vector = &common::vector::VECTORS[$number];
                $report(vector.check() + vector.check_damage());
            }
        )*
    };
}
