//! JSON as bytes: a one-pass validating scanner that finds spans, and the string forms of JSON.
//!
//! Nothing here builds a tree. A value is a [`Span`] of the text it stands in, so that it can be
//! kept, moved and compared without being decoded: lone surrogates, big integers and key order
//! survive because nobody looks at them.
//!
//! The grammar is RFC 8259, read exactly as `JSON.parse` reads UTF-8 text: unpaired `\uD83D`
//! escapes and numbers of any size are accepted, raw control characters and ill-formed UTF-8 are not.
//!
//! One file, though a long one: the lanes of sixteen bytes, and what a byte means in them, are shared by all of it.

use std::ops::Range;

/// Byte range of a value in the text it was found in.
pub type Span = Range<usize>;

/// Where and why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Byte offset of the first byte that cannot stand where it does (of an ill-formed UTF-8
    /// sequence: its first byte). The length of the text where the text is cut short and could
    /// still go on.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

type Scan<T> = Result<T, SyntaxError>;

fn fail<T>(at: usize, expected: &'static str) -> Scan<T> {
    Err(SyntaxError { at, expected })
}

/// Whether this is JSON white space.
#[inline]
const fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

/// The first byte at or after `at` that is not JSON white space; `text.len()` at the end.
#[inline]
pub fn skip_space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&b| is_space(b)) {
        at += 1;
    }
    at
}

/// Where the text stands without the JSON white space around it.
pub fn trimmed(text: &[u8]) -> Span {
    let start = skip_space(text, 0);
    let last = text[start..].iter().rposition(|&b| !is_space(b));
    start..last.map_or(start, |last| start + last + 1)
}

/// Checks that `text` is exactly one JSON value with optional white space around it; its span.
pub fn whole(text: &[u8]) -> Scan<Span> {
    let start = skip_space(text, 0);
    let end = value(text, start)?;
    let rest = skip_space(text, end);
    if rest != text.len() {
        return fail(rest, "the end of the text");
    }
    Ok(start..end)
}

/// Checks the value that starts at `at` and returns where it ends. Iterative: nesting costs one bit
/// of heap per level beyond 64, so depth is bounded by the length of the text alone.
pub fn value(text: &[u8], at: usize) -> Scan<usize> {
    match text.get(at) {
        Some(b'{' | b'[') => container(text, at),
        _ => scalar(text, at),
    }
}

/// Checks the string, number or literal that starts at `at` and returns where it ends.
fn scalar(text: &[u8], at: usize) -> Scan<usize> {
    match text.get(at) {
        Some(b'"') => string(text, at),
        Some(b'-' | b'0'..=b'9') => number(text, at),
        Some(b't') => literal(text, at, b"true"),
        Some(b'f') => literal(text, at, b"false"),
        Some(b'n') => literal(text, at, b"null"),
        _ => fail(at, "a value"),
    }
}

fn literal(text: &[u8], at: usize, word: &'static [u8]) -> Scan<usize> {
    if text.get(at..at + word.len()) == Some(word) {
        return Ok(at + word.len());
    }
    let same = text[at..].iter().zip(word).take_while(|(a, b)| a == b).count();
    fail(at + same, "true, false or null")
}

fn some_digits(text: &[u8], mut at: usize) -> Scan<usize> {
    let start = at;
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    if at == start { fail(at, "a digit") } else { Ok(at) }
}

fn number(text: &[u8], mut at: usize) -> Scan<usize> {
    if text[at] == b'-' {
        at += 1;
    }
    at = if text.get(at) == Some(&b'0') { at + 1 } else { some_digits(text, at)? };
    if text.get(at) == Some(&b'.') {
        at = some_digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = text.get(at) {
            at += 1;
        }
        at = some_digits(text, at)?;
    }
    Ok(at)
}

