//! Counters for Prometheus: over HTTP for a scraper, or in a file for node_exporter's textfile collector.
//!
//! | file | content |
//! |---|---|
//! | [`families`] | every metric with its name, kind, labels and meaning |
//! | [`series`] | the values, and their two text forms |
//! | [`watching`] | the metrics of `why` from its windows of 100 ms |
//! | [`capturing`] | the metrics of one capture: `count`, `record`, `soak` |
//! | `server` | the page; capbench-http serves it |
//! | [`textfile`] | the file for node_exporter |

#![forbid(unsafe_code)]

pub mod capturing;
mod error;
pub mod families;
pub mod series;
mod server;
pub mod textfile;
pub mod watching;

pub use error::{MetricsError, Result};
pub use families::Family;
pub use series::{Form, Labels, Metrics};
