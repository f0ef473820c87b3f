//! The calls of a controller, as an agent reads them.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_agent::fuzzing::agent(octets));
