//! Exit policy: what each command returns, and which code an error has. It prints nothing.

mod errors;

use std::io;

use capbench_frames::SentFrames;
use capbench_judge::comparison::Conclusion;
use capbench_judge::conclusive::Measurements;
use capbench_judge::finding::bench;
use capbench_judge::recommendation::sustains;
use capbench_judge::soak::record::SoakRecord;
use capbench_judge::sustained::{self, Sustains};
use capbench_lab::recorded::Completeness;
use capbench_model::TrialError;
use capbench_model::method_spec::MethodSpec;
use capbench_model::requirement::Requirement;
use capbench_record::recording::End;
use capbench_results::Results;
use thiserror::Error;

use self::errors::of_error;
pub use self::errors::{kind_of, of_trial};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: everything done.
    Done,
    /// 3: the loss is over the user's limit, or a comparison shows a regression.
    LossOverLimit,
    /// 3: a setting stands against capture.
    Untuned,
    /// 4: the measurement does not answer the question: limited by the generator, or noisy.
    Inconclusive,
    /// 128 + signal: stopped by the user; the measurements so far are saved.
    Stopped(u8),
    /// Something that the user named could not be measured; the rest was. The code is that of the first failure.
    Partly(u8),
}

impl Exit {
    /// Nobody reads the output any more, as a shell reports it: 128 + SIGPIPE.
    pub const READER_LEFT: Self = Self::Stopped(SIGPIPE);

    /// The code of the process.
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::LossOverLimit | Self::Untuned => LOSS_OVER_LIMIT,
            Self::Inconclusive => INCONCLUSIVE,
            Self::Stopped(signal) => 128 + signal,
            Self::Partly(code) => code,
        }
    }
}

/// A run of trials: stopped by a signal; partly done if a method that the user named could not be measured; else by what it
/// shows. A run that did not complete does not answer its question.
pub fn of_measurement(
    results: &Results,
    stopped: Option<u8>,
    failures: &[(MethodSpec, Failure)],
    is_named: impl Fn(&MethodSpec) -> bool,
    max_loss: f64,
) -> Exit {
    if let Some(signal) = stopped {
        return Exit::Stopped(signal);
    }
    if let Some(record) = &results.soak {
        return of_soak(record, max_loss);
    }
    if let Some((_, failure)) = failures.iter().find(|(method, _)| is_named(method)) {
        return Exit::Partly(failure.code);
    }
    // A missing method of a set is only listed. A test without meaning here is no failure of its method.
    for missing in &results.not_measured {
        if missing.test.is_none() && missing.method.known().is_some_and(&is_named) {
            return Exit::Partly(UNSUPPORTED);
        }
    }
    let measurements = Measurements {
        is_complete: results.complete,
        is_decided: is_decided(results),
        trials: &results.trials,
        searches: &results.searches,
        tests: &results.rfc2544,
        comparisons: &results.comparisons,
        reproductions: &results.reproductions,
    };
    if measurements.are_conclusive() { Exit::Done } else { Exit::Inconclusive }
}

/// Whether the verdict of a bench answers its question; `None` for other runs, and for a bench that compares methods in pairs.
fn is_decided(results: &Results) -> Option<bool> {
    let recommended = results.recommended.as_ref().filter(|_| results.comparisons.is_empty())?;
    Some(bench::is_answered(Some(recommended), &results.facts(), &results.not_measured))
}

/// A bench with requirements: 3 if a method does not sustain its load with up to this loss, 4 if the trials do not show it.
pub fn of_requirements(results: &Results, requirements: &[Requirement], max_loss: f64) -> Exit {
    let mut exit = Exit::Done;
    for Requirement { method, rate } in requirements {
        match sustains(&results.trials, &results.searches, method, rate.get(), max_loss) {
            Sustains::Yes => {}
            Sustains::No => return Exit::LossOverLimit,
            Sustains::Unknown => exit = Exit::Inconclusive,
        }
    }
    exit
}

/// A soak: by its loss, if the load was reached for the planned time.
fn of_soak(record: &SoakRecord, max_loss: f64) -> Exit {
    match sustained::of_soak(record, max_loss) {
        Sustains::Yes => Exit::Done,
        Sustains::Unknown => Exit::Inconclusive,
        Sustains::No => Exit::LossOverLimit,
    }
}

/// How a run of a campaign ended, by its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// By itself, with results.
    Measured,
    /// By a signal.
    Stopped,
    /// Without the results that were asked for.
    Failed,
}

