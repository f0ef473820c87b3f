//! Files of a dataset.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_dataset::fuzzing::dataset(octets));
