//! Rules that the source of every crate keeps, and the documentation with it.
//!
//! | file | what |
//! |---|---|
//! | `arrows` | the crates use each other one way |
//! | `cycles` | so do the modules of a crate |
//! | `facts` | words are made by reports only, numbers that decide are in one table; with `sentences`, `texts`, `taken_apart`, `numbers` |
//! | `documentation` | links and paths lead somewhere |
//! | `files` | reads the source |

mod arrows;
mod cycles;
mod documentation;
mod facts;
mod files;
mod numbers;
mod sentences;
mod taken_apart;
mod texts;
