//! `capbench rfc2544`: the tests of RFC 2544 section 26, each relative to the throughput that the first one finds.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Result;
use capbench_frames::{Pps, StatedRate};
use capbench_judge::bursts::Percent;
use capbench_judge::durations::{Planned, whole_run};
use capbench_judge::search::{Goal, SearchPlan, parse};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::SizeLabel;
use capbench_plan::cost::Spread;
use capbench_plan::rfc2544::back_to_back::FIRST;
use capbench_plan::rfc2544::frame_loss::COARSEST;
use capbench_plan::rfc2544::{self, Extent, Suite, Throughput};
use capbench_plan::search;
use capbench_results::Kind;
use clap::{Args, ValueEnum};

use super::recorder::Recorder;
use super::scene::{Defaults, Scene};
use super::scene_flags::{SceneFlags, once, otherwise};
use super::search::check_link;
use super::{Ended, Plan, words};
use crate::exit::{Exit, Usage};
use crate::flag_values::positive_duration;

/// The least number of frame sizes per test in section 9.1.
const SIZES: usize = 5;

/// The finest step of the frame loss test: a thousand loads.
const FINEST: f64 = 0.1;

/// A test of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Test {
    /// 26.1: the highest load without loss
    Throughput,
    /// 26.2, RFC 8219: median, 99.9th percentile and variation of the delay at the throughput
    Latency,
    /// 26.3: loss against load, from the maximum rate down
    FrameLoss,
    /// 26.4, RFC 9004: the longest burst without loss, and the time that buffers hold
    BackToBack,
    /// 26.5: how long after an overload frames are still lost
    Recovery,
}

impl Test {
    fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::FrameLoss => "frame loss rate",
            Self::BackToBack => "back-to-back frames",
            Self::Recovery => "system recovery",
        }
    }

    /// The test of the suite; `None` for throughput, on which the others depend.
    fn of_suite(self) -> Option<rfc2544::Test> {
        match self {
            Self::Throughput => None,
            Self::Latency => Some(rfc2544::Test::Latency),
            Self::FrameLoss => Some(rfc2544::Test::FrameLoss),
            Self::BackToBack => Some(rfc2544::Test::BackToBack),
            Self::Recovery => Some(rfc2544::Test::Recovery),
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(
    next_help_heading = "Tests",
    mut_arg("method", |arg| otherwise(arg, "packet-v3")),
    mut_arg("size", |arg| otherwise(arg, "64")),
    mut_arg("placement", |arg| otherwise(arg, "same")),
    mut_arg("quiet", |arg| otherwise(arg, "2s; with --quick 500ms")),
)]
pub struct Rfc2544Flags {
    /// Tests, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    test: Vec<Test>,
    /// The throughput, where it is known; else it is searched for. All tests but latency need --max-rate, too
    #[arg(long, value_name = "RATE")]
    throughput: Option<StatedRate>,
    /// The maximum rate [default: the line rate, or what the generator reaches in a test of itself]
    #[arg(long, value_name = "RATE")]
    max_rate: Option<StatedRate>,
    /// Length of a trial, and of the overload before recovery; latency takes twice that [default: 60s; with --quick 1s]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// By how much of the maximum rate each load of the frame loss test is below the one before; RFC 2544 allows 10 % and
    /// encourages less
    #[arg(long, value_name = "PERCENT", value_parser = step, default_value = "10%")]
    step: Percent,
    /// Repetitions [default: 20 of latency, 50 of back-to-back, 1 of recovery; with --quick 3 of each]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: Option<u32>,
    /// Longest burst, as the time that it takes [default: 30s; with --quick 2s]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    longest_burst: Option<Duration>,
    /// A first look: much shorter than the document asks for, and said so
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    scene: SceneFlags,
}

/// Reads a step: percent, with the sign or without.
fn step(text: &str) -> Result<Percent, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent =
        number.parse().map_err(|_| format!("\"{text}\" is not a percentage; write for example 5%"))?;
    let step = Percent::new(percent).map_err(|error| error.to_string())?;
    if step > COARSEST {
        return Err(format!("RFC 2544 26.3 allows up to {COARSEST}"));
    }
    if percent < FINEST {
        return Err(format!("give at least {FINEST} %, which is a thousand loads"));
    }
    Ok(step)
}

/// The rates that the user states.
#[derive(Clone, Copy)]
struct Rates {
    throughput: Option<Pps>,
    maximum: Option<Pps>,
}

