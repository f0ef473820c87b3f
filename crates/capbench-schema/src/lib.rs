//! `schemars` where tests write and check JSON Schemas (feature `schema`), and a derive of its name that adds nothing where the
//! program is built. Other crates depend on it by the name `schemars`.

#![forbid(unsafe_code)]

#[cfg(not(feature = "schema"))]
pub use capbench_no_schema::JsonSchema;
#[cfg(feature = "schema")]
pub use schemars::*;
