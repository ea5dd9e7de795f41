#![no_main]

#[path = "../../common/fuzz.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::records(input));
