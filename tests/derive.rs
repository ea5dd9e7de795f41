//! The message of one event, to the byte.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/layout.rs"]
mod layout;
#[path = "common/make.rs"]
mod make;

use make::{append, event, session};
use palimpsest_core::derive;
use palimpsest_core::event::{Intent, Kind};

#[track_caller]
fn derived(kind: Kind, data: &str) -> Option<String> {
    let mut out = b"before".to_vec();
    let made = derive::message(kind, data.as_bytes(), &mut out);
    let text = String::from_utf8(out).unwrap();
    let message = text.strip_prefix("before").unwrap().to_owned();
    assert_eq!(made, !message.is_empty());
    made.then_some(message)
}

#[track_caller]
fn same(kind: Kind, data: &str, message: &str) {
    assert_eq!(derived(kind, data).as_deref(), Some(message));
}

#[test]
fn content_is_quoted_as_it_stands() {
    for content in ["[]", "[ ]", "[{\"type\":\"text\",\"text\":\"\"}]", "[ {\"n\":1e400 , \"x\":\"\\u0041\\ud83d\"} ]"]
    {
        let data = format!("{{ \"more\":1,\"content\" : {content} }}");
        same(Kind::UserMessage, &data, &format!(r#"{{"role":"user","content":{content}}}"#));
    }
    same(Kind::AssistantMessage, r#"{"content":[0],"usage":{}}"#, r#"{"role":"assistant","content":[0]}"#);
    same(Kind::UserMessage, r#"{"content":[1],"content":[2]}"#, r#"{"role":"user","content":[2]}"#);
}

#[test]
fn an_assistant_message_without_content_is_none() {
    for content in ["[]", "[ ]", "[\t\r]"] {
        assert_eq!(derived(Kind::AssistantMessage, &format!(r#"{{"content":{content}}}"#)), None);
    }
    let mut session = session();
    session.append(&event(Kind::AssistantMessage, r#"{"content":[]}"#, append())).unwrap();
    session.append(&event(Kind::UserMessage, r#"{"content":[]}"#, append())).unwrap();
    session.append(&event(Kind::TurnEnd, "{}", Intent::default())).unwrap();
    assert_eq!(session.surface().seqs(), [0, 1], "it is on the surface all the same");
    assert_eq!(session.derive_json(3), br#"[{"role":"user","content":[]}]"#);
    let messages = layout::messages(&session, &[0, 1, 2, 9]);
    assert_eq!(messages, [b"null".as_slice(), br#"{"role":"user","content":[]}"#, b"null", b"null"]);
}

/// Payloads in the usual spelling and in every other, read back and as appended.
#[test]
fn messages_in_parts_are_the_messages() {
    let long = "x".repeat(1 << 20);
    let texts = [
        "",
        "plain",
        "\u{e9}\u{ff}",
        "\u{100}",
        "a\u{4e00}b \u{1f642}",
        "\u{feff}mark",
        "\u{fffd}",
        "0123456789abcde\u{fc}0123456789abcde\u{1f680}",
        r#"0123456789abcde\"0123456789abcd\\\u001b\n\t\b\f\r\/"#,
        r"\u00e9\u0141\u2028",
        r"\ud83d\ude00 and \u4e00",
        r"\ud83d",
        r"a\udc00\ud800\udc00",
        r"\ud83d\u0041",
        r"0123456789\u0041\\u0041",
    ];
    let mut contents =
        vec!["[]".to_owned(), "[ ]".into(), "[1]".into(), r#"[null,[{"text":""}],{}]"#.into(), format!("[\"{long}\"]")];
    for text in texts {
        for block in [
            format!(r#"{{"type":"text","text":"{text}"}}"#),
            format!(r#"{{"type":"reasoning","text":"{text}"}}"#),
            format!(r#"{{"type":"reasoning","text":"{text}","signature":"{text}"}}"#),
            format!(r#"{{"type":"tool-call","id":"{text}","name":"n","arguments":"{text}"}}"#),
            format!(r#"{{"type":"tool-call","id":"{text}","name":"n","arguments":{{}}}}"#),
            format!(r#"{{"text":"{text}","type":"text"}}"#),
            format!(r#"{{"type":"text","text":"a","text":"{text}"}}"#),
            format!(r#"{{"type":"text","text":"{text}","__proto__":{{"x":1}}}}"#),
            format!(r#"{{ "type":"text","text" : "{text}"}}"#),
        ] {
            contents.push(format!("[{block}]"));
            contents.push(format!(r#"[ {block} , {block},{{"type":"text","text":"next"}}]"#));
        }
    }
    let mut session = session();
    for content in &contents {
        for data in [
            format!(r#"{{"content":{content},"callId":"c\u00e9","source":{{"kind":"k"}}}}"#),
            format!(
                r#"{{"meta":[1,{{}}],"callId":"c","content":{content},"isError":false,"source":{{"kind":"\u4e00"}}}}"#
            ),
            format!(r#"{{"isError":true,"callId":"\ud800","source":{{"kind":"k"}},"content":{content}}}"#),
            format!(r#"{{"isError":1,"callId":"c","source":{{"kind":"k"}},"content":{content}}}"#),
            format!(r#"{{"content":[2],"callId":"c","content" : {content},"source":{{"kind":"k"}},"callId":"d"}}"#),
            format!(r#"{{"cont\u0065nt":{content},"call\u0049d":"c","source":{{"kind":"k"}}}}"#),
            format!(r#"{{"isError":false,"content":{content},"callId":"c","source":{{"kind":"k"}},"isError":true}}"#),
        ] {
            for kind in (1..=5).map(Kind::from_number) {
                session.append(&event(kind, &data, append())).unwrap();
            }
        }
    }
    layout::check(&session);
    let read = make::read(&make::stored(&session)).unwrap().session;
    layout::check(&read);
    assert_eq!(read.derive_json(u32::MAX), session.derive_json(u32::MAX));
}

#[test]
fn a_tool_result_becomes_a_block() {
    let block = |rest: &str| format!(r#"{{"role":"user","content":[{{"type":"tool-result",{rest}}}]}}"#);
    same(
        Kind::ToolResult,
        r#"{"isError":true,"content":[{"type":"text","text":"\/"}],"meta":{"id":2512292042121000001},"callId":"\u0061"}"#,
        &block(r#""toolCallId":"\u0061","content":[{"type":"text","text":"\/"}],"isError":true"#),
    );
    same(Kind::ToolResult, r#"{"callId":"a","content":[]}"#, &block(r#""toolCallId":"a","content":[]"#));
}

#[test]
fn context_and_steering_are_wrapped() {
    for (kind, tag) in [(Kind::ContextMessage, "context"), (Kind::SteeringMessage, "steering")] {
        let wrapped = |source: &str, inner: &str| {
            format!(
                r#"{{"role":"user","content":[{{"type":"text","text":"<{tag} source={source}>"}},{inner}{{"type":"text","text":"</{tag}>"}}]}}"#
            )
        };
        for (content, inner) in [("[]", ""), ("[ ]", ""), ("[1]", "1,"), ("[ 1 , [ ] \t]", "1 , [ ],")] {
            let data = format!(r#"{{"content":{content},"source":{{"kind":"a"}}}}"#);
            same(kind, &data, &wrapped(r#"\"a\""#, inner));
        }
        // The kind is quoted as `JSON.stringify` spells it, however it is spelt, and then quoted again.
        for (spelt, quoted) in [
            (r#""caf\u00e9\/""#, r#"\"café/\""#),
            (r#""a\"b\\""#, r#"\"a\\\"b\\\\\""#),
            (r#""\uD83D""#, r#"\"\\ud83d\""#),
            (r#""\u000a\u2028""#, "\\\"\\\\n\u{2028}\\\""),
            (r#""""#, r#"\"\""#),
        ] {
            let data = format!(r#"{{"content":[],"source":{{"more":1,"kind":{spelt}}}}}"#);
            same(kind, &data, &wrapped(quoted, ""));
        }
    }
}

#[test]
fn no_other_event_has_a_message() {
    for kind in (0..20).map(Kind::from_number).filter(|kind| !kind.is_surface()) {
        assert_eq!(derived(kind, r#"{"content":[1],"callId":"a","source":{"kind":"user"}}"#), None);
    }
}
