//! Packet files, with the first frames of each.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_frames::fuzzing::packet_file(octets));