struct Tests {
    tests: Vec<Test>,
    suite: Suite,
    setups: Vec<Setup>,
}

pub fn run(flags: &Rfc2544Flags) -> Result<Exit> {
    let mut tests = flags.test.clone();
    if tests.is_empty() {
        tests = Test::value_variants().to_vec();
    }
    once("--test", &tests.iter().map(|test| test.name()).collect::<Vec<_>>())?;
    let quiet_ms = if flags.quick { 500 } else { 2000 };
    let scene = Scene::new(&flags.scene, Defaults { quiet_ms, ..Defaults::default() })?;
    let of = |flag, rate: Option<StatedRate>| rate.map(|rate| scene.rate(flag, rate)).transpose();
    let rates = Rates {
        throughput: of("--throughput", flags.throughput)?,
        maximum: of("--max-rate", flags.max_rate)?,
    };
    check(flags, rates, &tests)?;
    let extent = extent(flags);
    let suite = Suite {
        tests: tests.iter().copied().filter_map(Test::of_suite).collect(),
        extent,
        throughput: throughput(rates, extent.trial, &scene)?,
    };
    if let Throughput::Search(plan) = &suite.throughput
        && !scene.run.dry_run
    {
        check_link(&scene, plan)?;
    }
    super::run(scene, Tests { tests, suite, setups: Vec::new() })
}

/// The name of the first test of a suite of which this is so.
fn first(tests: &[Test], is_so: impl Fn(rfc2544::Test) -> bool) -> Option<&'static str> {
    tests.iter().find(|test| test.of_suite().is_some_and(&is_so)).map(|test| test.name())
}

/// Refuses flags that contradict each other, or have no effect together.
fn check(flags: &Rfc2544Flags, rates: Rates, tests: &[Test]) -> Result<(), Usage> {
    let refuse = |why: String| Err(Usage(why));
    match (rates.throughput, rates.maximum) {
        (Some(throughput), None) => {
            if let Some(test) = first(tests, rfc2544::Test::needs_maximum) {
                return refuse(format!(
                    "--throughput {throughput}: give --max-rate, too; without a search no maximum rate is known, and {test} \
                     depends on it"
                ));
            }
        }
        (Some(throughput), Some(maximum)) if throughput > maximum => {
            return refuse(format!("--throughput {throughput}: it is above --max-rate {maximum}"));
        }
        (Some(throughput), Some(maximum)) if !flags.test.is_empty() => {
            if let Some(test) = first(tests, |test| !test.is_possible(throughput, maximum)) {
                return refuse(format!(
                    "--test: {test} offers more than the throughput, and --max-rate is no more; give a higher one"
                ));
            }
        }
        _ => {}
    }
    if let (Some(maximum), Some(longest)) = (rates.maximum, flags.longest_burst)
        && tests.contains(&Test::BackToBack)
    {
        let frames = maximum.get() * longest.as_secs_f64();
        if frames < FIRST.get() as f64 {
            return refuse(format!(
                "--longest-burst {longest:?}: at --max-rate {maximum} it has {frames:.0} frames, and the first burst has {FIRST}"
            ));
        }
    }
    if rates.throughput.is_some() && tests == [Test::Throughput] {
        let why =
            "--test throughput: --throughput names what it would find; name another test, or leave it out";
        return refuse(why.into());
    }
    Ok(())
}

/// Extent of the tests: that of the standards or a first look, changed by the flags.
fn extent(flags: &Rfc2544Flags) -> Extent {
    let usual = if flags.quick { Extent::quick() } else { Extent::standard() };
    let times = |usual: u32| flags.repetitions.unwrap_or(usual);
    Extent {
        trial: flags.duration.unwrap_or(usual.trial),
        latency: times(usual.latency),
        step: flags.step,
        bursts: flags.repetitions.and_then(NonZeroU32::new).unwrap_or(usual.bursts),
        longest_burst: flags.longest_burst.unwrap_or(usual.longest_burst),
        recovery: times(usual.recovery),
        ..usual
    }
}

/// The given throughput, or the search for it, with trials of the requested length.
fn throughput(rates: Rates, trial: Duration, scene: &Scene) -> Result<Throughput> {
    if let Some(throughput) = rates.throughput {
        // Without a maximum rate no test needs one.
        return Ok(Throughput::Given { throughput, maximum: rates.maximum.unwrap_or(throughput) });
    }
    let resized = |goal: Goal| Goal {
        final_duration: trial,
        duration_sum: trial,
        initial_duration: goal.initial_duration.min(trial),
        ..goal
    };
    let plan = SearchPlan::new(parse("rfc2544")?.into_iter().map(resized).collect());
    let plan = SearchPlan { maximum_pps: rates.maximum, quiet: scene.quiet(), ..plan };
    search::validate(&plan)?;
    Ok(Throughput::Search(plan))
}

