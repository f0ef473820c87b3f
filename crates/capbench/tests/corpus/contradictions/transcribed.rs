//! Facts that earlier versions found, transcribed, with the saved trials of their runs: each is contradicted, and found to be.

use std::collections::BTreeMap;

use super::{in_fact, limits, turns};
use crate::answers::{self, results_of};
use crate::imports::{
    BenchFinding, BenchVerdict, Certainty, ComparedMethods, ComparedTime, ComparisonFinding,
    ComparisonOutcome, CostByLoad, Fact, FigureCounts, Finding, FoundLoad, FoundThroughput, Held, KeepsUp,
    KeptPoints, KeptUp, KnownChange, Limit, LimitOfMethods, LossPatternFinding, Measure, MembersGrowth,
    MembersRate, MembersStop, MethodBelow, MethodKeepsUp, MethodLoad, MethodNotBelow, MethodsInTurns,
    Multiple, NsRange, Results, Rfc2544Answer, Rivals, SavedMethod, SearchAnswer, SearchFinding,
    SearchedSetUp, SizeLabel, StopFigures, SustainedLoads, SustainedRate, SweepAnswer, SweepFinding,
    SweepPoint, SweepScene, SweepSeries, TestFact, TrialFinding, TrialResult, Unfinished, WorseMethod,
    sentences,
};

/// A fact of an earlier version, with the trials that it named.
struct Transcribed {
    /// The run, in the corpus.
    run: &'static str,
    /// What the version said.
    text: &'static str,
    fact: Fact,
    trials: Vec<u32>,
    /// A part of what contradicts it.
    contradiction: &'static str,
}

/// The contradictions of a transcribed fact.
fn contradictions(Transcribed { text, fact, trials, .. }: &Transcribed, results: &Results) -> Vec<String> {
    let finding = Finding {
        scene: None,
        subject: None,
        text: (*text).into(),
        fact: Some(fact.clone()),
        trials: trials.clone(),
    };
    in_fact(fact, &finding, results)
}

fn methods(names: &[&str]) -> Vec<SavedMethod> {
    names.iter().map(|name| SavedMethod::from(*name)).collect()
}

/// The set-up of the searches of the shared host.
fn searched(method: Option<&str>) -> SearchedSetUp {
    SearchedSetUp {
        method: method.map(SavedMethod::from),
        frame_size: Some(SizeLabel::Octets(64)),
        placement: Some("same".into()),
        work: Some("none".into()),
        nth: None,
    }
}

/// What methods were said to sustain.
fn sustained(loads: &[(&str, FoundLoad)]) -> Fact {
    let load_of = |(method, load): &(&str, FoundLoad)| MethodLoad {
        method: Some(SavedMethod::from(*method)),
        load: load.clone(),
        trials: Vec::new(),
    };
    Fact::SearchAnswer(SearchAnswer::Sustained(SustainedLoads {
        loss_ratio: 0.0,
        set_up: searched(None),
        methods: loads.iter().map(load_of).collect(),
        first_place: None,
        other_set_ups: 0,
    }))
}

