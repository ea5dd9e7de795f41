//! A line that is like the one before reads as it would after any other.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{HEADER, read};
use palimpsest_core::{Error, Loaded};
use serde_json::value::RawValue;

/// All that is found of the events behind the first, or why the log is refused.
fn found(lines: &[&[u8]]) -> Result<String, Error> {
    let Loaded { session, committed_bytes, torn_bytes } =
        read(&[HEADER.as_bytes(), b"\n", &lines.join(&b'\n'), b"\n"].concat())?;
    let events: Vec<_> = (1..session.len()).map(|seq| session.event(seq).unwrap()).collect();
    let events: Vec<_> = events.iter().map(|event| (event.line(), event.data(), event.kind)).collect();
    Ok(format!("{events:?} {committed_bytes} {torn_bytes}"))
}

/// Reads a line behind one that it may be like, and behind one of the same length that is not.
#[track_caller]
fn same(like: &str, line: &[u8]) {
    let unlike = r#"{"type":"assistant/chunk","seq":0,"time":1,"data":{"pad":0}}"#;
    let unlike = format!("{}{}", unlike.strip_suffix("0}}").unwrap(), "1".repeat(like.len() + 1 - unlike.len()) + "}}");
    assert_eq!(unlike.len(), like.len());
    let last = like.replace("\"seq\":0", "\"seq\":2");
    assert!(found(&[like.as_bytes()]).is_ok());
    let after = |first: &str| found(&[first.as_bytes(), line, last.as_bytes()]);
    let events = after(like);
    assert_eq!(events, after(&unlike), "{}", String::from_utf8_lossy(line));
    // One that is several lines is none of those that are looked for here.
    if events.is_ok() && !line.contains(&b'\n') {
        assert!(serde_json::from_slice::<&RawValue>(line).is_ok(), "{}", String::from_utf8_lossy(line));
    }
}

fn chunk(seq: &str, time: &str, data: &str) -> String {
    format!(r#"{{"type":"assistant/chunk","seq":{seq},"time":{time},"data":{data}}}"#)
}

const CHUNKS: [&str; 8] = [
    r#"{"turn":12,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a \"b\" \\ é 好 🙂 \u00e9"}}"#,
    r#"{"turn":1,"chunk":{"text":"first","index":0}, "more":[1,2]}"#,
    r#"{"only a key":{"and another":1, "x" : [ true, null ]}, "and so on until the line is long enough":0}"#,
    r#""the payload is a string, which is a payload as well, of some length""#,
    r#"["a list of strings","and the last one of them"] "#,
    r#"{"turn":1,"chunk":{"text":"last"}},"more":"of the envelope""#,
    r#"{"turn":1,"chunk":{"text":"last"}},"time":5"#,
    r#"{"turn":1},"data":{"turn":1,"chunk":{"text":"last","and a key":{"b":["\\"]}}}"#,
];

#[test]
fn lines_that_differ_in_seq_time_and_text() {
    for data in CHUNKS {
        let like = chunk("0", "1700000000000", data);
        for seq in ["1", "01", "1.0", "1e0", "-1", "2", "", "\"1\"", "11", "18446744073709551617"] {
            for time in ["1700000000007", "0", "007", "1.5", "-1", "1e3", "", "\"1\"", "12345678901234567890"] {
                same(&like, chunk(seq, time, data).as_bytes());
            }
        }
        for text in ["", "x", "\\", "\\\"", "\\u12", "\\ud83d", "\",\"text\":\"", "\"},\"more\":\"", "好", "\u{1}"] {
            for old in ["last", "first", "a \\\"b\\\"", "and the last one of them", "the payload"] {
                same(&like, chunk("1", "2", &data.replace(old, text)).as_bytes());
            }
        }
    }
}

#[test]
fn a_line_with_one_byte_changed() {
    for data in CHUNKS {
        let like = chunk("0", "1700000000000", data);
        let line = chunk("1", "1700000000007", data).into_bytes();
        for at in 0..line.len() {
            for &byte in b"\"\\{}[]:,019ae \t\r\n\x01\x7F\x80\xBF\xC3\xE4\xED\xF0\xFF" {
                same(&like, &[&line[..at], &[byte], &line[at + 1..]].concat());
                same(&like, &[&line[..at], &[byte], &line[at..]].concat());
            }
            same(&like, &[&line[..at], &line[at + 1..]].concat());
        }
    }
}
