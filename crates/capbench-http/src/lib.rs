//! A small HTTP server: one thread, a few connections, small requests. What it answers is the caller's. And a client of other servers.
//!
//! | file | content |
//! |---|---|
//! | [`server`] | the port, bounded in connections, size and time |
//! | `connections` | who has a place, who waits for one, and who loses it |
//! | `progress` | notes when a client reads its answer: completed writes, and what its kernel acknowledges |
//! | `host_name` | whether a request names this host |
//! | `answer_body` | the body of an answer, whole or in parts |
//! | [`access`] | certificates and passwords, read again when their files change |
//! | `web_config` | Prometheus' web configuration file |
//! | [`client`] | a client: one request after another |
//! | [`http_config`] | Prometheus' HTTP configuration file, for clients |
//! | `pem` | certificates and keys from files |

#![forbid(unsafe_code)]

pub mod access;
mod answer_body;
pub mod client;
mod connections;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod host_name;
pub mod http_config;
mod pem;
mod progress;
pub mod server;
mod web_config;

pub use access::Protection;
pub use answer_body::{AnswerBody, Parts};
pub use client::{Client, Reply};
pub use connections::Turn;
pub use error::{HttpError, Result};
pub use http_config::HttpConfig;
pub use server::{Answer, Port, Report, body, text};

pub use hyper::body::{Body, Bytes, Incoming};
pub use hyper::{Method, Request, Response, StatusCode, header};