fn of_searches() -> Vec<Transcribed> {
    let upper_of_pdr = vec![
        554, 556, 557, 559, 560, 563, 564, 565, 567, 571, 572, 573, 574, 576, 578, 579, 580, 582, 583, 585,
        587,
    ];
    let none = |goal: &str| Held {
        by: goal.into(),
        pps: None,
        at_least: false,
        upper_pps: None,
        seconds: 0.0,
        trials: Vec::new(),
    };
    vec![
        Transcribed {
            run: "measured/26-search",
            text: "libpcap sustains 779,333 packets/s (without loss, 64-byte frames, placement same); packet-v3 at least 655,179 \
                   packets/s.",
            fact: sustained(&[
                ("libpcap", FoundLoad::Regular { pps: 779_333.0 }),
                ("packet-v3", FoundLoad::AtLeast { pps: 655_179.0 }),
            ]),
            trials: Vec::new(),
            contradiction: "libpcap is one of 6 searches",
        },
        Transcribed {
            run: "measured/25-search",
            text: "no trial sent and delivered every frame, not even at 170,957 packets/s",
            fact: Fact::Search(SearchFinding::Numbers {
                set_up: searched(Some("packet-v3")),
                strict_lossless: Held { upper_pps: Some(170_957.240_309_657_33), ..none("strict") },
                lowest_load: None,
                ndr: none("ndr"),
                pdr: none("pdr"),
                loss_events: None,
            }),
            trials: vec![84, 85, 86, 87],
            contradiction: "3 of 4 trials at 170957",
        },
        Transcribed {
            run: "measured/25-search",
            text: "Limited by the kernel's receive work: frames arrive faster than the kernel processes them (packet-v3).",
            fact: Fact::SearchAnswer(SearchAnswer::Limits {
                limits: vec![LimitOfMethods {
                    limit: Limit::Backlog,
                    methods: vec![Some("packet-v3".into())],
                    searches: None,
                    trials: upper_of_pdr.clone(),
                }],
            }),
            trials: upper_of_pdr,
            contradiction: "17 of 21 trials have unsent frames, and the median loss is 0",
        },
        Transcribed {
            run: "measured/27-search",
            text: "It is not decided what packet-v3 sustains (without loss, 64-byte frames, placement same): the time allowed was \
                   used up.",
            fact: sustained(&[("packet-v3", FoundLoad::Undecided { reason: None })]),
            trials: Vec::new(),
            contradiction: "packets/s had no loss",
        },
    ]
}

fn of_benches_and_comparisons() -> Vec<Transcribed> {
    let of_all = NsRange { low_ns: 13.0, high_ns: 2742.0 };
    vec![
        Transcribed {
            run: "measured/19-bench",
            text: "At 304,470 packets/s packet-v3, libpcap, recv and packet-v2 need the least application CPU time, 13 to 2,742 ns \
                   per packet; packet-v2 needs the most, 13 to 2,742 ns.",
            fact: Fact::Bench(BenchFinding::CostsDiffer {
                time: ComparedTime::Application,
                at_pps: Some(304_470.0),
                cheapest: methods(&["packet-v3", "libpcap", "recv", "packet-v2"]),
                cheapest_time: of_all,
                undecided: Vec::new(),
                dearest: "packet-v2".into(),
                dearest_time: of_all,
            }),
            trials: Vec::new(),
            contradiction: "packet-v2 has the least and the most",
        },
        Transcribed {
            run: "measured/05-bench",
            text: "Not decided; use libpcap meanwhile: it sustains 50,000 packets/s without loss; cmd:pyraw and cmd:scapy may \
                   sustain it, too.",
            fact: Fact::Bench(BenchFinding::Verdict(BenchVerdict::UseMeanwhile {
                method: "libpcap".into(),
                sustains: SustainedRate::Asked { pps: 50_000.0 },
                without_pauses: false,
                app_time: None,
                rivals: Rivals::Cost {
                    may_cost_less: Vec::new(),
                    may_sustain_it: methods(&["cmd:pyraw", "cmd:scapy"]),
                },
                worse: Vec::new(),
            })),
            trials: vec![2, 5, 7],
            contradiction: "cmd:scapy may sustain it, but captured up to 4.4 %",
        },
        Transcribed {
            run: "measured/17-bench",
            text: "packet-v3 against libpcap: No regression shown: 1 figure is not worse; 3 show no difference, but may be worse; 5 \
                   have too few trials. More trials (`--visits 8` in both runs) decide.",
            fact: Fact::Comparison(ComparisonFinding::OfMethods {
                compared: vec![ComparedMethods {
                    then: "libpcap".into(),
                    now: "packet-v3".into(),
                    outcome: ComparisonOutcome::Judged(FigureCounts {
                        worse: 0,
                        better: 0,
                        below_threshold: 0,
                        not_worse: 1,
                        may_be_worse: 3,
                        too_few_trials: 5,
                        more_trials_decide: true,
                        visits: Some(8),
                        is_one_run: false,
                    }),
                    answers: Vec::new(),
                }],
            }),
            trials: Vec::new(),
            contradiction: "8) visits are to decide, and the run had",
        },
    ]
}

