//! The tests of RFC 2544 on paths whose answers are known.

mod back_to_back;
mod frame_loss;
mod guarded;
mod latency;
mod queue;
mod recovery;
mod suite;

use crate::for_tests::pps;
use capbench_judge::rfc2544::MaximumRate;
use capbench_judge::search::MaximumSource;
use capbench_model::laboratory::Setup;

fn maximum(rate: f64) -> MaximumRate {
    MaximumRate { pps: pps(rate), source: MaximumSource::Generator }
}

fn setup() -> Setup {
    capbench_model::for_tests::setup(64)
}
