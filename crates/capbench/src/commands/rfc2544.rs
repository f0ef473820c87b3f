//! `capbench rfc2544`: the tests of RFC 2544 section 26, each in terms of the throughput that the first one finds.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Result;
use capbench_measure::MeasureError;
use capbench_measure::findings;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::results::NotMeasured;
use capbench_measure::rfc2544::{
    BackToBackTest, Ended as TestEnd, Found, FrameLossTest, LatencyTest, MaximumRate, Percent, RecoveryTest,
    Tested,
};
use capbench_measure::search::{self, End, Goal, MaximumSource, SearchOutcome, SearchPlan, Status, Stored};
use capbench_measure::trial::Load;
use capbench_traffic::Pps;

use super::measuring::{Ended, Ready, Run};
use super::scene::{Defaults, Scene};
use crate::cli::rfc2544::{InTerms, Rfc2544Flags, Test};
use crate::exit::{Exit, Usage, print};
use crate::{searches, standard_tests, summary};

const ALL: [Test; 5] = [Test::Throughput, Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery];
/// What a trial takes beside sending, for the estimate.
const BETWEEN: Duration = Duration::from_millis(250);

/// How long everything lasts and how often it is done.
#[derive(Clone, Copy, Debug)]
struct Extent {
    trial: Duration,
    latency: u32,
    bursts: NonZeroU32,
    longest_burst: Duration,
    depletion: Duration,
    recovery: u32,
}

impl Extent {
    fn of(flags: &Rfc2544Flags) -> Self {
        let seconds = Duration::from_secs;
        let standard = if flags.quick {
            Self {
                trial: seconds(1),
                latency: 3,
                bursts: NonZeroU32::MIN.saturating_add(2),
                longest_burst: seconds(2),
                depletion: Duration::from_millis(200),
                recovery: 3,
            }
        } else {
            Self {
                trial: seconds(60),
                latency: 20,
                bursts: NonZeroU32::MIN.saturating_add(49),
                longest_burst: seconds(30),
                depletion: seconds(2),
                recovery: 1,
            }
        };
        let times = |usual: u32| flags.repetitions.unwrap_or(usual);
        Self {
            trial: flags.duration.unwrap_or(standard.trial),
            latency: times(standard.latency),
            bursts: flags.repetitions.and_then(NonZeroU32::new).unwrap_or(standard.bursts),
            longest_burst: flags.longest_burst.unwrap_or(standard.longest_burst),
            recovery: times(standard.recovery),
            ..standard
        }
    }
}

/// The rates that tests are told in terms of.
#[derive(Clone, Copy, Debug)]
struct Rates {
    throughput: Pps,
    /// What the search's result is worth; absent where the throughput was given.
    status: Option<Status>,
    maximum: MaximumRate,
}

/// Runs the command.
pub fn run(flags: &Rfc2544Flags) -> Result<Exit> {
    let tests = if flags.test.is_empty() { ALL.to_vec() } else { flags.test.clone() };
    if let (Some(throughput), None) = (flags.throughput, flags.max_rate) {
        let why = format!(
            "--throughput {throughput}: give --max-rate, too; without a search no maximum rate is known"
        );
        return Err(Usage(why).into());
    }
    if let (Some(throughput), Some(maximum)) = (flags.throughput, flags.max_rate)
        && throughput > maximum
    {
        let why = format!("--throughput {throughput}: it is above --max-rate {maximum}");
        return Err(Usage(why).into());
    }
    if flags.throughput.is_some() && tests.iter().all(|test| *test == Test::Throughput) {
        let why =
            "--test throughput: --throughput gives what it would find; name another test, or leave it out";
        return Err(Usage(why.into()).into());
    }
    let quiet = if flags.quick { Duration::from_millis(500) } else { Duration::from_secs(2) };
    let defaults =
        Defaults { methods: &["packet-v3"], sizes: &[64], placements: &[PlacementChoice::Same], quiet };
    let mut scene = Scene::new(&flags.scene, defaults)?;
    let extent = Extent::of(flags);
    let plan = throughput(flags, extent)?;
    plan.validate()?;
    let run_flags = &flags.scene.run;
    if run_flags.dry_run {
        print(&describe(&scene, &tests, flags, extent, &plan)?)?;
        return Ok(Exit::Done);
    }
    let ready = Ready::find(&mut scene, run_flags)?;
    let is_had = |setup: &Setup| !ready.left_out.contains(&(setup.placement, setup.method.clone()));
    let setups: Vec<_> = scene.setups().filter(is_had).collect();
    let trials = setups.len() * tests.len() * 10;
    let mut run = ready.begin("rfc2544", run_flags, statements(extent, quiet), trials)?;
    let mut stopped = false;
    for setup in &setups {
        stopped = tested(&mut run, setup, &tests, flags, extent, &plan)?;
        if stopped {
            break;
        }
    }
    let ended = run.end(stopped, |results| {
        let of_searches = results.searches.iter().flat_map(SearchOutcome::findings);
        results.findings = of_searches.chain(findings::find(&results.trials)).collect();
    })?;
    print(&report(&ended))?;
    Ok(ended.exit(&scene))
}

