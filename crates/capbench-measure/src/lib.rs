//! Plans, the paths on which they run, and their results.
//!
//! | module | what |
//! |---|---|
//! | [`trial`], [`laboratory`] | the interfaces: one load for one duration, and the path on which it runs |
//! | [`live`], [`simulated`] | the two paths: a real one and a computed one |
//! | [`guards`] | detects bad trials: probes, repeats, marks |
//! | [`subject`], [`programs`] | what is under test: a capture method, or another program |
//! | [`receiver`], [`work`] | the application of a trial: verifies every frame and does the work per frame |
//! | [`mod@mark`] | the mark by which methods that count in the kernel recognise a trial's frames |
//! | [`evidence`], [`loss_shape`] | books the ledger from counters; when frames were lost, and how many in a row |
//! | [`limit`] | what limited a method |
//! | [`latency`] | the delay of frames until the application read them |
//! | [`session`], [`mod@bench`] | runs trials one after the other; the plan of the main job |
//! | [`cost`] | estimates the time and traffic of trials before they run |
//! | [`search`] | searches the highest sustained load, for goals of the standards or of the user |
//! | [`soak`] | one load for minutes to days |
//! | [`sweep`] | varies one thing: work, frame size, ring, placement or load |
//! | [`recorded`] | checks capture files for the frames of trials |
//! | [`reproduction`] | repeats experiments of publications and compares them with the published tables |
//! | [`rfc2544`] | latency, frame loss rate, back-to-back frames, system recovery |
//! | [`comparison`], [`compare`] | compares methods that took turns, and two runs: what changed by more than chance |
//! | [`bursts`] | the longest burst without loss, for [`comparison`] and [`compare`] |
//! | [`results`] | the saved results |
//! | `for_tests` | shared parts of tests of runs; needs the feature `testing` |

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
