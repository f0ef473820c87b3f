//! `capbench rfc2544`: the tests of RFC 2544 section 26, each relative to the throughput that the first one finds.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Result;
use capbench_model::laboratory::Setup;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::SizeLabel;
use capbench_plan::cost::Spread;
use capbench_plan::rfc2544::back_to_back::FIRST;
use capbench_plan::rfc2544::{self, Extent, Suite, Throughput};
use capbench_plan::search::{self, Goal, SearchPlan};
use capbench_report::formats::text::wrapped;
use capbench_report::results::Results;

use super::measuring::Ready;
use super::scene::{Defaults, Scene, once};
use super::search::{check_link, says_something};
use crate::cli::rfc2544::{Rfc2544Flags, Test};
use crate::estimate;
use crate::exit::{Exit, Usage, print};

const ALL: [Test; 5] = [Test::Throughput, Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery];

/// The least number of frame sizes per test in section 9.1.
const SIZES: usize = 5;

/// The name of a test.
fn name(test: Test) -> &'static str {
    match test {
        Test::Throughput => "throughput",
        Test::Latency => "latency",
        Test::FrameLoss => "frame loss rate",
        Test::BackToBack => "back-to-back frames",
        Test::Recovery => "system recovery",
    }
}

/// Runs the command.
pub fn run(flags: &Rfc2544Flags) -> Result<Exit> {
    let tests = if flags.test.is_empty() { ALL.to_vec() } else { flags.test.clone() };
    let names: Vec<_> = tests.iter().map(|test| name(*test)).collect();
    once("--test", &names)?;
    let needs_maximum =
        |test: &&Test| test.in_terms_of_throughput().is_some_and(rfc2544::Test::needs_maximum);
    if let (Some(throughput), None, Some(test)) =
        (flags.throughput, flags.max_rate, tests.iter().find(needs_maximum))
    {
        let why = format!(
            "--throughput {throughput}: give --max-rate, too; without a search no maximum rate is known, and {} is told in \
             terms of it",
            name(*test)
        );
        return Err(Usage(why).into());
    }
    if let (Some(throughput), Some(maximum)) = (flags.throughput, flags.max_rate)
        && throughput > maximum
    {
        let why = format!("--throughput {throughput}: it is above --max-rate {maximum}");
        return Err(Usage(why).into());
    }
    contradictions(flags, &tests)?;
    if flags.throughput.is_some() && tests.iter().all(|test| *test == Test::Throughput) {
        let why =
            "--test throughput: --throughput gives what it would find; name another test, or leave it out";
        return Err(Usage(why.into()).into());
    }
    let quiet = if flags.quick { Duration::from_millis(500) } else { Duration::from_secs(2) };
    let defaults =
        Defaults { methods: &["packet-v3"], sizes: &[64], placements: &[PlacementChoice::Same], quiet };
    let mut scene = Scene::new(&flags.scene, defaults)?;
    let suite = Suite {
        tests: tests.iter().copied().filter_map(Test::in_terms_of_throughput).collect(),
        extent: extent(flags),
        throughput: throughput(flags, &scene)?,
    };
    let run_flags = &flags.scene.run;
    if run_flags.dry_run {
        print(&describe(&scene, &tests, &suite)?)?;
        return Ok(Exit::Done);
    }
    if let Throughput::Search(plan) = &suite.throughput {
        check_link(&scene, plan)?;
    }
    let ready = Ready::find(&mut scene, run_flags)?;
    let is_had = |setup: &Setup| !ready.left_out.contains(&(setup.placement, setup.method.clone()));
    let setups: Vec<_> = scene.setups().filter(is_had).collect();
    let trials: capbench_plan::Result<Vec<_>> =
        setups.iter().map(|setup| Ok(suite.estimate(setup)?.all.median.trials as usize)).collect();
    let sizes: Vec<_> = scene.sizes.iter().map(|size| &size.label).collect();
    let statements = statements(suite.extent, scene.quiet(), &sizes);
    let mut run = ready.begin("rfc2544", run_flags, statements, trials?.iter().sum())?;
    let mut stopped = false;
    for setup in &setups {
        stopped = suite.run(setup, &mut run.laboratory, &mut run.recorder)?;
        if stopped {
            break;
        }
    }
    let ended = run.end(stopped, |_| {})?;
    print(&ended.text())?;
    Ok(match ended.exit(&scene) {
        Exit::Done if !is_conclusive(&ended.results) => Exit::Inconclusive,
        exit => exit,
    })
}

/// Whether there is a finding about the method rather than the generator: a throughput, or, with a given throughput, a test
/// that ended. Tests at a lower bound of the throughput say something of the load, not of the method.
fn is_conclusive(results: &Results) -> bool {
    match results.searches.as_slice() {
        [] => results.rfc2544.iter().any(|tested| *tested.found.ended() == rfc2544::Ended::Complete),
        searches => searches.iter().any(says_something),
    }
}