/// The placement of the sweeps, and their load.
fn scene(load: &str) -> SweepScene {
    SweepScene { placement: Some("same".into()), load: Some(load.into()) }
}

/// A point of a sweep of work.
fn work_point(index: usize, ns: u32) -> SweepPoint {
    SweepPoint { index, at: Some(ns.into()), label: format!("work ns:{ns}") }
}

/// What members were said to read.
fn rate(index: usize, label: &str, pps: f64) -> MembersRate {
    MembersRate { point: SweepPoint { index, at: Some(index as f64 + 1.0), label: label.into() }, pps }
}

fn of_sweeps() -> Vec<Transcribed> {
    vec![
        Transcribed {
            run: "measured/29-sweep",
            text: "libpcap keeps up only at work ns:0, work ns:4000.",
            fact: Fact::SweepAnswer(Box::new(SweepAnswer::KeepsUp(KeptUp {
                shared_scene: Some(scene("100,000 packets/s")),
                methods: vec![MethodKeepsUp {
                    method: "libpcap".into(),
                    scene: scene("100,000 packets/s"),
                    keeps_up: KeepsUp {
                        points: KeptPoints::Only { points: vec![work_point(0, 0), work_point(2, 4000)] },
                        open: Vec::new(),
                        unsent_points: 0,
                    },
                    trials: Vec::new(),
                }],
            }))),
            trials: Vec::new(),
            contradiction: "point 1 is not kept, but 1 of 2 trials fail",
        },
        Transcribed {
            run: "measured/30-sweep",
            text: "The generator is the limit: it sends 499,717 packets/s, of which they read all.",
            fact: Fact::Sweep(Box::new(SweepFinding::MembersGrowth(MembersGrowth {
                series: SweepSeries { method: "packet-v3".into(), scene: scene("500,000 packets/s") },
                first: rate(0, "1 member", 488_121.0),
                best: rate(0, "1 member", 488_121.0),
                stop: Some(MembersStop {
                    next: rate(1, "2 members", 498_433.0),
                    cause: StopFigures::Generator { offered_pps: 499_717.0, busiest_ratio: None },
                }),
                numbers: 2,
            }))),
            trials: vec![1, 3, 7, 9],
            contradiction: "limited by Generator, which they read, but 2 members lost",
        },
    ]
}

#[test]
fn facts_of_earlier_versions_that_their_trials_contradict_are_found() {
    let mut all = of_searches();
    all.extend(of_benches_and_comparisons());
    all.extend(of_sweeps());
    for transcribed in all {
        let found = contradictions(&transcribed, &results_of(transcribed.run));
        let is_found = found.iter().any(|said| said.contains(transcribed.contradiction));
        assert!(is_found, "{}: {found:?}", transcribed.text);
    }
}

/// The only lossy trial of a method, at 196,273 packets/s; another one was without loss at 100,000.
#[test]
fn a_rate_of_a_lossy_trial_is_not_sustained() {
    let mut results = results_of("measured/21-bench");
    results.trials.truncate(2);
    for (trial, (offered_pps, lost)) in results.trials.iter_mut().zip([(100_000.0, 0), (196_273.0, 50)]) {
        trial.profile.method = "packet-v3".into();
        trial.offered_pps = offered_pps;
        trial.delivered = trial.sent - lost;
    }
    let transcribed = |pps: f64| Transcribed {
        run: "by hand",
        text: "lossless up to ≥ 196,273",
        fact: Fact::Bench(BenchFinding::Verdict(BenchVerdict::Use {
            method: "packet-v3".into(),
            certainty: Certainty::Likely,
            sustains: SustainedRate::AtLeast { pps },
            without_pauses: false,
            app_time: None,
            equal: Vec::new(),
            equal_within_ratio: None,
            may_be_as_good: Vec::new(),
            worse: Vec::new(),
        })),
        trials: results.trials.iter().map(|trial| trial.number).collect(),
        contradiction: "",
    };
    assert_eq!(contradictions(&transcribed(196_273.0), &results).len(), 1);
    assert_eq!(contradictions(&transcribed(100_000.0), &results), Vec::<String>::new());
}

