//! The vectors, in a browser.
#![cfg(target_arch = "wasm32")]

#[macro_use]
mod common;

use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

fn report(cases: usize) {
    if let Some(total) = common::finished(cases) {
        console_log!("browser: {total}");
    }
}

vector_tests!(
    #[wasm_bindgen_test]
    report
);
