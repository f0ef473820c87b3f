//! Messages to the engine of a port of the OTG server, and its answers.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_otg::fuzzing::message(octets));
