//! The tests of a set-up one after the other: the search for its throughput (RFC 2544 26.1), then the tests that depend on it. A
//! test that is meaningless with these rates is skipped, and its reason is reported: which tests run is decided here alone.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use capbench_frames::rates::Pps;

use super::frame_loss::COARSEST;
use super::{BackToBackTest, FrameLossTest, LatencyTest, RecoveryTest};
use crate::Observer;
use crate::search::{self, Stored};
use crate::{PlanError, Result};
use capbench_judge::bursts::Percent;
use capbench_judge::rfc2544::{Ended, Found, MaximumRate, NotTested, Tested};
use capbench_judge::search::{End, MaximumSource, Reason, SearchOutcome, SearchPlan, Status};
use capbench_judge::thresholds::CLOCKS_DIFFERENCE;
use capbench_model::TrialError;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::Load;

/// A test that depends on the throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// 26.2
    Latency,
    /// 26.3
    FrameLoss,
    /// 26.4
    BackToBack,
    /// 26.5
    Recovery,
}

/// Durations and repetitions of the tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Length of a trial, of an overload before recovery, and of the observation after it. Latency takes twice that.
    pub trial: Duration,
    /// Trials of latency.
    pub latency: u32,
    /// Difference of successive loads of frame loss, as a share of the maximum rate.
    pub step: Percent,
    /// Searches for the longest burst.
    pub bursts: NonZeroU32,
    /// Maximum duration of a burst.
    pub longest_burst: Duration,
    /// Minimum idle time of the path before a burst.
    pub depletion: Duration,
    /// Overloads.
    pub recovery: u32,
}

/// The origin of the throughput.
#[derive(Clone, Debug, PartialEq)]
pub enum Throughput {
    /// It is known, and so is the maximum rate.
    Given {
        /// The throughput.
        throughput: Pps,
        /// The maximum rate; unused by tests that do not need it ([`Test::needs_maximum`]).
        maximum: Pps,
    },
    /// The first goal of a plan determines it by a search.
    Search(SearchPlan),
}

/// Tests of one set-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The tests other than throughput, in this order.
    pub tests: Vec<Test>,
    /// Durations and repetitions.
    pub extent: Extent,
    /// The throughput that they depend on.
    pub throughput: Throughput,
}

/// The rates on which tests depend.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    pub(super) throughput: Pps,
    pub(super) maximum: MaximumRate,
    /// The quality of the search's result; absent if the user gave the throughput.
    pub(super) status: Option<Status>,
    /// Why it is not a throughput; absent if it is.
    pub(super) reason: Option<Reason>,
}

