//! The words of `ComparisonFinding`: changes for the worse or better between two runs, or between methods that took turns.

use capbench_judge::finding::comparison::{
    ComparedMethods, ComparisonFinding, ComparisonOutcome, FigureAnswer, FigureCounts, KnownChange,
};

use capbench_judge::comparison::note::{ComparisonNote, RunSide, RunsDifference, TrialFact};
use capbench_judge::comparison::{Change, Measure, Scale};
use capbench_model::environment::HostFact;
use capbench_model::figures::{grouped, shortest};

use super::capitalised;
use crate::naming::many;

/// The text of a fact.
pub(super) fn words(fact: &ComparisonFinding) -> String {
    match fact {
        ComparisonFinding::OfRuns { outcome, answers } => {
            let [then, now] = [RunSide::A, RunSide::B].map(|side| format!("{side:?}"));
            answered(answers, outcome, [&then, &now])
        }
        ComparisonFinding::OfMethods { compared } => {
            let mut sentences = Vec::new();
            for ComparedMethods { then, now, outcome, answers } in compared {
                let text = answered(answers, outcome, [then, now]);
                sentences.push(format!("{now} against {then}: {text}"));
            }
            sentences.join(" ")
        }
        ComparisonFinding::RunsDiffer { difference } => {
            format!("The runs differ: {}.", difference_words(difference))
        }
        ComparisonFinding::Note { note } => {
            capitalised(&format!("{}.", note_words(note).trim_end_matches('.')))
        }
    }
}

/// Something to know before the figures, without a capital letter and a full stop.
pub(crate) fn note_words(note: &ComparisonNote) -> String {
    match note {
        ComparisonNote::FileWarning { text } => text.clone(),
        ComparisonNote::OtherWork { work, iterations_then, iterations_now } => format!(
            "work {work} was {} iterations of the wait loop for each frame in A and {} in B ({:+.0} %), as many as were found to \
             take that long before the trials: on one CPU that is other work by the same name, and rates and costs follow it",
            grouped(*iterations_then),
            grouped(*iterations_now),
            (iterations_now / iterations_then - 1.0) * 100.0
        ),
        ComparisonNote::Incomplete { run } => {
            format!("{run:?} is not complete: it has the trials that were finished")
        }
        ComparisonNote::Resumed { run, after_trials, at } => {
            let trials = many(*after_trials, "trial", "trials");
            format!("{run:?} was interrupted after {trials} and continued at {at}")
        }
        ComparisonNote::Noisy { run, noisy_trials, all_trials } => {
            format!("{run:?}: noisy trials: {noisy_trials} of {all_trials}; its `findings` say why")
        }
        ComparisonNote::NoisyRuns { noisy_trials, all_trials } => format!(
            "noisy trials of the compared runs: {noisy_trials} of {all_trials}; the column `noise` says why"
        ),
        ComparisonNote::Soak { run } => {
            format!("{run:?} is a soak: its segments are no trials of their own and are not compared")
        }
        ComparisonNote::HostSpeed { verify_ns_then, verify_ns_now } => format!(
            "the CPU itself took {verify_ns_then:.1} ns to verify a frame in A and {verify_ns_now:.1} ns in B ({:+.0} %), in a loop \
             without any method: the host itself is faster or slower",
            (verify_ns_now / verify_ns_then - 1.0) * 100.0
        ),
    }
}

/// In what two runs differ.
pub(crate) fn difference_words(difference: &RunsDifference) -> String {
    match difference {
        RunsDifference::Host { fact, then, now } => host_difference_words(fact, then, now),
        RunsDifference::Trials { fact, methods, then, now } => {
            let fact = match fact {
                TrialFact::Engine => "what ran",
                TrialFact::Capture => "buffers and source of times",
                TrialFact::Generator => "generator",
                TrialFact::Cpus => "CPUs",
                TrialFact::Length => "length of trials",
                TrialFact::LoadIndependent => "load independent of the receiver",
            };
            let mut names = Vec::new();
            for method in methods {
                names.push(method.as_ref().map_or("what was compared".into(), ToString::to_string));
            }
            format!("{fact} of {}: {} then, {} now", names.join(", "), values_words(then), values_words(now))
        }
    }
}

/// In what two hosts differ.
pub fn host_difference_words(fact: &HostFact, then: &str, now: &str) -> String {
    format!("{}: {then} then, {now} now", host_fact_words(fact))
}

