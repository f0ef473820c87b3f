//! Capture files, as verify reads them.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_lab::fuzzing::recorded(octets));
