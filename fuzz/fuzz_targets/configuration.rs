//! Files of settings.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench::fuzzing::configuration(octets));
