//! Plans, the paths that they run on, and results.
//!
//! | module | what |
//! |---|---|
//! | [`trial`], [`laboratory`] | the seams: one load for one duration, and where it runs |
//! | [`live`], [`simulated`] | the two paths: a real one, and one that is computed |
//! | [`guards`] | what keeps a bad trial from counting: probes, repeats, marks |
//! | [`subject`], [`programs`] | what is under test: a capture method, or another program |
//! | [`receiver`], [`work`] | the application of a trial: verifies every frame and does its work |
//! | [`mod@mark`] | a trial's frames, for methods that count them in the kernel |
//! | [`evidence`], [`loss_shape`] | how the ledger is booked from counters; when and how many frames at a time were lost |
//! | [`limit`] | what kept a method from more |
//! | [`latency`] | how long frames took to the application |
//! | [`session`], [`mod@bench`] | trials one after the other; the plan of the main job |
//! | [`cost`] | what trials will take, before they run |
//! | [`search`] | the highest load that is held, by goals of the standards or of one's own |
//! | [`soak`] | one load for minutes to days |
//! | [`sweep`] | one thing varied: work, frame size, ring, placement or load |
//! | [`recorded`] | what capture files hold of the frames of trials |
//! | [`reproduction`] | experiments of publications, run again beside their published tables |
//! | [`rfc2544`] | latency, frame loss rate, back-to-back frames, system recovery |
//! | [`comparison`], [`compare`] | methods that took turns, and two runs: what changed by more than chance |
//! | [`bursts`] | the longest burst without loss, for both of them |
//! | [`results`] | what is saved |
//! | `for_tests` | what tests of runs share, with the feature `testing` |

#![forbid(unsafe_code)]

pub mod bench;
pub mod bursts;
pub mod compare;
pub mod comparison;
pub mod cost;
mod error;
pub mod evidence;
#[cfg(any(test, feature = "testing"))]
pub mod for_tests;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod guards;
pub mod laboratory;
pub mod latency;
pub mod limit;
pub mod live;
pub mod loss_shape;
pub mod mark;
mod order;
pub mod percent;
pub mod programs;
pub mod receiver;
pub mod recorded;
mod rehearsal;
pub mod reproduction;
pub mod results;
pub mod rfc2544;
pub mod search;
pub mod session;
pub mod simulated;
pub mod soak;
pub mod subject;
pub mod sweep;
pub mod trial;
pub mod work;

pub use error::{MeasureError, Result};
