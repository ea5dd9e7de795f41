//! What a surface event's blocks hold.

use super::rule::{Findings, Rule};
use super::{Event, Limits};
use crate::event::Kind;
use crate::json;

/// What is wrong with the blocks of a surface event.
pub(super) fn check(event: &Event<'_>, limits: &Limits, found: &mut Findings) {
    let content = json::get(event.data, "content").unwrap_or_default();
    let mut blocks = 0u32;
    for block in json::items(content) {
        let member = |name| json::get(block, name).filter(|value| json::is_string(value));
        let kind = member("type").unwrap_or_default();
        if json::key_is(kind, "text") {
            if member("text").is_some_and(is_blank) {
                found.add(Rule::EmptyText);
            }
        } else if json::key_is(kind, "tool-call") {
            let whole = member("id").is_some_and(|id| id.len() > 2)
                && member("name").is_some_and(|name| name.len() > 2)
                && member("arguments").is_some();
            if !whole {
                found.add(Rule::CallMalformed);
            }
        } else if !json::key_is(kind, "reasoning") && holds_longer(block, limits.max_blob) {
            found.add(Rule::OversizedBlob);
        }
        blocks += 1;
    }
    if blocks == 0 && event.kind == Kind::UserMessage {
        found.add(Rule::EmptyContent);
    }
}

/// Whether a string (with its quotes) is empty or only white space.
fn is_blank(quoted: &[u8]) -> bool {
    // A long text is not blank, and need not be decoded to know.
    quoted.len() < 256 && json::decode(quoted).trim_ascii().is_empty()
}

/// Whether any string in a checked value is longer than `most` bytes.
fn holds_longer(value: &[u8], most: usize) -> bool {
    let mut at = 0;
    while value.len() - at > most {
        let Some(quote) = value[at..].iter().position(|&b| b == b'"') else { return false };
        let start = at + quote;
        at = json::string(value, start).unwrap_or(value.len());
        if at - start > most.saturating_add(2) {
            return true;
        }
    }
    false
}