/// One bit per open container: set for an object.
struct Nesting {
    low: u64,
    high: Vec<u64>,
    depth: usize,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.high.push(self.low);
        }
        self.low = self.low << 1 | u64::from(object);
        self.depth += 1;
    }

    /// Closes the innermost container; whether the one around it is an object.
    fn pop(&mut self) -> bool {
        self.depth -= 1;
        self.low >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.low = self.high.pop().unwrap_or(0);
        }
        self.low & 1 == 1
    }
}

fn container(text: &[u8], mut at: usize) -> Scan<usize> {
    let mut open = Nesting { low: 0, high: Vec::new(), depth: 0 };
    let mut object;
    loop {
        // `at` is where a value starts.
        match text.get(at) {
            Some(&c @ (b'{' | b'[')) => {
                object = c == b'{';
                open.push(object);
                at = skip_space(text, at + 1);
                let close = if object { b'}' } else { b']' };
                if text.get(at) != Some(&close) {
                    if object {
                        at = key(text, at)?;
                    }
                    continue;
                }
            }
            _ => {
                at = scalar(text, at)?;
                object = open.low & 1 == 1;
                at = skip_space(text, at);
                if text.get(at) == Some(&b',') {
                    at = skip_space(text, at + 1);
                    if object {
                        at = key(text, at)?;
                    }
                    continue;
                }
            }
        }
        // A value has ended: close containers until a comma asks for the next one.
        loop {
            match text.get(at) {
                Some(b',') => {
                    at = skip_space(text, at + 1);
                    if object {
                        at = key(text, at)?;
                    }
                    break;
                }
                Some(b'}') if object => {}
                Some(b']') if !object => {}
                _ => return fail(at, if object { "',' or '}'" } else { "',' or ']'" }),
            }
            at += 1;
            object = open.pop();
            if open.depth == 0 {
                return Ok(at);
            }
            at = skip_space(text, at);
        }
    }
}

/// Passes a key and its colon; where its value starts.
#[inline]
fn key(text: &[u8], at: usize) -> Scan<usize> {
    if text.get(at) != Some(&b'"') {
        return fail(at, "a key");
    }
    let end = skip_space(text, string(text, at)?);
    if text.get(end) != Some(&b':') {
        return fail(end, "':'");
    }
    Ok(skip_space(text, end + 1))
}

const LANE: usize = 16;

/// One bit for each of 16 bytes that a string cannot simply hold: `"`, `\`, control characters, and
/// (with `HIGH`) everything from `HIGH` up.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
fn lane_mask<const HIGH: u8>(lane: &[u8; LANE]) -> u32 {
    use std::arch::wasm32::{i8x16_eq, i8x16_lt, i8x16_splat, u8x16_bitmask, u8x16_ge, u8x16_lt, u8x16_splat, v128_or};
    let bytes = vector(lane);
    let quote = i8x16_eq(bytes, u8x16_splat(b'"'));
    let backslash = i8x16_eq(bytes, u8x16_splat(b'\\'));
    let outside = if HIGH == 0x80 {
        // As signed numbers, what is above ASCII is below zero.
        i8x16_lt(bytes, i8x16_splat(0x20))
    } else {
        v128_or(u8x16_lt(bytes, u8x16_splat(0x20)), u8x16_ge(bytes, u8x16_splat(HIGH)))
    };
    u32::from(u8x16_bitmask(v128_or(v128_or(quote, backslash), outside)))
}

/// As above without simd128: a loop without branches, which compilers vectorise where they can.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn lane_mask<const HIGH: u8>(lane: &[u8; LANE]) -> u32 {
    lane.iter().enumerate().fold(0, |mask, (i, &b)| mask | u32::from(is_special::<HIGH>(b)) << i)
}

/// One bit for each of 16 bytes that is not ASCII.
#[inline(always)]
fn high_mask(lane: &[u8; LANE]) -> u32 {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return u32::from(std::arch::wasm32::u8x16_bitmask(vector(lane)));
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    return lane.iter().enumerate().fold(0, |mask, (i, &b)| mask | u32::from(b >> 7) << i);
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
fn vector(lane: &[u8; LANE]) -> std::arch::wasm32::v128 {
    let half = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| lane[at + i]));
    std::arch::wasm32::u64x2(half(0), half(8))
}

