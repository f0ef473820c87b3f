//! Threads, CPUs, clocks, namespaces and interfaces.
pub mod interface;
