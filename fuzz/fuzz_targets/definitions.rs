//! Definitions of programs and of search goals.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    capbench_lab::fuzzing::definitions(octets);
    capbench_judge::fuzzing::goals(octets);
});