impl RunEnd {
    /// Of an exit code.
    pub fn of(code: u8) -> Self {
        match code {
            0 | LOSS_OVER_LIMIT | INCONCLUSIVE => Self::Measured,
            129.. => Self::Stopped,
            _ => Self::Failed,
        }
    }
}

/// Whether a code says that the command line, not the measurement, was refused.
pub fn is_of_usage(code: u8) -> bool {
    code == USAGE
}

/// Whether a run ended with results that do not show what was asked for.
pub fn is_inconclusive(code: u8) -> bool {
    code == INCONCLUSIVE
}

/// The exit code that results themselves show, without that of their command. Which loss its user allowed is not known: a soak that
/// lost frames is inconclusive.
pub fn of_saved(results: &Results) -> Exit {
    let allowing_no_loss = of_measurement(results, None, &[], |_| false, 0.0);
    let allowing_all_loss = of_measurement(results, None, &[], |_| false, 1.0);
    if allowing_no_loss == allowing_all_loss { allowing_all_loss } else { Exit::Inconclusive }
}

/// The exit code of the command that saved results. It is not saved if the command was killed, and earlier versions saved 0 also
/// for a run that did not complete.
pub fn saved_code(results: &Results) -> u8 {
    match results.exit_code {
        Some(0) if !results.complete => of_saved(results).number(),
        Some(code) => code,
        None => of_saved(results).number(),
    }
}

/// A campaign: stopped by a signal; else the worst exit code of its runs. A failure is worse than loss, which is worse than an
/// inconclusive run.
pub fn of_campaign(codes: impl Iterator<Item = u8>, stopped: Option<u8>) -> Exit {
    const BEST_TO_WORST: [u8; 8] =
        [0, INCONCLUSIVE, LOSS_OVER_LIMIT, UNSUPPORTED, PRIVILEGE, DISK_FULL, USAGE, FAILED];
    if let Some(signal) = stopped {
        return Exit::Stopped(signal);
    }
    // What is not listed, a signal included, is the worst.
    let badness = |code: &u8| BEST_TO_WORST.iter().position(|known| known == code).unwrap_or(usize::MAX);
    match codes.max_by_key(badness).unwrap_or(0) {
        0 => Exit::Done,
        LOSS_OVER_LIMIT => Exit::LossOverLimit,
        INCONCLUSIVE => Exit::Inconclusive,
        code => Exit::Partly(code),
    }
}

/// A comparison: a regression is over the stated limit; without a judgement the result is inconclusive.
pub fn of_comparison(conclusion: Conclusion) -> Exit {
    match conclusion {
        Conclusion::Inconclusive => Exit::Inconclusive,
        Conclusion::Regression => Exit::LossOverLimit,
        Conclusion::NoRegressionShown => Exit::Done,
    }
}

/// The loss of a recording, and the user's limit.
pub struct Loss {
    /// Share that may be lost.
    pub limit: f64,
    /// Share that was lost, as far as known.
    pub ratio: f64,
    /// Whether more may have been lost.
    pub is_unknown: bool,
}

/// A recording: by its loss, if the user stated a limit, else by its end.
pub fn of_recording(loss: Option<Loss>, end: End, signal: u8, has_end: bool) -> Exit {
    match (loss, end) {
        (Some(loss), _) if loss.ratio > loss.limit => Exit::LossOverLimit,
        (Some(loss), _) if loss.is_unknown => Exit::Inconclusive,
        (_, End::ReaderGone) => Exit::READER_LEFT,
        (_, End::Asked) => of_watching(signal, has_end),
        _ => Exit::Done,
    }
}

/// A command that runs until a signal (0: none came), which is its normal end unless the user stated another one.
pub fn of_watching(signal: u8, has_end: bool) -> Exit {
    if signal != 0 && has_end { Exit::Stopped(signal) } else { Exit::Done }
}

/// Sent traffic: inconclusive if the generator left out more frames than rounding of the clock explains, or if frames that it
/// passed on have not left.
pub fn of_sending(signal: u8, frames: &SentFrames, tolerated: u64) -> Exit {
    match signal {
        0 if frames.unsent > tolerated || frames.in_flight > 0 => Exit::Inconclusive,
        0 => Exit::Done,
        signal => Exit::Stopped(signal),
    }
}

/// Verified capture files, by the stamps of their frames.
pub fn of_verification(is_right: bool) -> Exit {
    if is_right { Exit::Done } else { Exit::LossOverLimit }
}

/// Verified capture files, by what they say.
pub fn of_completeness(completeness: Completeness) -> Exit {
    match completeness {
        Completeness::Complete => Exit::Done,
        Completeness::Incomplete => Exit::LossOverLimit,
        Completeness::Unknown => Exit::Inconclusive,
    }
}