/// Checks flags that have no effect with a known maximum rate.
fn contradictions(flags: &Rfc2544Flags, tests: &[Test]) -> Result<(), Usage> {
    let Some(maximum) = flags.max_rate else { return Ok(()) };
    let overloads = |test: &&Test| test.in_terms_of_throughput().is_some_and(rfc2544::Test::overloads);
    if let Some(test) = flags.test.iter().find(overloads).filter(|_| flags.throughput == Some(maximum)) {
        return Err(Usage(format!(
            "--test: {} offers more than the throughput, and --max-rate is no more; give a higher one",
            name(*test)
        )));
    }
    if let Some(longest) = flags.longest_burst.filter(|_| tests.contains(&Test::BackToBack)) {
        let frames = maximum.get() * longest.as_secs_f64();
        if frames < FIRST.get() as f64 {
            return Err(Usage(format!(
                "--longest-burst {longest:?}: at --max-rate {maximum} it has {frames:.0} frames, and the first burst has {FIRST}"
            )));
        }
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
fn throughput(flags: &Rfc2544Flags, scene: &Scene) -> Result<Throughput> {
    if let Some(throughput) = flags.throughput {
        // Without a maximum rate no test needs one.
        return Ok(Throughput::Given { throughput, maximum: flags.max_rate.unwrap_or(throughput) });
    }
    let trial = extent(flags).trial;
    let resized = |goal: Goal| Goal {
        final_duration: trial,
        duration_sum: trial,
        initial_duration: goal.initial_duration.min(trial),
        ..goal
    };
    let plan = SearchPlan::new(search::parse("rfc2544")?.into_iter().map(resized).collect());
    let plan = SearchPlan { maximum_pps: flags.max_rate, quiet: scene.quiet(), ..plan };
    plan.validate()?;
    Ok(Throughput::Search(plan))
}

fn describe(scene: &Scene, tests: &[Test], suite: &Suite) -> Result<String> {
    let mut text = scene.describe();
    let names: Vec<_> = tests.iter().map(|test| name(*test)).collect();
    wrapped(&mut text, "tests       ", "            ", &names.join(", "));
    let Extent { trial, latency, step, bursts, longest_burst, recovery, .. } = suite.extent;
    let words = format!(
        "of {trial:?}; {latency} of latency, frame loss in steps of {step}, {bursts} searches for bursts of up to {longest_burst:?}, {recovery} of recovery"
    );
    wrapped(&mut text, "trials      ", "            ", &words);
    let setups: Vec<Setup> = scene.setups().collect();
    let Some(first) = setups.first() else { return Ok(text) };
    let estimate = suite.estimate(first)?;
    // The estimate depends on nothing in which set-ups differ.
    let of = |spread: Spread| estimate::time_of(spread, first.quiet, setups.len());
    let at_maximum = estimate.at_maximum.map_or(String::new(), |cost| {
        let time = cost.times(setups.len() as u32).time(first.quiet);
        format!("; {} where the maximum rate is held", estimate::roughly(time))
    });
    wrapped(&mut text, "time        ", "            ", &format!("{}{at_maximum}", of(estimate.all)));
    let mut part = |test: Test, spread: Spread| {
        let _ = writeln!(text, "            {:<20} {}", name(test), of(spread));
    };
    if let Some(spread) = estimate.throughput {
        part(Test::Throughput, spread);
    }
    for test in tests {
        let found = test.in_terms_of_throughput();
        if let Some((_, spread)) = estimate.tests.iter().find(|(of, _)| Some(*of) == found) {
            part(*test, *spread);
        }
    }
    text.push_str(estimate::NOISE);
    Ok(text)
}

/// Deviations from the document.
fn statements(extent: Extent, quiet: Duration, sizes: &[&SizeLabel]) -> Vec<String> {
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
        let list: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        statements.push(format!(
            "frame sizes are {}, {} in all, where RFC 2544 section 9.1 asks for at least {SIZES}",
            list.join(", "),
            sizes.len()
        ));
    }
    statements
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::trial::SizeLabel;
    use capbench_plan::rfc2544::Extent;

    use super::statements;

    #[test]
    fn fewer_frame_sizes_than_the_document_asks_for_are_stated() {
        let stated = |octets: &[u16]| {
            let sizes: Vec<_> = octets.iter().map(|octets| SizeLabel::Octets(*octets)).collect();
            statements(Extent::standard(), Duration::from_secs(2), &sizes.iter().collect::<Vec<_>>())
        };
        let expected = "frame sizes are 64, 1 in all, where RFC 2544 section 9.1 asks for at least 5";
        assert_eq!(stated(&[64])[1..], [expected]);
        assert_eq!(stated(&[64, 128, 512, 1024, 1518]).len(), 1);
    }
}
