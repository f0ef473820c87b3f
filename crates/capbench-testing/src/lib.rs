//! What the tests of every crate share. No program depends on it.
//!
//! - [`corpus`]: the committed files of the fuzz targets
//! - [`stacks`]: random stacks of headers, and what tshark must show of them
//! - [`skip`]: the one place where a test says that it, or a part of it, is not run
//! - [`http`]: requests to an HTTP server
//! - [`load`]: whether other processes kept the CPUs busy while a test ran
//! - [`network`]: network namespaces, and the programs that work in them
//! - [`schema`]: the schemas of types, held against the files in `docs/`
//! - [`scratch`]: folders that tests write into
//! - `tls`: a certificate authority, what it signs, and a client (feature `tls`)

#![forbid(unsafe_code)]

pub mod corpus;
pub mod http;
pub mod load;
pub mod network;
pub mod schema;
pub mod scratch;
pub mod skip;
pub mod stacks;
#[cfg(feature = "tls")]
pub mod tls;

pub use corpus::replay;
pub use load::HostLoad;
pub use scratch::{Scratch, scratch_file};
pub use skip::{HostLimit, busy, cannot_have, missing, other_step};
