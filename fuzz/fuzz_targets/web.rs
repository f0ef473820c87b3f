//! Configurations of an HTTP server and of a client, in YAML.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_http::fuzzing::configuration(octets));
