//! Which frames are wanted: a classic BPF program, checked as the kernel checks it.

pub mod check;
pub mod operation;
pub mod program;

pub use program::{Expression, Filter, read_program};
