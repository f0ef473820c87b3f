//! Capture files: pcapng, pcap and verbatim.

#![no_main]
#![forbid(unsafe_code)]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| capbench_record::fuzzing::capture_file(octets));
