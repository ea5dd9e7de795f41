//! Files as they are found: blank lines and byte-order marks, torn tails, corruption and where it is.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/make.rs"]
mod make;

use make::{HEADER, append, event, line, read, state, stored};
use palimpsest_core::error::{Code, Error};
use palimpsest_core::event::{Intent, Kind};
use palimpsest_core::{Loaded, Reader};

const BOM: &str = "\u{feff}";

/// A `user/message` line with its line end.
fn user(seq: u32, text: &str) -> String {
    let data = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}}}}"#);
    String::from_utf8(line(&event(Kind::UserMessage, &data, append()), seq)).unwrap()
}

fn turn_end(seq: u32) -> String {
    String::from_utf8(line(&event(Kind::TurnEnd, r#"{"turn":1}"#, Intent::default()), seq)).unwrap()
}

fn file(parts: &[&[u8]]) -> Vec<u8> {
    [HEADER.as_bytes(), b"\n", &parts.concat()].concat()
}

#[track_caller]
fn loaded(bytes: &[u8], events: u32, torn_bytes: u64) -> Loaded {
    let loaded = read(bytes).expect("a readable log");
    assert_eq!((loaded.session.len(), loaded.torn_bytes), (events, torn_bytes));
    assert_eq!(loaded.committed_bytes + loaded.torn_bytes, bytes.len() as u64);
    loaded
}

/// Refused with this code, line and byte, whatever follows; a reader that refused stays so.
#[track_caller]
fn refused(bytes: &[u8], code: Code, line: u64, byte: usize) -> Error {
    let error = read(bytes).expect_err("a damaged log");
    assert_eq!((error.code, error.line, error.byte), (code, Some(line), Some(byte as u64)), "{error}");
    let mut reader = Reader::new();
    if let Err(first) = reader.push(bytes) {
        assert_eq!(first, error);
        assert_eq!(reader.push(b"\n"), Err(error.clone()));
        assert_eq!(reader.push(user(0, "more").as_bytes()), Err(error.clone()));
    }
    assert_eq!(reader.finish().unwrap_err(), error);
    error
}

/// `damage` stands between event 0 and event 1 and makes the log unreadable at byte `at` of itself.
#[track_caller]
fn corrupt_between(damage: &[u8], at: usize) -> Error {
    let (before, after) = (user(0, "a"), user(1, "b"));
    let bytes = file(&[before.as_bytes(), damage, after.as_bytes()]);
    let error = refused(&bytes, Code::CorruptLog, 3, HEADER.len() + 1 + before.len() + at);
    assert_eq!(error.seq, Some(1), "the event that is lost");
    error
}

#[test]
fn a_bad_line_in_the_middle_is_named() {
    corrupt_between(b"{\"type\":\"user/mess\n", 18);
    corrupt_between(b"{\"type\":\"x\",\"data\":{\"t\":\"a\nb\"}}\n", 26);
    corrupt_between(b"{\"type\":\"x\",\"seq\":1,\"time\":1,\"data\":NaN}\n", 36);
    corrupt_between(b"{\"type\":\"x\",\"seq\":01,\"time\":1,\"data\":1}\n", 19);
    corrupt_between(b"garbage\n", 0);
    corrupt_between(b"{}}\n", 2);
}

#[test]
fn zero_bytes_in_the_middle_are_corruption() {
    let zeros = [0; 512];
    corrupt_between(&[&zeros[..], b"\n"].concat(), 0);
    corrupt_between(&zeros, 0);
    corrupt_between(b" \0\n", 1);
}

#[test]
fn zero_bytes_at_the_end_are_a_torn_tail() {
    let good = file(&[user(0, "a").as_bytes()]);
    loaded(&[&good[..], &[0; 512]].concat(), 1, 512);
    // With a line end after it, the run may stand in place of a record that was acknowledged.
    let error = refused(&[&good[..], &[0; 512], b"\n"].concat(), Code::CorruptLog, 3, good.len());
    assert_eq!(error.seq, Some(1));
    refused(&[0; 413], Code::InvalidHeader, 1, 0);
    refused(&[&[0; 413][..], b"\n"].concat(), Code::InvalidHeader, 1, 0);
}

#[test]
fn a_byte_order_mark_is_excused_at_the_very_start_only() {
    let events = user(0, "a") + &user(1, "b");
    let marked = [BOM.as_bytes(), &file(&[events.as_bytes()])].concat();
    let with = loaded(&marked, 2, 0).session;
    assert_eq!(state(&with), state(&loaded(&marked[3..], 2, 0).session), "it does not enter the log");
    corrupt_between(format!("{BOM}{}", user(1, "x")).as_bytes(), 0);
    corrupt_between(format!("{BOM}\n").as_bytes(), 0);
    refused(&[BOM.as_bytes(), &marked].concat(), Code::InvalidHeader, 1, 0);
    refused(&[b"\n", &marked[..]].concat(), Code::InvalidHeader, 2, 1);
    refused(BOM.as_bytes(), Code::InvalidHeader, 1, 0);
}

#[test]
fn only_a_line_feed_ends_a_line() {
    let text = "a\u{2028}b\u{2029}c\u{85}d\\u000bd\u{7f}";
    let session = loaded(&file(&[user(0, text).as_bytes(), user(1, "b").as_bytes()]), 2, 0).session;
    assert_eq!(session.event(0).unwrap().line(), user(0, text).trim_end().as_bytes());
}

#[test]
fn blanks_between_lines_are_read_and_never_written() {
    let (first, second) = (user(0, "a"), user(1, "b"));
    let (bare, clean) = (first.trim_end(), file(&[first.as_bytes(), second.as_bytes()]));
    let cases = [
        format!("\n {first} \r\n{}\r\n", second.trim_end()),
        format!("{bare}\r\n{second}"),
        format!("{bare}  \t \n{second}"),
        format!("\t{first}{second}"),
        // Nothing but an empty line.
        format!("{first}\n{second}"),
        format!("{first}\n\n\n{second}\n"),
        format!("{first}\r\n{second}\r\n \n"),
    ];
    for text in cases {
        let bytes = file(&[text.as_bytes()]);
        let loaded = loaded(&bytes, 2, 0);
        assert_eq!(String::from_utf8(stored(&loaded.session)).unwrap(), String::from_utf8(clean.clone()).unwrap());
        assert_eq!(loaded.session.log().byte_len() as usize, clean.len() - HEADER.len() - 1);
    }
    let session = loaded(format!("\r\n \n {HEADER} \r\n{first}").as_bytes(), 1, 0).session;
    assert_eq!(session.header().line(), HEADER.as_bytes());
}

#[test]
fn ill_formed_utf8_is_named_and_never_replaced() {
    let bad: [&[u8]; 9] = [
        b"\xE6\x87",
        b"\x80",
        b"\xC0\x80",
        b"\xE0\x80\x80",
        b"\xED\xA0\xBD",
        b"\xF0\x80\x80\x80",
        b"\xF4\x90\x80\x80",
        b"\xFF",
        b"\xF0\x9F\x98",
    ];
    for bytes in bad {
        let text = user(1, "@");
        let at = text.find('@').unwrap();
        let line = [&text.as_bytes()[..at], bytes, &text.as_bytes()[at + 1..]].concat();
        corrupt_between(&line, at);
    }
}

#[test]
fn the_last_record_may_be_torn_at_every_byte() {
    let head = user(0, "é😀") + &turn_end(1);
    let last = user(2, "日本語 \\ud83d \\\"x\\\"");
    let whole = file(&[head.as_bytes(), last.as_bytes()]);
    let committed = whole.len() - last.len();
    for cut in committed..whole.len() {
        let loaded = loaded(&whole[..cut], 2, (cut - committed) as u64);
        assert_eq!(loaded.committed_bytes, committed as u64);
        assert_eq!(stored(&loaded.session), whole[..committed]);
        // A torn record that was ended by a later line feed is torn all the same.
        if cut > committed && cut < whole.len() - 1 {
            let ended = [&whole[..cut], b"\n \r\n"].concat();
            assert_eq!(read(&ended).unwrap().committed_bytes, committed as u64);
            refused_at_cut(&ended, user(2, "c").as_bytes(), &whole[..cut], committed);
            refused_at_cut(&ended, b"{\"type", &whole[..cut], committed);
        }
    }
    loaded(&whole, 3, 0);
}

/// The same torn record with another one after it, torn or not, is corruption.
fn refused_at_cut(ended: &[u8], more: &[u8], torn: &[u8], committed: usize) {
    let bytes = [ended, more].concat();
    let error = read(&bytes).unwrap_err();
    assert_eq!((error.code, error.line, error.seq), (Code::CorruptLog, Some(4), Some(2)));
    let byte = error.byte.unwrap() as usize;
    assert!((committed..=torn.len()).contains(&byte), "{byte} is in the torn record");
}

#[test]
fn every_cut_of_a_file_keeps_the_whole_lines() {
    let text: String = (0..8).map(|i| if i % 3 == 2 { turn_end(i) } else { user(i, "x\u{1F600}") }).collect();
    let whole = file(&[text.as_bytes()]);
    for cut in 0..=whole.len() {
        let lines = whole[..cut].iter().filter(|&&b| b == b'\n').count();
        let committed = whole[..cut].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        if lines == 0 {
            let error = refused(&whole[..cut], Code::InvalidHeader, 1, 0);
            assert_eq!(error.message.contains("empty"), cut == 0, "{error}");
            continue;
        }
        let loaded = loaded(&whole[..cut], lines as u32 - 1, (cut - committed) as u64);
        let repaired: Vec<u8> = [&whole[..committed], &loaded.session.closers().concat()].concat();
        assert_eq!(read(&repaired).unwrap().session.closers(), Vec::<Vec<u8>>::new());
    }
}

#[test]
fn a_gap_or_a_second_writer_is_named() {
    let log = |seqs: &[u32]| {
        let lines: Vec<String> = seqs.iter().map(|&seq| user(seq, &format!("{seq}"))).collect();
        (file(&[lines.concat().as_bytes()]), lines[0].len())
    };
    for (seqs, line, found) in
        [(&[0, 1, 2, 4, 5][..], 5, 4), (&[0, 1, 2, 3, 1, 2], 6, 1), (&[0, 0], 3, 0), (&[1], 2, 1)]
    {
        let (bytes, each) = log(seqs);
        let error = refused(&bytes, Code::SeqMismatch, line, HEADER.len() + 1 + (line as usize - 2) * each);
        assert_eq!(error.seq, Some(found));
    }
}

#[test]
fn a_line_that_is_json_but_no_event_is_never_torn() {
    let good = user(0, "a");
    let at = HEADER.len() + 1 + good.len();
    for bad in ["{}\n", "[]\n", "1\n", "{\"type\":\"x\"}\n"] {
        refused(&file(&[good.as_bytes(), bad.as_bytes()]), Code::CorruptLog, 3, at);
    }
    // Without its line end its write was not finished.
    loaded(&file(&[good.as_bytes(), b"{}"]), 1, 2);
}

#[test]
fn a_reader_survives_wrong_numbers() {
    let mut reader = Reader::new();
    reader.push(&file(&[user(0, "a").as_bytes()])).unwrap();
    assert_eq!(reader.commit(1 << 40, 0), Ok(()), "nothing was reserved");
    reader.reserve(10).unwrap()[..3].copy_from_slice(b"{\"t");
    reader.commit(10, 3).unwrap();
    reader.reserve(0).unwrap();
    reader.commit(5, 1 << 40).unwrap();
    assert_eq!(reader.finish().unwrap().session.len(), 1);
}
