//! Results files, as record reads them to choose a method.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench::fuzzing::auto(octets));
