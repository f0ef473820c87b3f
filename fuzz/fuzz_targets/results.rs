//! Results files: read whole or in part, reported in every format, compared.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_report::fuzzing::results(octets));