#[inline(always)]
fn is_special<const HIGH: u8>(b: u8) -> bool {
    b < 0x20 || b == b'"' || b == b'\\' || b >= HIGH
}

/// The first byte at or after `at` that a string cannot simply hold; the end where there is none.
#[inline(always)]
fn find_special<const HIGH: u8>(text: &[u8], mut at: usize) -> usize {
    while let Some((lane, _)) = text.get(at..).and_then(|rest| rest.split_first_chunk::<LANE>()) {
        let mask = lane_mask::<HIGH>(lane);
        if mask != 0 {
            return at + mask.trailing_zeros() as usize;
        }
        at += LANE;
    }
    while text.get(at).is_some_and(|&b| !is_special::<HIGH>(b)) {
        at += 1;
    }
    at
}

/// Checks the string that starts at `at` (its quote) and returns where it ends (after its quote).
///
/// A lane is looked at once: what its short escapes cover is struck from its mask. Whether the bytes
/// are UTF-8 is looked at when the end is known, and only where they are not ASCII.
#[inline]
pub fn string(text: &[u8], at: usize) -> Scan<usize> {
    let start = at + 1;
    let mut at = start;
    let mut ascii = true;
    let fault = loop {
        at = match text.get(at..).and_then(|rest| rest.split_first_chunk::<LANE>()) {
            Some((lane, _)) => {
                let mut mask = lane_mask::<0x80>(lane);
                if mask == 0 {
                    at += LANE;
                    continue;
                }
                let high = high_mask(lane);
                mask &= !high;
                while mask != 0 {
                    let i = mask.trailing_zeros() as usize % LANE;
                    if lane[i] != b'\\' || i == LANE - 1 || !is_short_escape(lane[i + 1]) {
                        break;
                    }
                    mask &= !(0b11 << i);
                }
                // Only what stands before the first that is left is a part of the string.
                ascii &= high & !mask & mask.wrapping_sub(1) == 0;
                if mask == 0 {
                    at += LANE;
                    continue;
                }
                at + mask.trailing_zeros() as usize
            }
            None => {
                ascii = false;
                find_special::<0xFF>(text, at)
            }
        };
        match text.get(at) {
            Some(b'"') => break None,
            Some(b'\\') => match escape(text, at) {
                Ok(next) => at = next,
                Err(error) => break Some(error),
            },
            // The only other byte that stops the search is in no UTF-8 text.
            Some(0xFF) => break Some(SyntaxError { at, expected: WELL_FORMED }),
            Some(_) => break Some(SyntaxError { at, expected: "an escaped control character" }),
            None => break Some(SyntaxError { at: text.len(), expected: "'\"'" }),
        }
    };
    if !ascii {
        utf8(text, start..at)?;
    }
    fault.map_or(Ok(at + 1), Err)
}

const WELL_FORMED: &str = "well-formed UTF-8";

/// Checks that a part of a text is UTF-8; what the end of the text cuts short could still go on.
#[inline(never)]
fn utf8(text: &[u8], part: Span) -> Scan<()> {
    let bytes = text.get(part.clone()).unwrap_or_default();
    if is_utf8(bytes) {
        return Ok(());
    }
    let Err(error) = str::from_utf8(bytes) else { return Ok(()) };
    let cut_short = error.error_len().is_none() && part.end == text.len();
    fail(if cut_short { text.len() } else { part.start + error.valid_up_to() }, WELL_FORMED)
}

