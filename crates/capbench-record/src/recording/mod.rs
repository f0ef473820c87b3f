//! Recording: captures of one or several interfaces to files, in threads, with an account of every packet.
//!
//! | file | what |
//! |---|---|
//! | [`plan`] | options: sources, format, output |
//! | [`session`] | opens, starts, queries and ends a recording |
//! | `capturing` | the thread of a capture: opens it and runs its loop |
//! | `capture_loop` | that loop: reads frames until the end, then drains the ring |
//! | `alone` | records a single capture: encodes frames in the ring, or writes its blocks straight from there |
//! | `dispatch` | passes batches of a capture to the merge or to workers |
//! | `workers` | workers that encode batches and pass them to the merge |
//! | `encoded` | a batch whose frames are encoded |
//! | `merging` | records the frames of several captures in time order: a heap in a thread |
//! | `capture_side` | an open capture without its frames: counters, status of the interface, end |
//! | `file_recorder` | writes frames and statistics to the output, each with its drop count |
//! | `losses` | decides which frame gets a drop count |
//! | `board` | status and requests that the threads share |
//! | `link` | the interface's counters |
//! | `unreached` | frames that the interface received and the socket never got |
//! | [`account`] | what became of every packet |
//! | [`ledger`] | the same as rows, and what is lost |
//! | [`document`] | the same as data, for `record --json` |
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
mod alone;
mod board;
mod capture_loop;
mod capture_side;
mod capturing;
mod dispatch;
pub mod document;
mod encoded;
mod file_recorder;
pub mod ledger;
mod link;
mod losses;
mod merging;
pub mod plan;
pub mod session;
mod unreached;
mod workers;

pub use account::{Account, InterfaceAccount, Missing};
pub use file_recorder::FrameToEncode;
pub use plan::{Plan, Source, Workers};
pub use session::accounting::AccountRequest;
pub use session::{End, Finished, Opened, Session};
