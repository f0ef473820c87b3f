//! A generator that others make: any that the Open Traffic Generator API drives. It is an end of a trial as an agent is; its counts
//! are its own, and nobody verifies them.
//!
//! | file | what |
//! |---|---|
//! | `api` | the requests of the API |
//! | `packet` | capbench's frames as headers of the model |
//! | `server` | a server as the generators on its ports share it |
//! | `generator` | the generator, and the end of a trial that it is |

mod api;
mod generator;
mod packet;
mod server;
#[cfg(test)]
mod tests;

#[cfg(any(test, fuzzing))]
pub(crate) use api::read_any;
pub use generator::{OtgGenerator, OtgSender, OtgServers};