impl Plan for Tests {
    const KIND: Kind = Kind::Rfc2544;

    fn describe(&self, scene: &Scene) -> Result<String> {
        let mut text = scene.describe();
        words::row(&mut text, "tests", words::list(self.tests.iter().map(|test| test.name())));
        let Extent { trial, latency, step, bursts, longest_burst, recovery, .. } = self.suite.extent;
        let words = format!(
            "of {trial:?}; {latency} of latency, frame loss in steps of {step}, {bursts} searches for bursts of up to {longest_burst:?}, {recovery} of recovery"
        );
        words::row(&mut text, "trials", words);
        let setups: Vec<Setup> = scene.setups().collect();
        let Some(first) = setups.first() else { return Ok(text) };
        let estimate = self.suite.estimate(first)?;
        // The estimate depends on nothing in which set-ups differ.
        let of = |spread: Spread| words::time_of(spread, first.quiet, setups.len());
        let at_maximum = estimate.at_maximum.map_or(String::new(), |cost| {
            let time = cost.times(setups.len() as u32).time(first.quiet);
            format!("; {} if the maximum rate is sustained", words::roughly(whole_run(time)))
        });
        words::row(&mut text, "time", of(estimate.all) + &at_maximum);
        let spread_of = |test: Test| match test.of_suite() {
            None => estimate.throughput,
            Some(wanted) => {
                estimate.tests.iter().find(|(test, _)| *test == wanted).map(|(_, spread)| *spread)
            }
        };
        let others = self.tests.iter().copied().filter(|test| *test != Test::Throughput);
        for test in std::iter::once(Test::Throughput).chain(others) {
            if let Some(spread) = spread_of(test) {
                text.push_str(&format!("            {:<20} {}\n", test.name(), of(spread)));
            }
        }
        Ok(text)
    }

    fn fit(&mut self, scene: &Scene, _: &mut dyn Laboratory) -> Result<()> {
        self.setups = scene.setups().collect();
        Ok(())
    }

    fn planned(&self) -> Result<Planned> {
        let Some(first) = self.setups.first() else { return Ok(Planned::default()) };
        // The estimate depends on nothing in which set-ups differ.
        let cost = self.suite.estimate(first)?.all.median.times(self.setups.len() as u32);
        Ok(cost.planned(first.quiet))
    }

    fn statements(&self, scene: &Scene) -> Vec<String> {
        let sizes: Vec<_> = scene.sizes.iter().map(Setup::label).collect();
        statements(self.suite.extent, scene.quiet(), &sizes)
    }

    fn run(&mut self, laboratory: &mut dyn Laboratory, recorder: &mut Recorder) -> Result<Ended> {
        for setup in &self.setups {
            if self.suite.run(setup, laboratory, recorder)? {
                return Ok(true.into());
            }
        }
        Ok(Ended::default())
    }
}

/// Deviations from the document.
fn statements(extent: Extent, quiet: Duration, sizes: &[SizeLabel]) -> Vec<String> {
    let trials = format!(
        "trials send for {:?} and wait {quiet:?} for missing frames, with no time to settle, where RFC 2544 asks for 60 s, 2 s and 5 s; \
         latency is that of {} trials of {:?} where it asks for 20 of 120 s; bursts are of {} searches where it asks for 50",
        extent.trial,
        extent.latency,
        2 * extent.trial,
        extent.bursts
    );
    let mut statements = vec![trials];
    if sizes.len() < SIZES {
        statements.push(format!(
            "frame sizes are {}, {} in all, where RFC 2544 section 9.1 asks for at least {SIZES}",
            words::list(sizes),
            sizes.len()
        ));
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_frame_sizes_than_the_document_asks_for_are_stated() {
        let stated = |octets: &[u16]| {
            let sizes: Vec<_> = octets.iter().map(|octets| SizeLabel::Octets(*octets)).collect();
            statements(Extent::standard(), Duration::from_secs(2), &sizes)
        };
        let expected = "frame sizes are 64, 1 in all, where RFC 2544 section 9.1 asks for at least 5";
        assert_eq!(stated(&[64])[1..], [expected]);
        assert_eq!(stated(&[64, 128, 512, 1024, 1518]).len(), 1);
    }
}
