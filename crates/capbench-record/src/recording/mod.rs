//! Recording: captures of one or several interfaces to files, in threads, with an account of every packet.
//!
//! | file | what |
//! |---|---|
//! | [`plan`] | what is recorded, how, and to where |
//! | [`session`] | opening, starting, asking and ending a recording |
//! | `capturing` | the thread of a capture: opens it, and runs the loop of a source |
//! | `source` | that loop: it takes frames until the end, and then what is left in the ring |
//! | `giving` | batches of a source go on to other threads: several captures, or workers |
//! | `working` | workers that encode batches, and give them back |
//! | `encoded` | batches that they encoded |
//! | `gaps` | what was lost in front of workers, and with them |
//! | `merging` | records all frames in the order of their times |
//! | `merging/one` | those of one capture: encoded where they are in the ring, or its blocks written from there |
//! | `merging/many` | those of several captures, or of workers, by a heap in a thread |
//! | `capture_side` | an open capture next to its frames: counters, status of the interface, end of the capture |
//! | `encoding` | the format of the files |
//! | `file_recorder` | writes frames and statistics to the output, each with its drop count |
//! | `hold_up` | frames that wait in their ring while the writer has no room |
//! | `losses` | before which frame a drop count is recorded |
//! | `board` | status and requests that the threads share |
//! | `link` | what the interface itself counted |
//! | `unreached` | frames that the interface received and that did not reach the socket |
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
//! A ring's occupancy changes faster than anybody reads it. Captures read it between two batches, when asked, and keep the
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