#[test]
fn a_limit_is_the_place_that_lost_most() {
    let results = results_of("measured/25-search");
    let lossy: Vec<&TrialResult> = results.trials.iter().filter(|trial| trial.lost() > 1000).collect();
    assert_eq!(limits::against(Limit::Backlog, &lossy, 1), None);
    let at_ring = limits::against(Limit::Application, &lossy, 1);
    assert!(at_ring.as_ref().is_some_and(|said| said.ends_with("Backlog lost most")), "{at_ring:?}");
    let by_generator = limits::against(Limit::Generator, &lossy, 1);
    assert!(by_generator.is_some());
}

/// Makes a fact wrong.
type Change<F> = fn(&mut F);
/// The method that a verdict names, and those that it says are worse.
type Named = (SavedMethod, Vec<WorseMethod>);

/// What a bench on a quiet host says of three methods in turns.
fn of_turns(results: &mut Results) -> (BenchVerdict, MethodsInTurns) {
    sentences::conclude(results);
    let (mut verdict, mut in_turns) = (None, None);
    for finding in &results.answers {
        match &finding.fact {
            Some(Fact::Bench(BenchFinding::Verdict(fact))) => verdict = Some(fact.clone()),
            Some(Fact::Bench(BenchFinding::InTurns(fact))) => in_turns = Some(fact.clone()),
            _ => {}
        }
    }
    (verdict.unwrap(), in_turns.unwrap())
}

#[test]
fn what_turns_show_is_found_to_be_wrong_once_it_says_something_else() {
    let mut results = results_of("simulated/bench-turns-quiet-1");
    let (verdict, in_turns) = of_turns(&mut results);
    assert_eq!(turns::in_verdict(&verdict, &results), Vec::<String>::new());
    assert_eq!(turns::in_finding(&in_turns, &results), Vec::<String>::new());
    let changes: [(&str, Change<MethodsInTurns>); 8] = [
        ("rounds, but", |fact| fact.rounds += 1),
        ("in two groups", |fact| {
            fact.equal
                .push(MethodNotBelow { method: fact.first.clone(), captured_ratio: fact.captured_ratio });
        }),
        ("is worse than", |fact| std::mem::swap(&mut fact.first, &mut fact.below[0].method)),
        ("captured", |fact| fact.below[1].captured_ratio = 0.9),
        ("captured", |fact| {
            let MethodBelow { method, .. } = fact.below.remove(1);
            fact.may_be_as_good.push(MethodNotBelow { method, captured_ratio: 0.9 });
        }),
        ("the medians show", |fact| {
            fact.below[0].relative_cost = Some(Multiple { middle: 9.0, low: None, high: None });
        }),
        ("at both loads", |fact| {
            let dearer = &fact.below[0];
            let relative_cost = dearer.relative_cost.unwrap();
            let method = dearer.method.clone();
            fact.costs_by_load.push(CostByLoad {
                method,
                relative_cost,
                relative_cost_at_limit: relative_cost,
            });
        }),
        ("1.000 times", |fact| {
            for MethodBelow { method, captured_ratio, .. } in fact.below.drain(1..) {
                fact.equal.push(MethodNotBelow { method, captured_ratio });
            }
        }),
    ];
    for (contradiction, change) in changes {
        let mut fact = in_turns.clone();
        change(&mut fact);
        let found = turns::in_finding(&fact, &results).join("; ");
        assert!(found.contains(contradiction), "{contradiction}: {found}");
    }
    let changes: [(&str, Change<Named>); 3] = [
        ("is worse than", |(method, worse)| std::mem::swap(method, &mut worse[0].method)),
        ("times worse", |(_, worse)| worse[0].factor *= 1.5),
        ("in two groups", |(method, worse)| worse[1].method = method.clone()),
    ];
    for (contradiction, change) in changes {
        let mut fact = verdict.clone();
        let BenchVerdict::Use { method, worse, .. } = &mut fact else { panic!("{fact:?}") };
        let mut changed = (method.clone(), worse.clone());
        change(&mut changed);
        (*method, *worse) = changed;
        let found = turns::in_verdict(&fact, &results).join("; ");
        assert!(found.contains(contradiction), "{contradiction}: {found}");
    }
}

