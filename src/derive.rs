//! The projection of one surface event to the message the model sees, from text to text.

use crate::event::{Kind, PayloadSpans};
use crate::json::{self, Span};

/// Appends the message of an event as JSON text; false (and nothing appended) where there is none:
/// an event that is not on the surface's list of types, or an assistant message without content.
pub fn message(kind: Kind, data: &[u8], out: &mut Vec<u8>) -> bool {
    if !kind.is_surface() {
        return false;
    }
    let found = PayloadSpans::of(data);
    let part = |span: Option<Span>| span.and_then(|span| data.get(span));
    let content = part(found.content).unwrap_or(b"[]");
    let is_empty = content.get(json::skip_space(content, 1)) == Some(&b']');
    let role: &[u8] = if kind == Kind::AssistantMessage { b"assistant" } else { b"user" };
    if kind == Kind::AssistantMessage && is_empty {
        return false;
    }
    json::put(out, b"{\"role\":\"");
    json::put(out, role);
    json::put(out, b"\",\"content\":");
    match kind {
        Kind::ToolResult => {
            json::put(out, b"[{\"type\":\"tool-result\"");
            for (name, value) in
                [("toolCallId", part(found.call_id)), ("content", Some(content)), ("isError", part(found.is_error))]
            {
                if let Some(value) = value {
                    json::put(out, b",\"");
                    json::put(out, name.as_bytes());
                    json::put(out, b"\":");
                    json::put(out, value);
                }
            }
            json::put(out, b"}]");
        }
        Kind::ContextMessage => wrapped("context", part(found.source), content, is_empty, out),
        Kind::SteeringMessage => wrapped("steering", part(found.source), content, is_empty, out),
        _ => json::put(out, content),
    }
    json::put(out, b"}");
    true
}

/// `<tag source="KIND">`, the content, `</tag>`, the tags as text blocks of their own.
fn wrapped(tag: &str, source: Option<&[u8]>, content: &[u8], is_empty: bool, out: &mut Vec<u8>) {
    let kind = source.and_then(|source| json::get(source, "kind")).unwrap_or(b"\"\"");
    // The tag quotes the kind as JSON, and then stands inside a JSON string itself.
    let mut open = format!("<{tag} source=").into_bytes();
    json::encode(&json::decode(kind), &mut open);
    open.push(b'>');
    json::put(out, b"[{\"type\":\"text\",\"text\":");
    json::encode(&open, out);
    json::put(out, b"}");
    let inner = json::skip_space(content, 1)..content.len() - 1;
    if !is_empty {
        json::put(out, b",");
        json::put(out, content[inner].trim_ascii_end());
    }
    json::put(out, b",{\"type\":\"text\",\"text\":\"</");
    json::put(out, tag.as_bytes());
    json::put(out, b">\"}]");
}