/// All tests with one set-up; whether the user stopped them.
fn tested(
    run: &mut Run,
    setup: &Setup,
    tests: &[Test],
    flags: &Rfc2544Flags,
    extent: Extent,
    plan: &SearchPlan,
) -> Result<bool> {
    run.recorder.about(format!("{}, {} B, {}, throughput", setup.method, setup.label, setup.placement));
    let rates = match (flags.throughput, flags.max_rate) {
        (Some(throughput), Some(maximum)) => Some(Rates {
            throughput,
            status: None,
            maximum: MaximumRate { pps: maximum, source: MaximumSource::Given },
        }),
        _ => {
            let outcome = match run.laboratory.prepare(setup) {
                Ok(mut trial) => plan.run(trial.as_mut(), Stored::default(), &mut run.recorder)?.outcome,
                Err(error) => {
                    run.recorder.leave_out(setup, Load::Maximum, &error);
                    return Ok(false);
                }
            };
            let (rates, stopped) = (found(&outcome)?, outcome.ended == End::Stopped);
            run.recorder.searched(outcome)?;
            if stopped {
                return Ok(true);
            }
            rates
        }
    };
    for test in tests.iter().copied().filter_map(Test::in_terms_of_throughput) {
        let Some(rates) = rates else {
            missing(run, setup, test, "no throughput was found that it could be told in terms of".into());
            continue;
        };
        if rates.status == Some(Status::AtLeast) && test.overloads() {
            let why = format!(
                "{:.0} packets/s are held at least and no throughput was found, so nothing offered would be an overload",
                rates.throughput.get()
            );
            missing(run, setup, test, why);
            continue;
        }
        match one(run, setup, test, rates, extent) {
            Ok(tested) => {
                let stopped = *ended(&tested.found) == TestEnd::Stopped;
                run.recorder.tested(tested)?;
                if stopped {
                    return Ok(true);
                }
            }
            Err(MeasureError::Unsupported { reason, .. }) => missing(run, setup, test, reason),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// One test beside throughput.
fn one(
    run: &mut Run,
    setup: &Setup,
    test: InTerms,
    Rates { throughput, status, maximum }: Rates,
    extent: Extent,
) -> capbench_measure::Result<Tested> {
    let (laboratory, recorder) = (&mut run.laboratory, &mut run.recorder);
    Ok(match test {
        InTerms::Latency => {
            let test = LatencyTest {
                duration: 2 * extent.trial,
                from: extent.trial,
                repetitions: extent.latency,
                ..LatencyTest::standard(throughput)
            };
            test.run(setup, laboratory, recorder)?.tested(setup, status)
        }
        InTerms::FrameLoss => {
            let test = FrameLossTest { maximum, step: Percent::new(10.0)?, duration: extent.trial };
            test.run(setup, laboratory, recorder)?.tested(setup, status)
        }
        InTerms::BackToBack => {
            let test = BackToBackTest {
                repetitions: extent.bursts,
                limit: extent.longest_burst,
                depletion: extent.depletion,
                ..BackToBackTest::standard(maximum, throughput)
            };
            test.run(setup, laboratory, recorder)?.tested(setup, status)
        }
        InTerms::Recovery => {
            let test = RecoveryTest {
                overloaded: extent.trial,
                observed: extent.trial,
                repetitions: extent.recovery,
                ..RecoveryTest::standard(throughput, maximum)
            };
            test.run(setup, laboratory, recorder)?.tested(setup, status)
        }
    })
}

/// A test that has no meaning here is no failure: the report says why.
fn missing(run: &mut Run, setup: &Setup, test: InTerms, reason: String) {
    run.recorder.results.not_measured.push(NotMeasured {
        method: setup.method.to_string(),
        test: Some(test.key().into()),
        placement: Some(setup.placement.to_string()),
        frame_size: Some(setup.label.clone()),
        reason,
    });
}

fn ended(found: &Found) -> &TestEnd {
    match found {
        Found::Latency(outcome) => &outcome.ended,
        Found::FrameLoss(outcome) => &outcome.ended,
        Found::BackToBack(outcome) => &outcome.ended,
        Found::Recovery(outcome) => &outcome.ended,
    }
}

/// The throughput that a search found, or what the generator could show of it.
fn found(outcome: &SearchOutcome) -> Result<Option<Rates>> {
    let held = outcome.goals.first().filter(|goal| goal.status != Status::Irregular);
    let lower = held.and_then(|goal| Some((goal.status, goal.lower.as_ref()?)));
    let Some(((status, lower), maximum)) = lower.zip(outcome.maximum.as_ref()) else { return Ok(None) };
    Ok(Some(Rates {
        throughput: Pps::new(lower.achieved_pps)?,
        status: Some(status),
        maximum: maximum.into(),
    }))
}

/// The search for the throughput, with trials of the length asked for.
fn throughput(flags: &Rfc2544Flags, extent: Extent) -> Result<SearchPlan> {
    let goals = search::parse("rfc2544")?;
    let resized = |goal: Goal| Goal {
        final_duration: extent.trial,
        duration_sum: extent.trial,
        initial_duration: goal.initial_duration.min(extent.trial),
        ..goal
    };
    let plan = SearchPlan::new(goals.into_iter().map(resized).collect());
    Ok(SearchPlan { maximum_pps: flags.max_rate, ..plan })
}

fn describe(
    scene: &Scene,
    tests: &[Test],
    flags: &Rfc2544Flags,
    extent: Extent,
    plan: &SearchPlan,
) -> Result<String> {
    let setups = scene.methods.len() * scene.sizes.len() * scene.placements.len();
    let mut text = scene.describe();
    let names: Vec<_> = tests.iter().map(|test| standard_tests::name(*test)).collect();
    summary::wrapped(&mut text, "tests       ", "            ", &names.join(", "));
    let mut time = Duration::ZERO;
    if flags.throughput.is_none() {
        time += plan.estimate()?.median.with(BETWEEN);
    }
    for test in tests {
        time += match test {
            Test::Throughput => Duration::ZERO,
            Test::Latency => 2 * extent.trial * extent.latency,
            Test::FrameLoss => 10 * extent.trial,
            // Half of the bursts are long, and each is followed by as long a rest.
            Test::BackToBack => (extent.longest_burst + 12 * extent.depletion) * extent.bursts.get(),
            Test::Recovery => 2 * extent.trial * extent.recovery,
        };
    }
    text.push_str(&format!(
        "trials      of {:?}; {} of latency, {} of bursts of up to {:?}, {} of recovery\ntime        at most about {:.0} s\n",
        extent.trial,
        extent.latency,
        extent.bursts,
        extent.longest_burst,
        extent.recovery,
        (time * setups as u32).as_secs_f64()
    ));
    Ok(text)
}

fn statements(extent: Extent, quiet: Duration) -> Vec<String> {
    vec![format!(
        "trials send for {:?} and wait {quiet:?} for missing frames, with no time to settle, where RFC 2544 asks for 60 s, 2 s and 5 s; \
         latency is that of {} trials of {:?} where it asks for 20 of 120 s; bursts are of {} searches where it asks for 50",
        extent.trial,
        extent.latency,
        2 * extent.trial,
        extent.bursts
    )]
}

fn report(ended: &Ended) -> String {
    let results = &ended.results;
    let mut text = String::new();
    for search in &results.searches {
        text.push_str(&searches::search(search));
    }
    for tested in &results.rfc2544 {
        text.push_str(&standard_tests::tested(tested));
    }
    text.push_str(&summary::engines(&results.trials));
    text.push_str(&summary::not_measured(&results.not_measured));
    // What follows from the searches stands above, in tables.
    text.push_str(&summary::findings(&findings::find(&results.trials)));
    text.push_str(&ended.footer());
    text
}
