//! Settings that `tune` has saved.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_tune::fuzzing::tune_state(octets));
