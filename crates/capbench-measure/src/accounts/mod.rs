//! What the kernel and the CPUs did during a trial.
