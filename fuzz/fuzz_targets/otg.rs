//! The bodies of requests to the OTG server.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_otg::fuzzing::request(octets));
