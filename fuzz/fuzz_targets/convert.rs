//! Capture files, converted to pcapng and pcap.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_record::fuzzing::convert(octets));
