//! The target `heavy` in libFuzzer.
#![no_main]
#![allow(unsafe_code, missing_docs, reason = "libFuzzer calls the function that the macro makes")]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    nodesift_fuzz::targets::heavy::run(input);
});
