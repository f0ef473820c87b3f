//! The beginning of a file that is to be opened as a library.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_sys::fuzzing::library(octets));
