//! The vectors, in Node.
#![cfg(target_arch = "wasm32")]

#[macro_use]
mod common;

use wasm_bindgen_test::{console_log, wasm_bindgen_test};

fn report(cases: usize) {
    if let Some(total) = common::finished(cases) {
        console_log!("Node: {total}");
    }
}

vector_tests!(
    #[wasm_bindgen_test]
    report
);
