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
//! | `entrance` | what a method can do besides giving frames: marks, counters, an interface that goes and comes |
//! | `encoding` | the format of the files |
//! | `scribe` | frames and statistics into the output, each with what was lost before it |
//! | `hold_up` | frames that wait in their ring while the writer has no room |
//! | `losses` | how many frames were lost, and before which one that is said |
//! | `board` | what the threads tell while they run, and what they are told |
//! | `link` | what the interface itself counted |
//! | `unreached` | frames that it received and that never reached the socket |
//! | [`account`] | what became of every packet |
//!
//! Where a loss stands: a V3 ring marks the first block, V1 and V2 rings the first frame, that came after frames were lost.
//! The counters are then read at once, and the number stands with that frame. What was lost again until that moment stands
//! there, too. Methods without marks have their counters read once a second, or with each batch where several captures are
//! merged, and the number stands with the next frame: its place is only that precise. Frames that the writer refused stand with the next frame of
//! their interface in the file, and those of batches that workers lost with the first frame of the capture's next batch.
//!
//! How full a ring is changes faster than anybody reads it: captures look when they are asked to, between two batches, and
//! the fullest that they saw is kept.

pub mod account;
mod board;
mod capturing;
mod encoded;
mod encoding;
mod entrance;
mod gaps;
mod giving;
mod hold_up;
mod link;
mod losses;
mod merging;
pub mod plan;
mod scribe;
pub mod session;
mod source;
mod unreached;
mod working;

pub use account::{Account, InterfaceAccount};
pub use plan::{Plan, Source, Workers};
pub use session::{AccountRequest, End, Finished, Opened, Session};
