//! Filter programs of a file, and the frames that they run on.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_capture::fuzzing::filter(octets));
