//! Trials on real paths. All in one binary: linking one takes less time than linking one for each file.

mod disturbers;
mod excuse;
#[cfg(feature = "bpf")]
mod faults;
mod guards;
mod latency;
mod members;
#[cfg(feature = "bpf")]
mod places;
mod programs;
#[cfg(feature = "bpf")]
mod random_trials;
mod search;
mod sweeps;
mod threads;
#[cfg(feature = "bpf")]
mod tracer;
mod trials;
