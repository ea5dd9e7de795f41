//! The vectors, natively; and the recorded sessions, where they lie beside the checkout.
#![cfg(not(target_arch = "wasm32"))]

#[macro_use]
mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

/// Not `println!`, which the harness keeps to itself.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn report(cases: usize) {
    if let Some(total) = common::finished(cases) {
        say(&format!("native: {total}"));
    }
}

vector_tests!(
    #[test]
    report
);

#[test]
fn recorded_sessions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/real");
    let Ok(files) = fs::read_dir(&folder) else {
        return say(&format!("recorded sessions: not checked, there is no {}", folder.display()));
    };
    let (mut logs, mut cases) = (0, 0);
    for file in files {
        let file = file.expect("a directory entry").path();
        if file.extension().is_some_and(|e| e == "jsonl") {
            let log = fs::read(&file).expect("a log");
            let expected = fs::read(file.with_extension("expected.json")).expect("expected results");
            cases += common::vector::Vector { log: &log, expected: &expected }.check();
            logs += 1;
        }
    }
    assert!(logs > 0, "no log in {}", folder.display());
    say(&format!("recorded sessions: {cases} cases of {logs} logs"));
}
