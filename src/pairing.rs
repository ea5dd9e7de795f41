//! Tool pairing: does a cut through the surface separate a tool call from its result?

use crate::error::{Code, Error, Result};
use crate::event::Kind;
use crate::json;
use crate::log::Log;

/// The ids (as JSON strings) of the tool-call blocks in an assistant message's payload. A block whose id is no string is
/// no call: nothing could answer it.
pub fn tool_calls(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    json::items(json::get(data, "content").unwrap_or(b"[]"))
        .filter(|block| json::get(block, "type").is_some_and(|t| json::is_string(t) && json::key_is(t, "tool-call")))
        .filter_map(|block| json::get(block, "id").filter(|id| json::is_string(id)))
}

/// Whether no call is unanswered at the cut before the surface node `before` (`None`: after the
/// tail). `nodes` are the seqs of the surface in order.
///
/// # Errors
/// `UNPAIRED_TOOL_RESULT` where a result before the cut answers no call before it, `INVALID_SEQ`
/// where `before` is not among the nodes.
pub fn is_balanced(log: &Log, nodes: &[u32], before: Option<u32>) -> Result<bool> {
    let mut open: Vec<Vec<u8>> = Vec::new();
    for &seq in nodes {
        if Some(seq) == before {
            return Ok(open.is_empty());
        }
        let Some(event) = log.get(seq) else { continue };
        match event.kind {
            Kind::AssistantMessage => open.extend(tool_calls(event.data()).map(json::decode)),
            Kind::ToolResult => {
                let id = json::get(event.data(), "callId").map(json::decode).unwrap_or_default();
                let Some(call) = open.iter().position(|call| *call == id) else {
                    let what = format!(
                        "the tool result answers \"{}\", which no call before it on the surface has; the surface holds half a pair",
                        json::readable(&id)
                    );
                    return Err(Error::new(Code::UnpairedToolResult, what).at_seq(seq));
                };
                open.swap_remove(call);
            }
            _ => {}
        }
    }
    match before {
        None => Ok(open.is_empty()),
        Some(seq) => Err(Error::new(Code::InvalidSeq, "the cut must stand before a node of the surface").at_seq(seq)),
    }
}