fn host_fact_words(fact: &HostFact) -> &str {
    match fact {
        HostFact::CapbenchVersion => "capbench version",
        HostFact::KernelRelease => "kernel release",
        HostFact::KernelVersion => "kernel build",
        HostFact::Machine => "architecture",
        HostFact::CpuModel => "CPU model",
        HostFact::CpusOnline => "CPUs online",
        HostFact::CpusAllowed => "CPUs that may be used",
        HostFact::VirtualMachine => "virtual machine",
        HostFact::IrqAccounting => "accounting of interrupts",
        HostFact::MemoryBytes => "memory in bytes",
        HostFact::InUserNamespace => "own user namespace",
        HostFact::MissingCapabilities => "missing capabilities",
        HostFact::NetdevMaxBacklog => "net.core.netdev_max_backlog",
        HostFact::RmemMaxBytes => "net.core.rmem_max",
        HostFact::Path(path) => path,
    }
}

/// Values of a run's trials; an empty one is unknown.
fn values_words(values: &[String]) -> String {
    let known: Vec<&str> =
        values.iter().map(|value| if value.is_empty() { "unknown" } else { value.as_str() }).collect();
    known.join(" or ")
}

/// What follows from a comparison.
fn outcome_words(outcome: &ComparisonOutcome) -> String {
    match outcome {
        ComparisonOutcome::Disturbed => {
            "Inconclusive: the host disturbed most trials of a run and may cause any difference; measure again while nothing else \
             runs."
                .into()
        }
        ComparisonOutcome::Damaged => {
            "Inconclusive: the file of a run was damaged or changed; measure again.".into()
        }
        ComparisonOutcome::TooFewRuns => {
            "Inconclusive: too few runs of the same hosts; measure each host several times.".into()
        }
        ComparisonOutcome::TooFewTrials { visits, left_out } => {
            let shown = match left_out {
                0 => "there are too few trials".into(),
                _ => format!("too few trials can be compared (left out: {left_out}; `--details` says why)"),
            };
            let next = match visits {
                Some(visits) => format!("; `--visits {visits}` can decide most figures"),
                None => String::new(),
            };
            format!("Inconclusive: {shown}{next}.")
        }
        ComparisonOutcome::Judged(counts) => counts_words(counts),
    }
}

/// How many figures have one judgement, and its predicate.
struct Judged {
    figures: u64,
    /// The predicate of one figure.
    one: &'static str,
    /// The predicate of several figures.
    several: &'static str,
}

/// How many figures are worse, better or undecided.
fn counts_words(counts: &FigureCounts) -> String {
    let all = [
        Judged { figures: counts.better, one: "is better", several: "are better" },
        Judged {
            figures: counts.below_threshold,
            one: "changed by less than the threshold",
            several: "changed by less than the threshold",
        },
        Judged { figures: counts.not_worse, one: "is not worse", several: "are not worse" },
        Judged {
            figures: counts.may_be_worse,
            one: "shows no difference, but may be worse",
            several: "show no difference, but may be worse",
        },
        Judged { figures: counts.too_few_trials, one: "has too few trials", several: "have too few trials" },
    ];
    let mut parts = Vec::new();
    for Judged { figures, one, several } in all {
        if figures == 0 {
            continue;
        }
        let subject = match parts.is_empty() {
            true => many(figures, "figure", "figures"),
            false => figures.to_string(),
        };
        parts.push(format!("{subject} {}", if figures == 1 { one } else { several }));
    }
    let head = match counts.worse {
        0 => "No regression shown".into(),
        worse => many(worse, "regression", "regressions"),
    };
    if parts.is_empty() {
        return format!("{head}.");
    }
    let mark = if counts.worse == 0 { ':' } else { ';' };
    // The number of visits is that for figures with too few trials.
    let open = if counts.too_few_trials == 1 { "that figure" } else { "most of these" };
    let runs = if counts.is_one_run { "" } else { " in both runs" };
    let next = match counts.visits {
        Some(visits) => format!(" More trials (`--visits {visits}`{runs}) can decide {open}."),
        None => String::new(),
    };
    format!("{head}{mark} {}.{next}", parts.join("; "))
}

/// A sentence for each answer about the second of two sides, and what follows from all figures: before them, if they do not count, or
/// something is worse.
fn answered(answers: &[FigureAnswer], outcome: &ComparisonOutcome, [then, now]: [&str; 2]) -> String {
    let mut sentences = Vec::new();
    for answer in answers {
        sentences.push(answer_words(answer, then, now));
    }
    let is_last = matches!(outcome, ComparisonOutcome::Judged(FigureCounts { worse: 0, .. }));
    sentences.insert(if is_last { sentences.len() } else { 0 }, outcome_words(outcome));
    sentences.join(" ")
}