/// Whether bytes are UTF-8, a lane at a time: J. Keiser and D. Lemire, Validating UTF-8 in less than one
/// instruction per byte (2021), <https://arxiv.org/abs/2010.03090>. Each half of a byte names the
/// mistakes that the byte and the next one may be, and those that all agree on are mistakes.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
fn is_utf8(bytes: &[u8]) -> bool {
    use std::arch::wasm32::{
        i8x16_shuffle, u8x16, u8x16_shr, u8x16_splat, u8x16_sub_sat, u8x16_swizzle, v128_and, v128_any_true, v128_or,
        v128_xor,
    };
    const SHORT: u8 = 1; // A lead without its tail.
    const LONG: u8 = 2; // A tail without a lead.
    const OVERLONG_3: u8 = 4;
    const SURROGATE: u8 = 8;
    const OVERLONG_2: u8 = 16;
    const LARGE: u8 = 32; // U+110000 and beyond, second byte from 0x90.
    const EDGE_4: u8 = 64; // Overlong, or beyond U+13FFFF: second byte 0x80 to 0x8F.
    const TAILS: u8 = 128; // Two tails: a mistake unless a longer sequence has them.
    const ANY: u8 = SHORT | LONG | TAILS;
    const BEYOND: u8 = ANY | LARGE | EDGE_4;
    let table = |t: [u8; 16]| {
        u8x16(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11], t[12], t[13], t[14], t[15])
    };
    let lead_high = table([
        LONG,
        LONG,
        LONG,
        LONG,
        LONG,
        LONG,
        LONG,
        LONG,
        TAILS,
        TAILS,
        TAILS,
        TAILS,
        SHORT | OVERLONG_2,
        SHORT,
        SHORT | OVERLONG_3 | SURROGATE,
        SHORT | LARGE | EDGE_4,
    ]);
    let lead_low = table([
        ANY | OVERLONG_3 | OVERLONG_2 | EDGE_4,
        ANY | OVERLONG_2,
        ANY,
        ANY,
        ANY | LARGE,
        BEYOND,
        BEYOND,
        BEYOND,
        BEYOND,
        BEYOND,
        BEYOND,
        BEYOND,
        BEYOND,
        BEYOND | SURROGATE,
        BEYOND,
        BEYOND,
    ]);
    let tail = LONG | OVERLONG_2 | TAILS;
    let next_high = table([
        SHORT,
        SHORT,
        SHORT,
        SHORT,
        SHORT,
        SHORT,
        SHORT,
        SHORT,
        tail | OVERLONG_3 | EDGE_4,
        tail | OVERLONG_3 | LARGE,
        tail | SURROGATE | LARGE,
        tail | SURROGATE | LARGE,
        SHORT,
        SHORT,
        SHORT,
        SHORT,
    ]);
    let low = u8x16_splat(0x0F);
    let mut before = u8x16_splat(0);
    let mut wrong = before;
    let mut rest = bytes;
    loop {
        let mut last = [0; LANE];
        let (lane, more) = rest.split_first_chunk::<LANE>().unwrap_or_else(|| {
            last[..rest.len()].copy_from_slice(rest);
            (&last, &[])
        });
        let now = vector(lane);
        let before_1 = i8x16_shuffle::<15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30>(before, now);
        let before_2 = i8x16_shuffle::<14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29>(before, now);
        let before_3 = i8x16_shuffle::<13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28>(before, now);
        let mistakes = v128_and(
            v128_and(
                u8x16_swizzle(lead_high, u8x16_shr(before_1, 4)),
                u8x16_swizzle(lead_low, v128_and(before_1, low)),
            ),
            u8x16_swizzle(next_high, u8x16_shr(now, 4)),
        );
        // Where the second or third tail of a sequence must stand.
        let third = u8x16_sub_sat(before_2, u8x16_splat(0xE0 - 0x80));
        let fourth = u8x16_sub_sat(before_3, u8x16_splat(0xF0 - 0x80));
        let wanted = v128_and(v128_or(third, fourth), u8x16_splat(0x80));
        wrong = v128_or(wrong, v128_xor(wanted, mistakes));
        before = now;
        // The last lane ends in zeros, which no sequence goes on with.
        if rest.len() < LANE {
            return !v128_any_true(wrong);
        }
        rest = more;
    }
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
fn is_utf8(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok()
}

