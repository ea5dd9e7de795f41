//! The bindings: handles, numbers, texts. No logic, and the only place that names `wasm_bindgen`.
//!
//! - [`scratch`]: the memory into which the façade writes what it appends.
//! - [`session`]: a session's handle. [`reader`]: a reader's handle. [`pure`]: functions on texts.
//! - [`invariants`]: a checker's handle.

mod invariants;
mod pure;
mod reader;
mod scratch;
mod session;

use crate::error::Error;
use serde::Serialize;
use wasm_bindgen::JsValue;

/// The error as the façade receives it.
#[derive(Serialize)]
struct Thrown<'a> {
    code: &'a str,
    message: &'a str,
    seq: Option<u32>,
    path: Option<&'a str>,
    line: Option<u64>,
    byte: Option<u64>,
}

fn thrown(error: Error) -> JsValue {
    let view = Thrown {
        code: error.code.name(),
        message: &error.message,
        seq: error.seq,
        path: error.path,
        line: error.line,
        byte: error.byte,
    };
    serde_wasm_bindgen::to_value(&view).unwrap_or_else(|_| JsValue::from_str(error.code.name()))
}

/// A text made by the core: JSON made of checked parts, so it is UTF-8.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// A list of lines (with line ends) as one JSON array.
fn array(lines: &[Vec<u8>]) -> String {
    let items: Vec<&[u8]> = lines.iter().map(|line| line.trim_ascii_end()).collect();
    text([b"[", items.join(&b',').as_slice(), b"]"].concat())
}
