//! The answers of an agent, as a controller reads them.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_agent::fuzzing::controller(octets));