/// Whether a backslash and this byte are an escape.
#[inline(always)]
fn is_short_escape(b: u8) -> bool {
    UNESCAPED[usize::from(b)] != 0
}

/// For the letter of each two-character escape the byte that it stands for, else 0. Which of them comes
/// next cannot be foretold, so that a table is twice as fast as a branch.
const UNESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        if SHORT_ESCAPES[byte] != 0 {
            table[SHORT_ESCAPES[byte] as usize] = byte as u8;
        }
        byte += 1;
    }
    // Read, and never written.
    table[b'/' as usize] = b'/';
    table
};

#[inline]
fn escape(text: &[u8], at: usize) -> Scan<usize> {
    match text.get(at + 1) {
        Some(&b) if is_short_escape(b) => Ok(at + 2),
        Some(b'u') => {
            for i in at + 2..at + 6 {
                if !text.get(i).is_some_and(u8::is_ascii_hexdigit) {
                    return fail(i, "a hexadecimal digit");
                }
            }
            Ok(at + 6)
        }
        _ => fail(at + 1, "an escape"),
    }
}

/// The members of a JSON object that was checked before, as (key, value) spans; the key span
/// includes its quotes. Yields nothing for any other text.
pub fn members(text: &[u8]) -> Members<'_> {
    let start = skip_space(text, 0);
    let at = if text.get(start) == Some(&b'{') { start + 1 } else { text.len() };
    Members { text, at, object: true }
}

/// The items of a JSON array that was checked before. Yields nothing for any other text.
pub fn items(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = skip_space(text, 0);
    let at = if text.get(start) == Some(&b'[') { start + 1 } else { text.len() };
    Members { text, at, object: false }.map(|(_, value)| &text[value])
}

/// Iterator of [`members`].
pub struct Members<'a> {
    text: &'a [u8],
    at: usize,
    object: bool,
}

impl Members<'_> {
    /// The next member's key and where its value starts; that value is then to be passed.
    pub fn key(&mut self) -> Option<(Span, usize)> {
        let mut at = skip_space(self.text, self.at);
        if self.text.get(at) == Some(&b',') {
            at = skip_space(self.text, at + 1);
        }
        let mut name = at..at;
        if self.object {
            if self.text.get(at) != Some(&b'"') {
                return None;
            }
            name.end = string(self.text, at).ok()?;
            at = skip_space(self.text, skip_space(self.text, name.end) + 1);
        }
        Some((name, at))
    }

    /// Passes the value at `at`; where it ends.
    pub fn pass(&mut self, at: usize) -> Option<usize> {
        self.at = value(self.text, at).ok()?;
        Some(self.at)
    }
}

impl Iterator for Members<'_> {
    type Item = (Span, Span);

    fn next(&mut self) -> Option<(Span, Span)> {
        let (name, at) = self.key()?;
        Some((name, at..self.pass(at)?))
    }
}

/// The value of a member, as `JSON.parse` would choose it: the last one of that name.
#[inline(never)]
pub fn get<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let named = members(object).filter(|(key, _)| key_is(&object[key.clone()], name));
    named.last().map(|(_, value)| &object[value])
}

/// Whether a key (with its quotes) spells `name`, escaped or not.
#[inline]
pub fn key_is(quoted: &[u8], name: &str) -> bool {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    inner == name.as_bytes() || (inner.contains(&b'\\') && decode(quoted) == name.as_bytes())
}

/// Whether the value is a string.
pub fn is_string(value: &[u8]) -> bool {
    value.first() == Some(&b'"')
}

/// Where `part` ends in `text`, if it stands at `at`. For parts that nearly always do: compared whole.
#[inline(never)]
pub fn after(text: &[u8], at: usize, part: &[u8]) -> Option<usize> {
    let end = at + part.len();
    let (words, rest) = part.as_chunks::<8>();
    let (text_words, text_rest) = text.get(at..end)?.as_chunks::<8>();
    let differ = |(a, b): (&[u8; 8], &[u8; 8])| u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b);
    let different = words.iter().zip(text_words).fold(0, |all, pair| all | differ(pair));
    (different == 0 && rest.iter().zip(text_rest).all(|(a, b)| a == b)).then_some(end)
}

