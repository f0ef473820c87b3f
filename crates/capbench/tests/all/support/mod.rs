//! What the end-to-end tests share.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

pub mod process;
pub mod recording;
pub mod results_file;
pub mod saved;
pub mod scratch;
pub mod setting;
pub mod still;
pub mod why;

pub use capbench_testing::network::{Namespaces, PATIENCE, Place, eventually, lossy, privileges, program};
pub use process::{Ended, Running, capbench, run, signal};
pub use recording::{File, Recording};
pub use scratch::{NOBODY, Scratch, Tmpfs};
pub use setting::Setting;
pub use still::Still;
