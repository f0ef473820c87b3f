//! Filter expressions, compiled by libpcap on the loopback interface.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_capture::fuzzing::expression(octets));