/// Where a number in plain digits ends: at most 16, as many as a seq or a time has.
#[inline(never)]
pub fn digits(text: &[u8], at: usize) -> Option<usize> {
    let len = text.get(at..)?.iter().take(17).take_while(|b| b.is_ascii_digit()).count();
    let plain = len == 1 || (len > 1 && len < 17 && text[at] != b'0');
    plain.then_some(at + len)
}

/// A non-negative integer below 2^53 in plain digits: the only spelling of a seq or a version.
pub fn plain_integer(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 16 || (value[0] == b'0' && value.len() > 1) {
        return None;
    }
    let mut n = 0u64;
    for &b in value {
        if !b.is_ascii_digit() {
            return None;
        }
        n = n * 10 + u64::from(b - b'0');
    }
    (n < 1 << 53).then_some(n)
}

/// The value of a checked JSON number where it is a non-negative integer of up to 19 digits, however it is spelled: `1.0`,
/// `10e-1`.
pub fn integer(value: &[u8]) -> Option<u64> {
    // What it is without its point and exponent, and by how many tens that is too large.
    let (mut n, mut tens, mut fraction) = (0u64, 0i32, 0);
    let mut rest = value.iter();
    for &b in rest.by_ref() {
        match b {
            b'0'..=b'9' => {
                n = n.checked_mul(10)?.checked_add(u64::from(b - b'0'))?;
                tens += fraction;
            }
            b'.' => fraction = 1,
            b'e' | b'E' => break,
            _ => return None,
        }
    }
    let (mut exponent, mut sign) = (0i32, 1);
    for &b in rest {
        match b {
            b'-' => sign = -1,
            b'+' => {}
            _ => exponent = exponent.checked_mul(10)?.checked_add(i32::from(b - b'0'))?,
        }
    }
    // A sum that does not fit is as far from a whole number as one that does.
    tens = tens.saturating_sub(sign * exponent);
    while tens > 0 && n % 10 == 0 && n > 0 {
        (n, tens) = (n / 10, tens - 1);
    }
    while tens < 0 && n > 0 {
        (n, tens) = (n.checked_mul(10)?, tens + 1);
    }
    (tens <= 0 || n == 0).then_some(n)
}

/// Decodes a checked JSON string (with its quotes) to WTF-8: UTF-8 in which an unpaired surrogate
/// stands as its three-byte form (<https://simonsapin.github.io/wtf-8/>).
pub fn decode(quoted: &[u8]) -> Vec<u8> {
    let mut out = vec![0; quoted.len() + LANE];
    let len = unescape(quoted, 1, &mut out).len;
    out.truncate(len);
    out
}

/// WTF-8 for a message, as far as it is UTF-8.
pub fn readable(wtf8: &[u8]) -> &str {
    let len = str::from_utf8(wtf8).map_or_else(|error| error.valid_up_to(), str::len);
    str::from_utf8(&wtf8[..len]).unwrap_or_default()
}

/// What [`unescape`] has read and written.
pub struct Unescaped {
    /// Where the string ends, behind its quote.
    pub end: usize,
    /// Bytes written.
    pub len: usize,
    /// Whether an unpaired surrogate is among them.
    pub unpaired: bool,
}

