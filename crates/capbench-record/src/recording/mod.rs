//! Recording: captures of one or several interfaces to files, in threads, with an account of every packet.
//!
//! | file | what |
//! |---|---|
//! | [`plan`] | options: sources, format, output |
//! | [`session`] | opens, starts, queries and ends a recording |
//! | `capturing` | the thread of a capture: opens it and runs its loop |
//! | `source` | that loop: reads frames until the end, then drains the ring |
//! | `giving` | passes batches to the merge or to workers |
//! | `working` | workers that encode batches and return them |
//! | `encoded` | batches that workers encoded |
//! | `gaps` | frames of batches that were lost at workers |
//! | `merging` | records frames in time order |
//! | `merging/one` | one capture: encodes frames in the ring, or writes its blocks straight from there |
//! | `merging/many` | several captures, or workers: a heap in a thread |
//! | `capture_side` | an open capture without its frames: counters, status of the interface, end |
//! | `encoding` | the format of the files |
//! | `file_recorder` | writes frames and statistics to the output, each with its drop count |
//! | `hold_up` | frames that wait in their ring while the writer has no room |
//! | `losses` | decides which frame gets a drop count |
//! | `board` | status and requests that the threads share |
//! | `link` | the interface's counters |
//! | `unreached` | frames that the interface received and the socket never got |
//! | [`account`] | what became of every packet |
//!
//! Which frame gets a drop count:
//! - V3 rings mark the first block after a loss, V1 and V2 rings the first frame. The recorder then reads the counters at once
//!   and records the number with that frame. Frames that were lost between the mark and the reading are part of that number.
//! - Methods without marks: the recorder reads their counters once a second, or with each batch where it merges several captures.
//!   The number is recorded with the next frame, so its position is only that precise.
//! - Frames that the writer refused are reported by the next frame of their interface in the file.
//! - Frames of batches that workers lost are reported by the first frame of the capture's next batch.
//!
//! A ring's occupancy changes faster than anybody can read it. Captures read it between two batches, when asked, and keep the
//! highest value.

pub mod account;
mod board;
mod capture_side;
mod capturing;
mod encoded;
mod encoding;
mod file_recorder;
mod gaps;
mod giving;
mod hold_up;
mod link;
mod losses;
mod merging;
pub mod plan;
pub mod session;
mod source;
mod unreached;
mod working;

pub use account::{Account, InterfaceAccount};
pub use plan::{Plan, Source, Workers};
pub use session::{AccountRequest, End, Finished, Opened, Session};