/// The answer to a question, with the interval of the change.
fn answer_words(FigureAnswer { measure, known, change }: &FigureAnswer, then: &str, now: &str) -> String {
    let figure = match measure {
        Measure::Throughput => "throughput",
        Measure::DeliveredRate => "rate delivered at maximum load",
        Measure::LossRatio => "loss",
        Measure::TotalCost => "CPU time per packet",
        other => other.words(),
    };
    let range = range_words(*measure, change);
    match known {
        KnownChange::Worse | KnownChange::Better => {
            format!(
                "The {figure} of {now} is {} than that of {then}{range}.",
                amount_words(*measure, change.middle)
            )
        }
        KnownChange::InSome { worse, better } => {
            let mut parts = Vec::new();
            for (set_ups, word) in [(*worse, "worse"), (*better, "better")] {
                if set_ups > 0 {
                    parts.push(format!("{word} in {}", many(set_ups.into(), "set-up", "set-ups")));
                }
            }
            format!("The {figure} of {now} is {}.", parts.join(" and "))
        }
        KnownChange::Lossless => format!("At equal loads no trial of {then} or {now} lost a frame."),
        KnownChange::Equal => format!("The {figure} differs by less than the threshold{range}."),
        KnownChange::NotShown => format!("The {figure} shows no difference{range}."),
        KnownChange::TooFewTrials => format!("The {figure} has too few trials."),
    }
}

/// The smallest number of percentage points that two decimals show.
const LEAST_POINTS: f64 = 0.01;

/// How much higher or lower a figure is.
fn amount_words(measure: Measure, change: f64) -> String {
    let direction = if change < 0.0 { "lower" } else { "higher" };
    let percent = (change * 100.0).abs();
    match measure.scale() {
        Scale::Ratio => format!("{} % {direction}", shortest(percent, 1)),
        Scale::Difference if percent < LEAST_POINTS => {
            format!("less than {LEAST_POINTS} percentage points {direction}")
        }
        Scale::Difference => format!("{} percentage points {direction}", shortest(percent, 2)),
    }
}

/// The interval of a change in parentheses; empty without one.
fn range_words(measure: Measure, change: &Change) -> String {
    let Some((low, high)) = change.low.zip(change.high) else { return String::new() };
    match measure.scale() {
        Scale::Ratio => format!(" ({} to {} %)", signed(low, 1), signed(high, 1)),
        Scale::Difference => format!(" ({} to {} points)", signed(low, 2), signed(high, 2)),
    }
}

/// A share in percent with its sign.
fn signed(share: f64, decimals: usize) -> String {
    let percent = shortest((share * 100.0).abs(), decimals);
    if percent == "0" {
        return percent;
    }
    format!("{}{percent}", if share < 0.0 { "-" } else { "+" })
}

#[cfg(test)]
mod tests {
    use super::{
        Change, ComparedMethods, ComparisonFinding, ComparisonNote, ComparisonOutcome, FigureAnswer,
        FigureCounts, HostFact, KnownChange, Measure, RunSide, RunsDifference, TrialFact, counts_words,
        difference_words, words,
    };

    #[test]
    fn figures_are_counted_by_what_is_known_of_them() {
        let one_each = FigureCounts {
            better: 1,
            below_threshold: 1,
            not_worse: 1,
            may_be_worse: 1,
            too_few_trials: 1,
            ..FigureCounts::default()
        };
        assert_eq!(
            counts_words(&one_each),
            "No regression shown: 1 figure is better; 1 changed by less than the threshold; 1 is not worse; 1 shows no \
             difference, but may be worse; 1 has too few trials."
        );
        let several = FigureCounts {
            worse: 2,
            not_worse: 2,
            may_be_worse: 2,
            too_few_trials: 2,
            more_trials_decide: true,
            visits: Some(9),
            ..FigureCounts::default()
        };
        assert_eq!(
            counts_words(&several),
            "2 regressions; 2 figures are not worse; 2 show no difference, but may be worse; 2 have too few trials. More trials \
             (`--visits 9` in both runs) can decide most of these."
        );
        let in_one_run = counts_words(&FigureCounts { is_one_run: true, ..several });
        assert!(in_one_run.ends_with("More trials (`--visits 9`) can decide most of these."), "{in_one_run}");
        let one_open = counts_words(&FigureCounts { too_few_trials: 1, ..several });
        assert!(one_open.ends_with("(`--visits 9` in both runs) can decide that figure."), "{one_open}");
    }

