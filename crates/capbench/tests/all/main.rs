//! The program from end to end. All in one binary: linking one takes less time than linking one for each file.

#[path = "../../../capbench-report/tests/reports/runs/mod.rs"]
mod runs;
mod support;

#[cfg(all(feature = "otg", feature = "metrics"))]
mod abusive_clients;
mod agents;
mod agents_hostile;
mod agents_lost;
mod agents_random;
mod bench;
mod campaign;
mod clocks;
mod compare;
mod configuration;
mod count_members;
mod counts;
mod extcap;
mod foreign_code;
mod foreign_folders;
mod generate;
mod generators;
mod hostile;
mod ip_links;
mod libpcap;
mod memory_limits;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "otg")]
mod otg;
#[cfg(feature = "otg")]
mod otg_abuse;
#[cfg(feature = "otg")]
mod otg_generator;
#[cfg(feature = "otg")]
mod otg_remote;
mod packet_files;
mod privileges;
mod programs;
mod reader_memory;
mod record;
mod record_accounts;
mod record_ends;
mod record_files;
mod record_losses;
mod record_octets;
mod record_ports;
mod record_refusals;
mod record_retention;
mod record_slots;
mod record_verbatim;
mod record_workers;
mod replay;
mod report;
mod reproduce;
mod results_file;
mod rfc2544;
mod search;
mod soak;
mod status;
mod stop;
mod sweep;
mod tune;
mod usage;
mod verify;
mod why;
mod why_causes;
mod why_ends;
#[cfg(all(feature = "bpf", feature = "metrics"))]
mod why_random;
mod why_remedies;
mod xdp_count;
mod xdp_in_front;
mod xdp_live;