/// Writes the inside of a checked JSON string as WTF-8 to the start of `out`, which has room for as
/// many bytes and a lane. `at` is behind the string's quote.
pub fn unescape(text: &[u8], mut at: usize, out: &mut [u8]) -> Unescaped {
    let (mut len, mut unpaired) = (0, false);
    while at < text.len() {
        // As in `escape_into`, a lane is copied before it is looked at.
        if let (Some((lane, _)), Some((target, _))) = (
            text[at..].split_first_chunk::<LANE>(),
            out.get_mut(len..).and_then(|rest| rest.split_first_chunk_mut::<LANE>()),
        ) {
            *target = *lane;
            let mask = lane_mask::<0xFF>(lane);
            let plain = if mask == 0 { LANE } else { mask.trailing_zeros() as usize };
            at += plain;
            len += plain;
            if mask == 0 {
                continue;
            }
        }
        let Some(&b) = text.get(at) else { break };
        at += 1;
        if b == b'"' {
            break;
        }
        let mut byte = b;
        if b == b'\\' {
            byte = UNESCAPED[usize::from(text.get(at).copied().unwrap_or(b))];
            at += 1;
            if byte == 0 {
                let mut unit = hex4(text, at);
                at += 4;
                if unit & 0xFC00 == 0xD800 && text.get(at..at + 2) == Some(b"\\u") {
                    let low = hex4(text, at + 2);
                    if low & 0xFC00 == 0xDC00 {
                        at += 6;
                        unit = 0x10000 + ((unit & 0x3FF) << 10) + (low & 0x3FF);
                    }
                }
                unpaired |= unit & !0x7FF == 0xD800;
                len += put_code_point(unit, out.get_mut(len..).unwrap_or_default());
                continue;
            }
        }
        if let Some(slot) = out.get_mut(len) {
            *slot = byte;
            len += 1;
        }
    }
    Unescaped { end: at, len, unpaired }
}

#[inline(never)]
fn hex4(text: &[u8], at: usize) -> u32 {
    let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0);
    text.get(at..at + 4).unwrap_or_default().iter().fold(0, |n, &b| n << 4 | digit(b))
}

/// Writes the bytes of a code point; how many.
#[inline(never)]
fn put_code_point(c: u32, out: &mut [u8]) -> usize {
    let len = match c {
        0..0x80 => 1,
        0x80..0x800 => 2,
        0x800..0x10000 => 3,
        _ => 4,
    };
    for (i, slot) in out.iter_mut().take(len).enumerate() {
        let bits = c >> (6 * (len - 1 - i));
        *slot = match (i, len) {
            (0, 1) => bits as u8,
            (0, _) => (0xF00 >> len | bits) as u8,
            _ => 0x80 | bits as u8 & 0x3F,
        };
    }
    len
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends the JSON string of a WTF-8 text, spelt exactly as `JSON.stringify` spells it: short
/// escapes where JSON has them, lower-case `\u00xx` for other controls and `\udxxx` for unpaired
/// surrogates, everything else as it is.
pub fn encode(wtf8: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + escaped_room(wtf8.len()), 0);
    let len = escape_into(wtf8, &mut out[start..]);
    out.truncate(start + len);
    out.push(b'"');
}

/// What [`escape_into`] wants to have for a text of `len` bytes.
pub fn escaped_room(len: usize) -> usize {
    len * 6 + LANE
}

/// Writes the inside of a text's JSON string to the start of `out`, which is [`escaped_room`] long,
/// and returns its length.
///
/// A lane is copied before it is looked at: what stands in it before the first special byte is then
/// written already, and moving one vector costs less than a copy of just the right length.
pub fn escape_into(wtf8: &[u8], out: &mut [u8]) -> usize {
    let (mut at, mut end) = (0, 0);
    while at < wtf8.len() {
        if let (Some((lane, _)), Some((target, _))) =
            (wtf8[at..].split_first_chunk::<LANE>(), out[end..].split_first_chunk_mut::<LANE>())
        {
            *target = *lane;
            let mask = lane_mask::<0xED>(lane);
            let plain = if mask == 0 { LANE } else { mask.trailing_zeros() as usize };
            at += plain;
            end += plain;
            if mask == 0 {
                continue;
            }
        }
        let b = wtf8[at];
        let short = SHORT_ESCAPES[usize::from(b)];
        if short != 0 {
            out[end] = b'\\';
            out[end + 1] = short;
            end += 2;
            at += 1;
        } else if b < 0x20 {
            end += unit_escape(u16::from(b), &mut out[end..]);
            at += 1;
        } else if b == 0xED && is_surrogate(wtf8, at) {
            let unit = 0xD000 | u16::from(wtf8[at + 1] & 0x3F) << 6 | u16::from(wtf8[at + 2] & 0x3F);
            end += unit_escape(unit, &mut out[end..]);
            at += 3;
        } else {
            out[end] = b;
            end += 1;
            at += 1;
        }
    }
    end
}