/// A mistake in the command line that only the host shows. Exit code 2.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// A failure that was already printed, with its exit code.
#[derive(Clone, Debug, Error)]
#[error("{text}")]
pub struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// The failure of one part of a command.
    pub fn of(error: &TrialError) -> Self {
        Self { text: format!("nothing could be measured: {error}"), code: of_trial(error) }
    }

    /// Its exit code.
    pub fn code(&self) -> u8 {
        self.code
    }
}

/// Nothing could be measured because nothing of it runs here. Exit code 5.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// As a shell reports a process that SIGKILL ended.
pub const KILLED: u8 = 128 + 9;
const SIGPIPE: u8 = 13;
/// Failed.
pub const FAILED: u8 = 1;
/// The command line is refused.
pub const USAGE: u8 = 2;
const LOSS_OVER_LIMIT: u8 = 3;
const INCONCLUSIVE: u8 = 4;
const UNSUPPORTED: u8 = 5;
const PRIVILEGE: u8 = 6;
/// The disk or the user's quota is full. The files hold everything recorded until then.
const DISK_FULL: u8 = 7;

/// The number of the exit code.
pub fn number(done: &anyhow::Result<Exit>) -> u8 {
    match done {
        Ok(exit) => exit.number(),
        Err(error) if reader_left(error) => Exit::READER_LEFT.number(),
        Err(error) => of_error(error),
    }
}

