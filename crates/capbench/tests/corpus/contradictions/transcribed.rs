//! Facts that earlier versions found, transcribed, with the saved trials of their runs: each is contradicted, and found to be.

use serde_json::{Value, json};

use super::{in_fact, limits};
use crate::answers::results_of;
use crate::imports::{Fact, Finding, Limit, Results, TrialResult};

/// A fact of an earlier version, with the trials that it named.
struct Transcribed {
    /// The run, in the corpus.
    run: &'static str,
    /// What the version said.
    text: &'static str,
    fact: Value,
    trials: Vec<u32>,
    /// A part of what contradicts it.
    contradiction: &'static str,
}

/// The contradictions of a transcribed fact.
fn contradictions(transcribed: &Transcribed, results: &Results) -> Vec<String> {
    let fact: Fact = serde_json::from_value(transcribed.fact.clone()).expect("it is a fact");
    let finding = Finding {
        scene: None,
        subject: None,
        text: transcribed.text.into(),
        fact: Some(fact.clone()),
        trials: transcribed.trials.clone(),
    };
    in_fact(&fact, &finding, results)
}

/// A point of a sweep of work.
fn work_point(index: usize, ns: u32) -> Value {
    json!({"index": index, "at": f64::from(ns), "label": format!("work ns:{ns}")})
}

/// The set-up of the searches of the shared host.
fn searched(method: Option<&str>) -> Value {
    let mut set_up = json!({"frame_size": 64, "placement": "same", "work": "none"});
    if let Some(method) = method {
        set_up["method"] = json!(method);
    }
    set_up
}

fn of_searches() -> Vec<Transcribed> {
    let upper_of_pdr = vec![
        554, 556, 557, 559, 560, 563, 564, 565, 567, 571, 572, 573, 574, 576, 578, 579, 580, 582, 583, 585,
        587,
    ];
    let backlog = json!({"what": "backlog"});
    vec![
        Transcribed {
            run: "measured/26-search",
            text: "libpcap sustains 779,333 packets/s (without loss, 64-byte frames, placement same); packet-v3 at least 655,179 \
                   packets/s.",
            fact: json!({
                "about": "search_answer", "what": "sustained", "loss_ratio": 0.0, "set_up": searched(None), "other_set_ups": 0,
                "methods": [
                    {"method": "libpcap", "load": {"known": "regular", "pps": 779_333.0}, "trials": []},
                    {"method": "packet-v3", "load": {"known": "at_least", "pps": 655_179.0}, "trials": []},
                ],
            }),
            trials: Vec::new(),
            contradiction: "libpcap is one of 6 searches",
        },
        Transcribed {
            run: "measured/25-search",
            text: "no trial sent and delivered every frame, not even at 170,957 packets/s",
            fact: json!({
                "about": "search", "what": "numbers", "set_up": searched(Some("packet-v3")),
                "strict_lossless": {
                    "by": "strict", "pps": null, "at_least": false, "upper_pps": 170_957.240_309_657_33, "seconds": 0.0,
                    "trials": [],
                },
                "ndr": {"by": "ndr", "pps": null, "at_least": false, "seconds": 0.0, "trials": []},
                "pdr": {"by": "pdr", "pps": null, "at_least": false, "seconds": 0.0, "trials": []},
                "loss_events": null,
            }),
            trials: vec![84, 85, 86, 87],
            contradiction: "3 of 4 trials at 170957",
        },
        Transcribed {
            run: "measured/25-search",
            text: "Limited by the kernel's receive work: frames arrive faster than the kernel processes them (packet-v3).",
            fact: json!({
                "about": "search_answer", "what": "limits",
                "limits": [{"limit": backlog, "methods": ["packet-v3"], "trials": upper_of_pdr.clone()}],
            }),
            trials: upper_of_pdr,
            contradiction: "17 of 21 trials have unsent frames, and the median loss is 0",
        },
        Transcribed {
            run: "measured/27-search",
            text: "It is not decided what packet-v3 sustains (without loss, 64-byte frames, placement same): the time allowed was \
                   used up.",
            fact: json!({
                "about": "search_answer", "what": "sustained", "loss_ratio": 0.0, "set_up": searched(None), "other_set_ups": 0,
                "methods": [{"method": "packet-v3", "load": {"known": "undecided"}, "trials": []}],
            }),
            trials: Vec::new(),
            contradiction: "packets/s had no loss",
        },
    ]
}

