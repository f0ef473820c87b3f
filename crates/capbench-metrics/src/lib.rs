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
//!
//! # To add
//!
//! - an alert: in `packaging/prometheus/capbench.rules.yml`, its tests next to it, its row in docs/monitoring.md.
//! - a panel: in `packaging/grafana/dashboard.py`, which then writes `capbench.json` anew.
//! - a metric: its row in `capbench-metrics/src/families.rs` and in docs/metrics.md; noted in `watching.rs` (`why`, from the
//!   windows of `capbench-why/src/window.rs`) or `capturing.rs` there, or in `capbench/src/metrics.rs` where it is of a run.

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
