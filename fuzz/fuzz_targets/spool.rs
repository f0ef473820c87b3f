//! Reports that an agent left for the next one.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_agent::fuzzing::spool(octets));