fn of_benches_and_comparisons() -> Vec<Transcribed> {
    vec![
        Transcribed {
            run: "measured/19-bench",
            text: "At 304,470 packets/s packet-v3, libpcap, recv and packet-v2 need the least application CPU time, 13 to 2,742 ns \
                   per packet; packet-v2 needs the most, 13 to 2,742 ns.",
            fact: json!({
                "about": "bench", "what": "costs_differ", "time": "application", "at_pps": 304_470.0,
                "cheapest": ["packet-v3", "libpcap", "recv", "packet-v2"],
                "cheapest_time": {"low_ns": 13.0, "high_ns": 2742.0},
                "dearest": "packet-v2", "dearest_time": {"low_ns": 13.0, "high_ns": 2742.0},
            }),
            trials: Vec::new(),
            contradiction: "packet-v2 has the least and the most",
        },
        Transcribed {
            run: "measured/05-bench",
            text: "Not decided; use libpcap meanwhile: it sustains 50,000 packets/s without loss; cmd:pyraw and cmd:scapy may \
                   sustain it, too.",
            fact: json!({
                "about": "bench", "what": "verdict", "verdict": "use_meanwhile", "method": "libpcap",
                "sustains": {"known": "asked", "pps": 50_000.0}, "without_pauses": false,
                "rivals": {"by": "cost", "may_cost_less": [], "may_sustain_it": ["cmd:pyraw", "cmd:scapy"]},
            }),
            trials: vec![2, 5, 7],
            contradiction: "cmd:scapy may sustain it, but captured up to 4.4 %",
        },
        Transcribed {
            run: "measured/17-bench",
            text: "packet-v3 against libpcap: No regression shown: 1 figure is not worse; 3 show no difference, but may be worse; 5 \
                   have too few trials. More trials (`--visits 8` in both runs) decide.",
            fact: json!({
                "about": "comparison", "what": "of_methods",
                "compared": [{
                    "then": "libpcap", "now": "packet-v3",
                    "outcome": {
                        "known": "judged", "worse": 0, "better": 0, "below_threshold": 0, "not_worse": 1, "may_be_worse": 3,
                        "too_few_trials": 5, "more_trials_decide": true, "visits": 8,
                    },
                }],
            }),
            trials: Vec::new(),
            contradiction: "8) visits are to decide, and the run had",
        },
    ]
}

fn of_sweeps() -> Vec<Transcribed> {
    let scene = json!({"placement": "same", "load": "100,000 packets/s"});
    vec![
        Transcribed {
            run: "measured/29-sweep",
            text: "libpcap keeps up only at work ns:0, work ns:4000.",
            fact: json!({
                "about": "sweep_answer", "what": "keeps_up", "shared_scene": scene,
                "methods": [{
                    "method": "libpcap", "scene": scene,
                    "keeps_up": {
                        "points": {"keeps_up": "only", "points": [work_point(0, 0), work_point(2, 4000)]},
                        "unsent_points": 0,
                    },
                    "trials": [],
                }],
            }),
            trials: Vec::new(),
            contradiction: "point 1 is not kept, but 1 of 2 trials fail",
        },
        Transcribed {
            run: "measured/30-sweep",
            text: "The generator is the limit: it sends 499,717 packets/s, of which they read all.",
            fact: json!({
                "about": "sweep", "what": "members_growth", "numbers": 2,
                "series": {"method": "packet-v3", "scene": {"placement": "same", "load": "500,000 packets/s"}},
                "first": {"point": {"index": 0, "at": 1.0, "label": "1 member"}, "pps": 488_121.0},
                "best": {"point": {"index": 0, "at": 1.0, "label": "1 member"}, "pps": 488_121.0},
                "stop": {
                    "next": {"point": {"index": 1, "at": 2.0, "label": "2 members"}, "pps": 498_433.0},
                    "cause": {"what": "generator", "offered_pps": 499_717.0, "busiest_ratio": null},
                },
            }),
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
        fact: json!({
            "about": "bench", "what": "verdict", "verdict": "use", "method": "packet-v3", "certainty": "likely",
            "sustains": {"known": "at_least", "pps": pps}, "without_pauses": false, "equal": [],
        }),
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
