//! The inputs that fuzzing has found (tests/fuzz/corpus), run again.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/fuzz.rs"]
mod fuzz;

use palimpsest_core::Kind;
use std::fs;
use std::path::Path;

fn each(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&directory).expect("the corpus is in the repository") {
        check(&fs::read(entry.expect("an entry").path()).expect("a file"));
        count += 1;
    }
    assert!(count > 10, "{count} inputs in {}", directory.display());
}

#[test]
fn scanner() {
    each("scanner", fuzz::scanner);
}

#[test]
fn records() {
    each("records", fuzz::records);
}

#[test]
fn records_as_they_are_written() {
    let content = br#"{"content":[{"type":"text","text":"a"}],"source":{"kind":"user"}}"#;
    let all = [
        fuzz::a_record(Kind::TurnStart, b"", None, [0; 3], b"{}"),
        fuzz::a_record(Kind::UserMessage, b"", None, [1, 0, 0], content),
        fuzz::a_record(Kind::Other, br#""my/event""#, None, [0; 3], b"[1]"),
        fuzz::a_record(Kind::UserMessage, b"", Some(&[1]), [2, 1, 1], content),
    ];
    fuzz::records(&all.concat());
}
