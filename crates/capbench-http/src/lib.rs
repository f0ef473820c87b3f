//! A small HTTP server: one thread, a few connections, small requests. What it answers is the caller's.
//!
//! | file | content |
//! |---|---|
//! | [`server`] | the port, bounded in connections, size and time |
//! | [`access`] | certificates and passwords, read again when their files change |
//! | `web_config` | Prometheus' web configuration file |

#![forbid(unsafe_code)]

pub mod access;
mod error;
pub mod server;
mod web_config;

pub use access::Protection;
pub use error::{HttpError, Result};
pub use server::{Answer, Port, Report, body, text};

pub use http_body_util::Full;
pub use hyper::body::{Bytes, Incoming};
pub use hyper::{Method, Request, Response, StatusCode, header};
