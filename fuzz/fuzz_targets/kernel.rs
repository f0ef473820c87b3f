//! Texts of /proc and answers of netlink.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_measure::fuzzing::kernel(octets));