    #[test]
    fn a_comparison_that_shows_nothing_says_why_and_what_to_do() {
        for (outcome, text) in [
            (
                ComparisonOutcome::Disturbed,
                "Inconclusive: the host disturbed most trials of a run and may cause any difference; measure again while nothing else \
                 runs.",
            ),
            (
                ComparisonOutcome::Damaged,
                "Inconclusive: the file of a run was damaged or changed; measure again.",
            ),
            (
                ComparisonOutcome::TooFewRuns,
                "Inconclusive: too few runs of the same hosts; measure each host several times.",
            ),
            (
                ComparisonOutcome::TooFewTrials { visits: Some(8), left_out: 0 },
                "Inconclusive: there are too few trials; `--visits 8` can decide most figures.",
            ),
            (
                ComparisonOutcome::TooFewTrials { visits: None, left_out: 0 },
                "Inconclusive: there are too few trials.",
            ),
            (
                ComparisonOutcome::TooFewTrials { visits: None, left_out: 24 },
                "Inconclusive: too few trials can be compared (left out: 24; `--details` says why).",
            ),
        ] {
            assert_eq!(words(&ComparisonFinding::OfRuns { outcome, answers: Vec::new() }), text);
        }
    }

    #[test]
    fn methods_and_circumstances_are_said() {
        let compared = ComparedMethods {
            then: "recv".into(),
            now: "packet-v3".into(),
            outcome: ComparisonOutcome::Judged(FigureCounts::default()),
            answers: Vec::new(),
        };
        assert_eq!(
            words(&ComparisonFinding::OfMethods { compared: vec![compared] }),
            "packet-v3 against recv: No regression shown."
        );
    }

    #[test]
    fn each_question_is_answered_with_its_interval() {
        let change = |middle: f64| Change { middle, low: Some(middle - 0.02), high: Some(middle + 0.03) };
        let mut texts = Vec::new();
        for (measure, known, middle) in [
            (Measure::TotalCost, KnownChange::Better, -0.31),
            (Measure::LossRatio, KnownChange::Worse, 0.054),
            (Measure::LossRatio, KnownChange::Lossless, 0.0),
            (Measure::TotalCost, KnownChange::Equal, 0.0),
            (Measure::DeliveredRate, KnownChange::NotShown, -0.01),
            (Measure::Throughput, KnownChange::InSome { worse: 1, better: 2 }, 0.0),
            (Measure::TotalCost, KnownChange::TooFewTrials, 0.0),
        ] {
            let answers = vec![FigureAnswer { measure, known, change: change(middle) }];
            let outcome = ComparisonOutcome::Judged(FigureCounts::default());
            texts.push(words(&ComparisonFinding::OfRuns { outcome, answers }));
        }
        let texts: Vec<&str> =
            texts.iter().filter_map(|text| text.strip_suffix(" No regression shown.")).collect();
        assert_eq!(
            texts,
            [
                "The CPU time per packet of B is 31 % lower than that of A (-33 to -28 %).",
                "The loss of B is 5.4 percentage points higher than that of A (+3.4 to +8.4 points).",
                "At equal loads no trial of A or B lost a frame.",
                "The CPU time per packet differs by less than the threshold (-2 to +3 %).",
                "The rate delivered at maximum load shows no difference (-3 to +2 %).",
                "The throughput of B is worse in 1 set-up and better in 2 set-ups.",
                "The CPU time per packet has too few trials.",
            ]
        );
        let answers = vec![FigureAnswer {
            measure: Measure::TotalCost,
            known: KnownChange::Better,
            change: change(-0.31),
        }];
        let disturbed = words(&ComparisonFinding::OfRuns { outcome: ComparisonOutcome::Disturbed, answers });
        assert!(disturbed.starts_with("Inconclusive") && disturbed.contains("31 % lower"), "{disturbed}");
    }

    #[test]
    fn notes_and_differences_name_the_runs() {
        let fact = HostFact::CpusAllowed;
        let host = RunsDifference::Host { fact, then: "4".into(), now: "8".into() };
        assert_eq!(
            words(&ComparisonFinding::RunsDiffer { difference: host }),
            "The runs differ: CPUs that may be used: 4 then, 8 now."
        );
        let fact = HostFact::Path("cpu.microcode".into());
        let host = RunsDifference::Host { fact, then: "0x1".into(), now: "unknown".into() };
        assert_eq!(difference_words(&host), "cpu.microcode: 0x1 then, unknown now");
        let trials = RunsDifference::Trials {
            fact: TrialFact::Length,
            methods: vec![Some("recv".into()), None],
            then: vec!["1 s".into(), "2 s".into()],
            now: vec![String::new()],
        };
        assert_eq!(
            difference_words(&trials),
            "length of trials of recv, what was compared: 1 s or 2 s then, unknown now"
        );
        let noted = |note| words(&ComparisonFinding::Note { note });
        assert_eq!(
            noted(ComparisonNote::Soak { run: RunSide::B }),
            "B is a soak: its segments are no trials of their own and are not compared."
        );
        assert_eq!(
            noted(ComparisonNote::HostSpeed { verify_ns_then: 20.0, verify_ns_now: 25.0 }),
            "The CPU itself took 20.0 ns to verify a frame in A and 25.0 ns in B (+25 %), in a loop without any method: the host \
             itself is faster or slower."
        );
    }
}
