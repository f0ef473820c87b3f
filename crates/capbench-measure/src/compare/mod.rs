//! Two saved runs compared by the set-ups that they have in common.
//!
//! | file | what |
//! |---|---|
//! | `runs` | the comparison |
//! | `samples` | the figures of a run by set-up, and what is left out |
//! | `circumstances` | in what the runs differ besides what was compared |
//! | `document` | what `capbench compare --json` prints |

mod circumstances;
mod document;
mod runs;
mod samples;
#[cfg(test)]
mod tests;

pub use document::{Document, NamedRun, SCHEMA_VERSION};
pub use runs::of_runs;
