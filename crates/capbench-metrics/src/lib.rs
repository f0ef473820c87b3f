//! Counters for Prometheus: over HTTP for a scraper, or in a file for node_exporter's textfile collector.
//!
//! | file | content |
//! |---|---|
//! | [`families`] | every metric with its name, kind, labels and meaning |
//! | [`series`] | the values, and their two text forms |
//! | [`watching`] | the metrics of `why` from its windows of 100 ms |
//! | [`capturing`] | the metrics of one capture: `count`, `record`, `soak` |
//! | [`server`] | HTTP, bounded in connections, size and time |
//! | `access` | certificates and passwords, read again when their files change |
//! | `web_config` | Prometheus' web configuration file |
//! | [`textfile`] | the file for node_exporter |

#![forbid(unsafe_code)]

mod access;
pub mod capturing;
mod error;
pub mod families;
pub mod series;
pub mod server;
pub mod textfile;
pub mod watching;
mod web_config;

pub use error::{MetricsError, Result};
pub use families::Family;
pub use series::{Form, Labels, Metrics};
