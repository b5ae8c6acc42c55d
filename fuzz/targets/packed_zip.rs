#![no_main]

#[path = "../../crates/store/tests/common/packed.rs"]
mod packed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| packed::zip(data));
