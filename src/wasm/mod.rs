//! The bindings: handles, numbers, texts. No logic, and the only place that names `wasm_bindgen`.
//!
//! - [`scratch`]: the memory into which the façade writes what it appends.
//! - [`session`]: a session's handle. [`reader`]: a reader's handle. [`pure`]: functions on texts.
//! - [`invariants`]: a checker's handle. [`source`]: bytes that stay with the host. [`memory`]: how it grows.

mod invariants;
mod memory;
mod pure;
mod reader;
mod scratch;
mod session;
mod source;

use crate::error::Error;
use crate::json;
use wasm_bindgen::JsValue;

/// The error as the façade receives it: a JSON text, which costs less code than an object.
fn thrown(error: Error) -> JsValue {
    let mut out = Vec::new();
    json::put(&mut out, b"{\"code\":\"");
    json::put(&mut out, error.code.name().as_bytes());
    json::put(&mut out, b"\",\"message\":");
    json::encode(error.message.as_bytes(), &mut out);
    if let Some(path) = error.path {
        json::put(&mut out, b",\"path\":");
        json::encode(path.as_bytes(), &mut out);
    }
    let numbers: [(&[u8], Option<u64>); 3] =
        [(b",\"seq\":", error.seq.map(u64::from)), (b",\"line\":", error.line), (b",\"byte\":", error.byte)];
    for (name, number) in numbers {
        if let Some(number) = number {
            json::put(&mut out, name);
            json::push_integer(number, &mut out);
        }
    }
    json::put(&mut out, b"}");
    JsValue::from_str(&text(out))
}

/// A text made by the core: JSON made of checked parts, so it is UTF-8.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

/// A list of lines (with line ends) as one JSON array.
fn array(lines: &[Vec<u8>]) -> String {
    let items: Vec<&[u8]> = lines.iter().map(|line| line.trim_ascii_end()).collect();
    text([b"[", items.join(&b',').as_slice(), b"]"].concat())
}