/// For each byte the letter of its two-character escape, or 0.
const SHORT_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[8] = b'b';
    table[12] = b'f';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\t' as usize] = b't';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

fn unit_escape(unit: u16, out: &mut [u8]) -> usize {
    let digit = |shift: u16| HEX[(unit >> shift & 15) as usize];
    out[..6].copy_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
    6
}

/// Whether the three bytes at `at` are an encoded surrogate (`ED A0..BF xx`).
#[inline]
fn is_surrogate(wtf8: &[u8], at: usize) -> bool {
    wtf8[at] == 0xED && wtf8.get(at + 1).is_some_and(|&b| b >= 0xA0) && at + 2 < wtf8.len()
}

/// Whether UTF-8 text may stand inside a JSON string as it is.
pub fn is_clean(text: &[u8]) -> bool {
    find_special::<0xFF>(text, 0) == text.len()
}

/// Whether UTF-8 text holds U+FFFD.
pub fn has_replacement(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = find_byte::<0xEF>(text, at) {
        if text[found..].starts_with(b"\xEF\xBF\xBD") {
            return true;
        }
        at = found + 1;
    }
    false
}

/// The first `BYTE` at or after `at`. Lanes are compared without a branch per byte, which compilers
/// turn into one vector comparison.
#[inline(always)]
pub fn find_byte<const BYTE: u8>(text: &[u8], mut at: usize) -> Option<usize> {
    while let Some((lane, _)) = text.get(at..).and_then(|rest| rest.split_first_chunk::<LANE>()) {
        if lane.iter().fold(false, |hit, &b| hit | (b == BYTE)) {
            break;
        }
        at += LANE;
    }
    text.get(at..)?.iter().position(|&b| b == BYTE).map(|i| at + i)
}

/// Appends a checked value without white space and with every string spelt as `JSON.stringify`
/// spells it; numbers keep their text. Texts made by `JSON.stringify` come out unchanged.
pub fn normalize(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(&b) = text.get(at) {
        match b {
            b'"' => {
                let end = string(text, at).unwrap_or(text.len());
                encode(&decode(&text[at..end]), out);
                at = end;
                continue;
            }
            _ if is_space(b) => {}
            _ => out.push(b),
        }
        at += 1;
    }
}

/// [`normalize`] to a new text.
pub fn normalized(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    normalize(text, &mut out);
    out
}

/// Appends bytes. Kept out of line: the places that are not hot are many, and the growth of a vector is long.
#[inline(never)]
pub fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

/// Appends a decimal integer.
pub fn push_integer(n: u64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 20];
    let at = write_integer(n, &mut buffer);
    out.extend_from_slice(&buffer[at..]);
}

/// Writes a decimal integer at the end of `buffer`; where it begins.
pub fn write_integer(mut n: u64, buffer: &mut [u8; 20]) -> usize {
    let mut at = buffer.len();
    // Nine digits at a time: divisions of 64 bits are several times slower, above all in wasm.
    while n > u64::from(u32::MAX) {
        let start = at - 9;
        at = write_digits((n % 1_000_000_000) as u32, buffer, at);
        buffer[start..at].fill(b'0');
        at = start;
        n /= 1_000_000_000;
    }
    write_digits(n as u32, buffer, at)
}

fn write_digits(mut n: u32, buffer: &mut [u8; 20], end: usize) -> usize {
    let mut at = end;
    loop {
        at -= 1;
        buffer[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return at;
        }
    }
}
