//! Strings in which one piece stands at every place of every short length: the scanner looks at many
//! bytes at once, each host in its own way, and must find each of them wherever it stands.

use super::Tally;
use palimpsest_core::json;

const LONGEST: usize = 40;

/// How many of the texts with `piece` among plain bytes are not what `right` wants them to be.
fn wrong(piece: &[u8], right: impl Fn(&[u8], usize) -> bool) -> u64 {
    let mut wrong = 0;
    for before in 0..LONGEST {
        for after in 0..LONGEST - before {
            let text = [&b"a".repeat(before)[..], piece, &b"z".repeat(after)].concat();
            wrong += u64::from(!right(&text, before));
        }
    }
    wrong
}

/// Checks the scanner's view of strings and how they are written; the number of cases.
pub fn check() -> usize {
    let mut tally = Tally::default();
    for byte in 0..=255u8 {
        let scanned = |text: &[u8], at: usize| {
            let quoted = [b"\"", text, b"\""].concat();
            let found = json::string(&quoted, 0);
            match byte {
                b'"' => found == Ok(at + 2),
                b'\\' => found.is_err(),
                0x20..0x80 => found == Ok(quoted.len()),
                _ => found.map_err(|e| e.at) == Err(at + 1),
            }
        };
        tally.equal(&format!("wrong scans of a string with {byte:#04x}"), wrong(&[byte], scanned), 0);
    }
    for escape in ["\\\"", "\\\\", "\\/", "\\n", "\\u00e9", "\\ud83d", "é", "日", "\u{FFFD}", "\u{1F600}", "\u{10FFFF}"]
    {
        let scanned = |text: &[u8], _| {
            let quoted = [b"\"", text, b"\""].concat();
            json::string(&quoted, 0) == Ok(quoted.len()) && json::string(&quoted[..quoted.len() - 1], 0).is_err()
        };
        tally.equal(&format!("wrong scans of a string with {escape}"), wrong(escape.as_bytes(), scanned), 0);
    }
    let written: [(&[u8], &str); 18] = [
        (b"\"", "\\\""),
        (b"\\", "\\\\"),
        (b"\"\n\x01\"", "\\\"\\n\\u0001\\\""),
        (b"/", "/"),
        (b"\0", "\\u0000"),
        (b"\x08", "\\b"),
        (b"\t", "\\t"),
        (b"\n", "\\n"),
        (b"\x0B", "\\u000b"),
        (b"\x0C", "\\f"),
        (b"\r", "\\r"),
        (b"\x1F", "\\u001f"),
        (b"\x7F", "\x7F"),
        (b"\xED\x9F\xBF", "\u{D7FF}"),
        (b"\xED\xA0\xBD", "\\ud83d"),
        (b"\xED\xBF\xBF", "\\udfff"),
        (b"\xEF\xBF\xBD", "\u{FFFD}"),
        (b"\xF4\x8F\xBF\xBF", "\u{10FFFF}"),
    ];
    for (piece, spelt) in written {
        let right = |text: &[u8], at: usize| {
            let rest = &text[at + piece.len()..];
            let expected = [b"\"", &text[..at], spelt.as_bytes(), rest, b"\""].concat();
            let mut found = Vec::new();
            json::encode(text, &mut found);
            // Only a string that is UTF-8 is asked whether it is clean.
            let clean = std::str::from_utf8(text).is_err() || json::is_clean(text) == (spelt.as_bytes() == piece);
            found == expected && json::decode(&found) == text && clean
        };
        tally.equal(&format!("wrong spellings of a string with {spelt}"), wrong(piece, right), 0);
        let replaced = |text: &[u8], _| json::has_replacement(text) == (spelt == "\u{FFFD}");
        tally.equal(&format!("wrong guesses about {spelt}"), wrong(piece, replaced), 0);
    }
    tally.cases()
}
