//! What capture programs print at their end.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_lab::fuzzing::program_report(octets));