impl Test {
    /// Its name in results.
    pub fn key(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::FrameLoss => "frame-loss",
            Self::BackToBack => "back-to-back",
            Self::Recovery => "recovery",
        }
    }

    /// Whether it also depends on the maximum rate.
    pub fn needs_maximum(self) -> bool {
        self != Self::Latency
    }

    /// Whether it offers more than the throughput. Such a test needs a maximum rate above the throughput.
    fn overloads(self) -> bool {
        matches!(self, Self::BackToBack | Self::Recovery)
    }

    /// Whether the load of this test is possible: an overload is below the maximum rate. Buffers do not fill at a rate at which they
    /// are read (RFC 9004).
    pub fn is_possible(self, throughput: Pps, maximum: Pps) -> bool {
        !self.overloads() || throughput.get() < maximum.get() * (1.0 - CLOCKS_DIFFERENCE)
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

impl Extent {
    /// The parameters that the standards require. They specify no number for recovery.
    pub fn standard() -> Self {
        let seconds = Duration::from_secs;
        Self {
            trial: seconds(60),
            latency: 20,
            step: COARSEST,
            bursts: NonZeroU32::MIN.saturating_add(49),
            longest_burst: seconds(30),
            depletion: seconds(2),
            recovery: 1,
        }
    }

    /// The parameters of a first look.
    pub fn quick() -> Self {
        Self {
            trial: Duration::from_secs(1),
            latency: 3,
            bursts: NonZeroU32::MIN.saturating_add(2),
            longest_burst: Duration::from_secs(2),
            depletion: Duration::from_millis(200),
            recovery: 3,
            ..Self::standard()
        }
    }
}

impl Suite {
    /// Runs the suite. Returns whether the user stopped it. Fails for a plan that contradicts itself, or if a save fails.
    pub fn run(
        &self,
        setup: &Setup,
        laboratory: &mut dyn Laboratory,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let rates = match &self.throughput {
            Throughput::Given { throughput, maximum } => Some(Rates::given(*throughput, *maximum)),
            Throughput::Search(plan) => match search_throughput(plan, setup, laboratory, observer)? {
                Searched::Rates(rates) => rates,
                Searched::NotRun => return Ok(false),
                Searched::Stopped => return Ok(true),
            },
        };
        for &test in &self.tests {
            let Some(rates) = &rates else {
                observer.passes_over(setup, test.key(), NotTested::NoThroughput);
                continue;
            };
            if let Some(because) = rates.refuse(test) {
                observer.passes_over(setup, test.key(), because);
                continue;
            }
            match test.run(&self.extent, rates, setup, laboratory, &mut *observer) {
                Ok(tested) => {
                    let stopped = *tested.found.ended() == Ended::Stopped;
                    observer.tested(tested)?;
                    if stopped {
                        return Ok(true);
                    }
                }
                Err(PlanError::Trial(TrialError::Unsupported { reason, .. })) => {
                    observer.passes_over(setup, test.key(), NotTested::Unsupported { reason })
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

/// What the search for the throughput ended with.
enum Searched {
    /// The rates; absent if no throughput was found.
    Rates(Option<Rates>),
    /// The set-up could not be measured.
    NotRun,
    /// The user stopped it.
    Stopped,
}

fn search_throughput(
    plan: &SearchPlan,
    setup: &Setup,
    laboratory: &mut dyn Laboratory,
    observer: &mut dyn Observer,
) -> Result<Searched> {
    let what = format!("{}, {} B, {}, throughput", setup.method, setup.label(), setup.placement);
    let outcome = match laboratory.prepare(setup) {
        Ok(mut trial) => search::run(plan, &what, trial.as_mut(), Stored::default(), &mut *observer)?.outcome,
        Err(error) => {
            observer.skips(setup, Load::Maximum, &error);
            return Ok(Searched::NotRun);
        }
    };
    let rates = Rates::found(&outcome)?;
    let is_stopped = outcome.ended == End::Stopped;
    observer.searched(outcome)?;
    Ok(if is_stopped { Searched::Stopped } else { Searched::Rates(rates) })
}

impl Rates {
    pub(super) fn given(throughput: Pps, maximum: Pps) -> Self {
        let maximum = MaximumRate { pps: maximum, source: MaximumSource::Given };
        Self { throughput, maximum, status: None, reason: None }
    }

    /// What a search finds where the maximum rate is sustained.
    pub(super) fn sustained_at(maximum: Pps) -> Self {
        let limit = MaximumSource::Generator;
        Self {
            throughput: maximum,
            maximum: MaximumRate { pps: maximum, source: limit },
            status: Some(Status::AtLeast),
            reason: Some(Reason::MaximumLoad { limit }),
        }
    }

    /// The rates that a search found; `None` if its throughput is not settled.
    fn found(outcome: &SearchOutcome) -> Result<Option<Self>> {
        let Some(maximum) = &outcome.maximum else { return Ok(None) };
        let settled = outcome.goals.first().filter(|goal| goal.status != Status::Irregular);
        let Some(goal) = settled else { return Ok(None) };
        let Some(lower) = &goal.lower else { return Ok(None) };
        Ok(Some(Self {
            throughput: Pps::new(lower.achieved_pps)?,
            maximum: maximum.into(),
            status: Some(goal.status),
            reason: goal.reason.clone(),
        }))
    }

    /// Why a test is meaningless with these rates: no load is known to be an overload, or none is.
    pub(super) fn refuse(&self, test: Test) -> Option<NotTested> {
        let Self { throughput, maximum, .. } = *self;
        if let (true, Some(Status::AtLeast), Some(reason)) = (test.overloads(), self.status, &self.reason) {
            return Some(NotTested::NoOverloadKnown {
                sustained_pps: throughput.get(),
                reason: reason.clone(),
            });
        }
        let is_possible = test.is_possible(throughput, maximum.pps);
        (!is_possible).then_some(NotTested::NoOverload { throughput_pps: throughput.get(), maximum })
    }
}

impl Test {
    /// Runs the test with these rates.
    pub(super) fn run(
        self,
        extent: &Extent,
        rates: &Rates,
        setup: &Setup,
        laboratory: &mut dyn Laboratory,
        observer: &mut dyn Observer,
    ) -> Result<Tested> {
        let Rates { throughput, maximum, status, .. } = *rates;
        Ok(match self {
            Self::Latency => {
                let test = LatencyTest {
                    rate: throughput,
                    duration: 2 * extent.trial,
                    from: extent.trial,
                    repetitions: extent.latency,
                };
                test.run(setup, laboratory, observer)?.tested(Found::Latency, setup, status)
            }
            Self::FrameLoss => {
                let test = FrameLossTest { maximum, step: extent.step, duration: extent.trial };
                test.run(setup, laboratory, observer)?.tested(Found::FrameLoss, setup, status)
            }
            Self::BackToBack => {
                let mut test = BackToBackTest::standard(maximum, throughput);
                test.repetitions = extent.bursts;
                (test.search.limit, test.search.depletion) = (extent.longest_burst, extent.depletion);
                test.run(setup, laboratory, observer)?.tested(Found::BackToBack, setup, status)
            }
            Self::Recovery => {
                let test = RecoveryTest {
                    overloaded: extent.trial,
                    observed: extent.trial,
                    repetitions: extent.recovery,
                    ..RecoveryTest::standard(throughput, maximum)
                };
                test.run(setup, laboratory, observer)?.tested(Found::Recovery, setup, status)
            }
        })
    }
}
