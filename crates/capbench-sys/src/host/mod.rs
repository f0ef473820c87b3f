//! Threads, CPUs, clocks, namespaces and interfaces.
