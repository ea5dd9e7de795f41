//! What is checked of any bytes at all: by the fuzzers, and of the inputs that they have found, by
//! `cargo test`.
#![allow(dead_code, reason = "each fuzz target uses one of these")]

#[path = "kept.rs"]
mod kept;
#[path = "layout.rs"]
mod layout;

use kept::Kept;
use palimpsest_core::{Kind, Loaded, Reader, Result, Session, SessionHeader, json, record};

const HEADER: &[u8] = br#"{"type":"session","version":0,"id":"s","createdAt":1}"#;

/// The scanner takes what another parser takes, and a log reads the same however its bytes come.
pub fn scanner(input: &[u8]) {
    let ours = json::whole(input);
    // A raw value is any valid JSON: no limit to numbers, half surrogate pairs as escapes.
    let mut theirs = serde_json::Deserializer::from_slice(input);
    theirs.disable_recursion_limit();
    let raw = <&serde_json::value::RawValue as serde::Deserialize>::deserialize(&mut theirs);
    let valid = raw.is_ok() && theirs.end().is_ok();
    assert_eq!(ours.is_ok(), valid, "{:?}", String::from_utf8_lossy(input));
    match ours {
        Ok(span) => valid_text(&input[span]),
        Err(error) => assert!(error.at <= input.len()),
    }

    let bytes = [HEADER, b"\n", input].concat();
    let expected = told(read(Reader::new(), &bytes, bytes.len()));
    for size in [1, 61] {
        assert_eq!(told(read(Reader::new(), &bytes, size)), expected, "in chunks of {size}");
    }
    assert_eq!(told(read(Reader::over(Box::new(Kept(bytes.clone()))), &bytes, 61)), expected, "over a source");
}

fn valid_text(text: &[u8]) {
    let mut normal = Vec::new();
    json::normalize(text, &mut normal);
    assert_eq!(json::whole(&normal), Ok(0..normal.len()), "normal form is JSON");
    let mut again = Vec::new();
    json::normalize(&normal, &mut again);
    assert_eq!(again, normal, "normal form is its own");
    if json::is_string(text) {
        let mut encoded = Vec::new();
        json::encode(&json::decode(text), &mut encoded);
        assert_eq!(encoded, normal, "a string is encoded as it is normalised");
    }
    for (key, value) in json::members(text) {
        assert!(json::whole(&text[key]).is_ok() && json::whole(&text[value]).is_ok());
    }
    for item in json::items(text) {
        assert!(json::whole(item).is_ok());
    }
}

fn read(mut reader: Reader, bytes: &[u8], size: usize) -> Result<Loaded> {
    for chunk in bytes.chunks(size) {
        reader.push(chunk)?;
    }
    reader.finish()
}

/// All that a log shows.
fn told(loaded: Result<Loaded>) -> Result<(Vec<u8>, Vec<u8>, u64, u64)> {
    loaded.map(|loaded| {
        let session = &loaded.session;
        let mut lines = Vec::new();
        session.log().copy_lines(0, session.len(), &mut lines);
        let _ = (session.closers(), session.request_header(session.len()), session.is_balanced(None));
        assert_eq!(session.log().byte_len(), lines.len() as u64);
        layout::check(session);
        (lines, session.derive_json(session.len()), loaded.committed_bytes, loaded.torn_bytes)
    })
}

/// Records of any bytes are refused or logged; what is logged reads back as it is.
pub fn records(input: &[u8]) {
    let header = SessionHeader::parse(HEADER).expect("a header");
    let mut session = Session::new(header);
    let _ = record::for_each(input, &mut |event| {
        let before = session.len();
        match session.append(event) {
            Ok(seq) => assert_eq!((seq, session.len()), (before, before + 1)),
            Err(_) => assert_eq!(session.len(), before, "a refused event changes nothing"),
        }
        Ok(())
    });
    let mut bytes = [HEADER, b"\n"].concat();
    session.log().copy_lines(0, session.len(), &mut bytes);
    let again = read(Reader::new(), &bytes, bytes.len()).expect("what was logged can be read");
    assert_eq!(again.session.len(), session.len());
    assert_eq!(again.session.surface().seqs(), session.surface().seqs());
    assert_eq!(again.session.derive_json(u32::MAX), session.derive_json(u32::MAX));
    for seq in 0..session.len() {
        let of = |session: &Session| session.event(seq).map(|event| (event.kind, event.data().to_vec()));
        assert_eq!(of(&again.session), of(&session));
    }
}

/// A record as the façade writes it, to start from.
pub fn a_record(kind: Kind, type_json: &[u8], sources: Option<&[u32]>, op: [u32; 3], data: &[u8]) -> Vec<u8> {
    let sources_bytes: Vec<u8> = sources.unwrap_or_default().iter().flat_map(|seq| seq.to_le_bytes()).collect();
    let size = (40 + sources_bytes.len() + type_json.len() + data.len()).next_multiple_of(8);
    let mut out = Vec::new();
    let mut word = |n: u32| out.extend(n.to_le_bytes());
    word(size as u32);
    word(kind as u32);
    out.extend(7.0f64.to_le_bytes());
    let mut word = |n: u32| out.extend(n.to_le_bytes());
    op.into_iter().for_each(&mut word);
    word(sources.map_or(u32::MAX, |sources| sources.len() as u32));
    word(type_json.len() as u32);
    word(data.len() as u32);
    out.extend([&sources_bytes, type_json, data].concat());
    out.resize(size, 0);
    out
}
