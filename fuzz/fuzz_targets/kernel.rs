//! Texts of /proc and answers of netlink.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    capbench_host::fuzzing::kernel(octets);
    capbench_why::fuzzing::kernel(octets);
});
