//! The answers of a generator that the Open Traffic Generator API drives.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_agent::fuzzing::generator(octets));
