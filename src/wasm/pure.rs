//! Functions on texts, without a session.

use super::{array, scratch, text, thrown};
use crate::error::{Code, Error};
use crate::event::{self, LineFault};
use crate::header::Header;
use crate::log::Log;
use crate::session::SessionHeader;
use crate::{json, pairing, repair};
use wasm_bindgen::prelude::*;

type JsResult<T> = std::result::Result<T, JsValue>;

/// Checks a session header line and returns its JSON text.
#[wasm_bindgen(js_name = checkHeaderLine)]
pub fn check_header_line(line: &[u8]) -> JsResult<String> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    Ok(text(SessionHeader::parse(line).map_err(thrown)?.line().to_vec()))
}

/// The canonical form of a request header.
#[wasm_bindgen(js_name = canonicalHeader)]
pub fn canonical_header(header: &str) -> String {
    text(Header::parse(header.as_bytes()).to_json())
}

/// Whether two request headers are equal in canonical form.
#[wasm_bindgen(js_name = headerEquals)]
pub fn header_equals(a: &str, b: &str) -> bool {
    Header::parse(a.as_bytes()) == Header::parse(b.as_bytes())
}

/// The delta between two request headers; none when they are equal.
#[wasm_bindgen(js_name = diffHeader)]
pub fn diff_header(previous: &str, next: &str) -> Option<String> {
    Header::parse(previous.as_bytes()).diff(&Header::parse(next.as_bytes())).map(text)
}

/// A request header with a delta applied.
#[wasm_bindgen(js_name = applyHeaderDelta)]
pub fn apply_header_delta(previous: &str, delta: &str) -> String {
    text(Header::parse(previous.as_bytes()).apply(delta.as_bytes()).to_json())
}

/// Event lines of the scratch area as a log of their own, numbered from `first`.
fn log_of(used: usize, first: u32) -> Result<Log, Error> {
    scratch::with_bytes(used, |bytes| {
        let mut log = Log::starting_at(first);
        for line in bytes.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            let envelope = event::parse(line).map_err(|fault| match fault {
                LineFault::Rule(e) => e,
                LineFault::Syntax(e) => Error::new(Code::InvalidJson, format!("not JSON: expected {}", e.expected)),
            })?;
            log.push_line(line, envelope.data, envelope.kind);
        }
        Ok(log)
    })
}

/// Closers for the event lines in the scratch area, the first of which has seq `first`.
#[wasm_bindgen(js_name = closersOf)]
pub fn closers_of(used: usize, first: u32) -> JsResult<String> {
    Ok(array(&repair::interrupted_turn_closers(&log_of(used, first).map_err(thrown)?, first)))
}

/// Whether the cut before the `before`-th (none: after the last) of the surface events whose lines
/// are in the scratch area keeps pairs whole. An error's seq is an index into them.
#[wasm_bindgen(js_name = isBalancedOf)]
pub fn is_balanced_of(used: usize, before: Option<u32>) -> JsResult<bool> {
    let log = log_of(used, 0).map_err(thrown)?;
    let nodes: Vec<u32> = (0..log.len()).collect();
    pairing::is_balanced(&log, &nodes, before).map_err(thrown)
}

/// Whether the text is JSON exactly as `JSON.parse` sees it.
#[wasm_bindgen(js_name = isJson)]
pub fn is_json(bytes: &[u8]) -> bool {
    json::whole(bytes).is_ok()
}