/// Whether the reader of standard output has gone, like `head`: there is nobody to report to.
pub fn reader_left(error: &anyhow::Error) -> bool {
    let of_pipe = |error: &std::io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(of_pipe))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::Pps;
    use capbench_judge::soak::segment::Segment;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, Verdict};
    use capbench_plan::bench::BenchPlan;
    use capbench_plan::for_tests::{Collected, bench_plan};
    use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
    use capbench_record::RecordError;
    use capbench_results::for_tests;

    use super::*;

    /// A bench of two methods: one that keeps up with every load, and one that loses half of its frames at 400,000 packets/s.
    fn benched(rate: Option<f64>, disturbed: bool) -> Results {
        let plan =
            BenchPlan { rate: rate.map(|pps| Pps::new(pps).unwrap()), ..bench_plan(&["packet-v3", "recv"]) };
        let methods = [("packet-v3", 1e7), ("recv", 2e5)];
        let methods = methods.map(|(name, capacity)| SimulatedMethod::new(name, capacity)).to_vec();
        let mut path = SimulatedLaboratory::new(1e6, methods);
        let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
        let mut results = for_tests::bench(outcome.trials, outcome.searches);
        if disturbed {
            results.trials.iter_mut().for_each(|trial| trial.verdict = Verdict::Invalid);
        }
        results
    }

    fn exit(results: &Results, required: &[&str], max_loss: f64) -> Exit {
        let required: Vec<Requirement> = required.iter().map(|text| text.parse().unwrap()).collect();
        of_requirements(results, &required, max_loss)
    }

    #[test]
    fn a_requirement_is_met_missed_or_not_decided() {
        let bench = benched(Some(4e5), false);
        assert_eq!(exit(&bench, &["packet-v3:400k"], 0.0), Exit::Done);
        assert_eq!(exit(&bench, &["packet-v3:100k"], 0.0), Exit::Done, "less than a load that is sustained");
        assert_eq!(exit(&bench, &["recv:400k"], 0.0), Exit::LossOverLimit);
        assert_eq!(exit(&bench, &["recv:400k"], 0.49), Exit::LossOverLimit, "half of the frames are lost");
        assert_eq!(exit(&bench, &["recv:400k"], 0.51), Exit::Done);
        assert_eq!(exit(&bench, &["packet-v3:5M"], 0.0), Exit::Inconclusive, "no trial offered so much");
        assert_eq!(exit(&bench, &["recvmmsg:1k"], 0.0), Exit::Inconclusive, "no trial of this method");
        assert_eq!(
            exit(&benched(Some(4e5), true), &["recv:400k"], 0.0),
            Exit::Inconclusive,
            "invalid trials show nothing"
        );
    }

    #[test]
    fn of_several_requirements_a_missed_one_decides() {
        let bench = benched(Some(4e5), false);
        assert_eq!(exit(&bench, &["packet-v3:400k", "recv:400k", "packet-v3:5M"], 0.0), Exit::LossOverLimit);
        assert_eq!(exit(&bench, &["packet-v3:5M", "packet-v3:400k"], 0.0), Exit::Inconclusive);
        assert_eq!(exit(&bench, &[], 0.0), Exit::Done);
    }

    /// A soak of so many planned seconds that sent for one of them and lost so many of a million frames.
    fn soak(planned: u32, lost: u64) -> Results {
        let second = Duration::from_secs(1);
        let measured = measured(1_000_000, 1_000_000, 1_000_000 - lost, lost);
        let trial = measured.result(1, Phase::Soak, &profile("recv"), Load::Maximum, second);
        let mut record = SoakRecord::new(Pps::new(1e6).unwrap(), planned * second, second);
        record.add(Segment { number: 1, began_unix_s: 0.0, resident_bytes: None, trial });
        Results {
            complete: planned == 1,
            trials: record.kept.clone(),
            soak: Some(record),
            ..Results::default()
        }
    }

    #[test]
    fn a_soak_that_ended_early_is_no_success_whatever_loss_is_allowed() {
        for allowed in [0.0, 1e-6, 1.0] {
            assert_eq!(of_measurement(&soak(1, 0), None, &[], |_| false, allowed), Exit::Done);
            let cut = of_measurement(&soak(2, 0), None, &[], |_| false, allowed);
            assert_eq!(cut, Exit::Inconclusive, "{allowed}");
        }
        assert_eq!(of_saved(&soak(2, 0)), Exit::Inconclusive);
        assert_eq!(of_saved(&soak(1, 0)), Exit::Done);
        assert_eq!(of_saved(&soak(1, 5)), Exit::Inconclusive, "whether this loss is allowed is not known");
    }

    #[test]
    fn a_run_that_did_not_complete_is_no_success_nor_is_the_zero_that_an_earlier_version_saved() {
        let bench = benched(Some(4e5), false);
        let unfinished = Results { complete: false, ..bench.clone() };
        for (results, exit) in [(&bench, Exit::Done), (&unfinished, Exit::Inconclusive)] {
            assert_eq!(of_measurement(results, None, &[], |_| true, 0.0), exit);
            assert_eq!(of_measurement(results, Some(15), &[], |_| true, 0.0), Exit::Stopped(15));
            let codes = [None, Some(0), Some(3), Some(143)]
                .map(|exit_code| saved_code(&Results { exit_code, ..results.clone() }));
            assert_eq!(codes, [exit.number(), exit.number(), 3, 143]);
        }
    }

    #[test]
    fn frames_that_were_not_sent_or_have_not_left_make_a_sending_inconclusive() {
        let exit = |signal, unsent, in_flight| {
            of_sending(signal, &SentFrames { unsent, in_flight, ..SentFrames::default() }, 2)
        };
        assert_eq!([exit(0, 0, 0), exit(0, 2, 0)], [Exit::Done; 2]);
        assert_eq!([exit(0, 3, 0), exit(0, 0, 1)], [Exit::Inconclusive; 2]);
        assert_eq!(exit(2, 3, 1), Exit::Stopped(2));
    }

    #[test]
    fn saved_results_give_the_same_code() {
        let bench = benched(Some(4e5), false);
        let saved: Results = serde_json::from_str(&serde_json::to_string(&bench).unwrap()).unwrap();
        for (required, expected) in [
            ("packet-v3:400k", Exit::Done),
            ("recv:400k", Exit::LossOverLimit),
            ("packet-v3:5M", Exit::Inconclusive),
        ] {
            assert_eq!(exit(&saved, &[required], 0.0), expected, "{required}");
        }
    }

    #[test]
    fn a_requirement_is_a_method_and_a_rate() {
        let of = |text: &str| text.parse::<Requirement>().map(|one| (one.method, one.rate.get()));
        assert_eq!(of("packet-v3:500k"), Ok((MethodSpec::plain("packet-v3"), 5e5)));
        assert_eq!(of("libpcap:/a.so:1.5Mpps"), Ok(("libpcap:/a.so".parse().unwrap(), 1.5e6)));
        for wrong in ["packet-v3", "packet-v3:fast", "packet-v3:0"] {
            assert!(of(wrong).unwrap_err().contains("METHOD:RATE"), "{wrong}");
        }
    }

    #[test]
    fn a_full_disk_has_a_code() {
        let code = |errno: i32| {
            let source = std::io::Error::from_raw_os_error(errno);
            let (attempt, path, next) = ("write", "a.pcapng".into(), "free space");
            of_error(&RecordError::Output { attempt, path, next, source }.into())
        };
        // ENOSPC, EDQUOT and EIO.
        assert_eq!([28, 122, 5].map(code), [DISK_FULL, DISK_FULL, FAILED]);
    }
}