/// Makes a fact wrong if it is of the kind. Returns whether it is.
type ChangeOfKind = fn(&mut Fact) -> bool;

/// A wrong fact of each kind, with the kind.
const CHANGES: [(&str, ChangeOfKind); 9] = [
    ("account", |fact| {
        let Fact::Trials(TrialFinding::AccountedFor(account)) = fact else { return false };
        account.sent_frames += 1;
        true
    }),
    ("noisy trials", |fact| {
        let Fact::Trials(TrialFinding::Noisy { noisy_trials, .. }) = fact else { return false };
        *noisy_trials += 1;
        true
    }),
    ("worst window", |fact| {
        let Fact::LossPattern(LossPatternFinding::WorstWindow { loss_ratio, .. }) = fact else {
            return false;
        };
        *loss_ratio = 0.0;
        true
    }),
    ("marks of rings", |fact| {
        let Fact::LossPattern(LossPatternFinding::RingLossConfirmed { ring_drops, .. }) = fact else {
            return false;
        };
        *ring_drops += 1;
        true
    }),
    ("load of an unfinished run", |fact| {
        let Fact::Unfinished(Unfinished { lossless: Some(tried), .. }) = fact else { return false };
        tried.offered_pps *= 2.0;
        true
    }),
    ("throughput", |fact| {
        let Fact::Rfc2544Answer(Rfc2544Answer::Throughput { set_ups }) = fact else { return false };
        let FoundThroughput::Regular { pps } = &mut set_ups[0].found else { return false };
        *pps *= 2.0;
        true
    }),
    ("loss at the highest load", |fact| {
        let Fact::Rfc2544Answer(Rfc2544Answer::Loss { tests }) = fact else { return false };
        let TestFact::SomeLost { highest, .. } = &mut tests[0].fact else { return false };
        highest.loss_ratio += 0.5;
        true
    }),
    ("pauses", |fact| {
        let Fact::Bench(BenchFinding::Paused { methods }) = fact else { return false };
        methods[0].lossy_trials += 1;
        true
    }),
    ("costs of methods in pairs", |fact| {
        let Fact::Comparison(ComparisonFinding::OfMethods { compared }) = fact else { return false };
        let mut answers = compared[0].answers.iter_mut();
        let Some(answer) = answers.find(|answer| answer.measure == Measure::TotalCost) else { return false };
        answer.known = match answer.known {
            KnownChange::Better => KnownChange::Worse,
            KnownChange::Worse => KnownChange::Better,
            _ => return false,
        };
        true
    }),
];

#[test]
fn a_fact_of_each_kind_is_found_to_be_wrong_once_it_says_something_else() {
    let mut left = BTreeMap::from(CHANGES);
    for run in answers::runs() {
        let Ok(read) = &run.read else { continue };
        let mut results = read.results.clone();
        sentences::conclude(&mut results);
        for finding in results.answers.iter().chain(&results.findings).chain(&results.caveats) {
            left.retain(|_, change| {
                let Some(mut fact) = finding.fact.clone() else { return true };
                !change(&mut fact) || in_fact(&fact, finding, &results).is_empty()
            });
        }
    }
    assert!(left.is_empty(), "no run contradicts {:?}", left.keys());
}
