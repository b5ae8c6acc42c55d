#![no_main]

#[path = "../../crates/store/tests/all/common/packed.rs"]
mod packed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| packed::squashfs(data));
