//! Each sentence once.

use super::{
    BenchFinding, BetterElsewhere, ComparedTime, NsRange, OverloadLoss, PausedMethod, SavedMethod, SetUp,
    words,
};
use capbench_judge::finding::bench::{BenchVerdict, NoAnswerBecause, Rivals, SustainedRate, TimeOfThread};
use capbench_judge::recommendation::Certainty;
use capbench_model::places::Place;

fn methods<const N: usize>(names: [&str; N]) -> Vec<SavedMethod> {
    names.map(SavedMethod::from).to_vec()
}

const SIXTY_NS: Option<NsRange> = Some(NsRange { low_ns: 60.0, high_ns: 60.0 });

#[test]
fn the_method_to_use_is_named_with_rate_and_cost() {
    let verdict = |certainty, sustains, without_pauses, app_time, equal: &[&str]| {
        let equal = equal.iter().map(|method| SavedMethod::from(*method)).collect();
        words(&BenchFinding::Verdict(BenchVerdict::Use {
            method: "recv".into(),
            certainty,
            sustains,
            without_pauses,
            app_time,
            equal,
        }))
    };
    let at_least = SustainedRate::AtLeast { pps: 1_424_999.0 };
    assert_eq!(
        verdict(Certainty::Certain, at_least, false, SIXTY_NS, &[]),
        "Use recv: at least 1.42 million packets/s without loss, 60 ns of application CPU per packet."
    );
    let limit = SustainedRate::Limit { pps: 95_009.0, precision_ratio: 0.05 };
    assert_eq!(
        verdict(Certainty::Likely, limit, true, None, &["packet-v3"]),
        "Probably best is recv: 95,000 packets/s (±5 %) without loss (pauses of the host not counted); packet-v3 is equal within \
         noise."
    );
    let asked = SustainedRate::Asked { pps: 100_000.0 };
    assert_eq!(
        verdict(Certainty::Certain, asked, false, None, &["a", "b", "c", "d", "e"]),
        "Use recv: it sustains 100,000 packets/s without loss; a, b, c, d and 1 more are equal within noise."
    );
    let none = verdict(Certainty::Certain, SustainedRate::None, false, None, &[]);
    assert_eq!(none, "Use recv: no load without loss.");
    let unknown = verdict(Certainty::Certain, SustainedRate::Unknown, false, None, &[]);
    assert_eq!(unknown, "Use recv: its rate is unknown.");
}

#[test]
fn rivals_of_the_method_to_use_meanwhile_are_named() {
    let meanwhile = |sustains, rivals| {
        words(&BenchFinding::Verdict(BenchVerdict::UseMeanwhile {
            method: "packet-v3".into(),
            sustains,
            without_pauses: false,
            app_time: SIXTY_NS,
            rivals,
        }))
    };
    let may_sustain_more = methods(["recv"]);
    assert_eq!(
        meanwhile(SustainedRate::AtLeast { pps: 500_000.0 }, Rivals::Rate { may_sustain_more }),
        "Not decided; use packet-v3 meanwhile: at least 500,000 packets/s without loss, 60 ns of application CPU per packet; recv \
         may sustain more."
    );
    let of_cost = |may_cost_less: &[&str], may_sustain_it: &[&str]| {
        let [may_cost_less, may_sustain_it] =
            [may_cost_less, may_sustain_it].map(|names| names.iter().map(|name| (*name).into()).collect());
        meanwhile(SustainedRate::Asked { pps: 1000.0 }, Rivals::Cost { may_cost_less, may_sustain_it })
    };
    assert!(of_cost(&["recv"], &[]).ends_with("per packet; recv may cost less."));
    assert!(of_cost(&[], &["recv"]).ends_with("per packet; recv may sustain it, too."));
    let both = of_cost(&["recv"], &["libpcap"]);
    assert!(both.ends_with("; recv may cost less, and libpcap may sustain it, too."), "{both}");
    let one_of = BenchFinding::Verdict(BenchVerdict::OneOf { methods: methods(["recv", "libpcap"]) });
    assert_eq!(words(&one_of), "Not decided: one of recv and libpcap.");
}

#[test]
fn that_no_method_sustains_the_load_is_said_with_the_reason() {
    let none = |asked_pps, is_some_unknown, closest: Option<&str>, place| {
        let closest = closest.map(SavedMethod::from);
        words(&BenchFinding::Verdict(BenchVerdict::NoneLossless {
            asked_pps,
            is_some_unknown,
            closest,
            place,
        }))
    };
    assert_eq!(
        none(None, false, Some("recv"), Some(Place::Ring)),
        "No method sustains any of the tried loads without loss: recv comes closest and loses most in the ring or socket queue."
    );
    assert_eq!(
        none(Some(1000.0), true, None, Some(Place::Ring)),
        "No method is shown to sustain 1,000 packets/s without loss: most frames are lost in the ring or socket queue."
    );
    assert_eq!(none(Some(1000.0), false, None, None), "No method sustains 1,000 packets/s without loss.");
    let no_time = |time_of| {
        words(&BenchFinding::Verdict(BenchVerdict::NoTime {
            asked_pps: 200_000.0,
            time_of,
            ns_per_packet: 20_000.0,
        }))
    };
    assert_eq!(
        no_time(TimeOfThread::Work),
        "No method sustains 200,000 packets/s without loss: the work takes 20 µs of CPU time per packet, so one thread processes \
         up to 50,000 packets/s."
    );
    let measured = no_time(TimeOfThread::Application);
    assert!(measured.contains("the application needs at least 20 µs of CPU time per packet"), "{measured}");
    assert_eq!(
        words(&BenchFinding::Verdict(BenchVerdict::NotSent { asked_pps: 100_000.0, sent_pps: 22_000.5 })),
        "No method was tested at 100,000 packets/s: the generator sent up to 22,000 packets/s."
    );
}

#[test]
fn that_there_is_no_answer_is_said_with_the_reason() {
    let reason = "11 frames were delivered of 10 sent".into();
    assert_eq!(
        words(&BenchFinding::Verdict(BenchVerdict::EveryTrialInvalid { reason })),
        "No method can be named: every trial is invalid (11 frames were delivered of 10 sent)."
    );
    let no_answer = |because, place| {
        words(&BenchFinding::Verdict(BenchVerdict::NoAnswer { because, noisy_trials: 2, trials: 3, place }))
    };
    assert_eq!(
        no_answer(NoAnswerBecause::NoneSustained, Some(Place::Backlog)),
        "No answer: no method sustained any of the tried loads without loss, and the host disturbed 2 of 3 trials. Most frames \
         were lost in the softirq backlog. Stop other work and run it again."
    );
    let not_sent = no_answer(NoAnswerBecause::NotSent { asked_pps: 1000.0, sent_pps: 900.0 }, None);
    assert!(
        not_sent.contains(": the generator sent up to 900 packets/s of 1,000 packets/s, and"),
        "{not_sent}"
    );
    let not_sustained = no_answer(NoAnswerBecause::NotSustained { asked_pps: 1000.0 }, None);
    assert!(not_sustained.contains(": no method sustained 1,000 packets/s without loss, and"));
}

#[test]
fn commands_can_be_typed() {
    let command = ["search", "--method", "recv,packet v3"].map(String::from).to_vec();
    assert_eq!(
        words(&BenchFinding::Settle { command: command.clone(), takes_s: Some(241.0) }),
        "To decide between them: `capbench search --method 'recv,packet v3'` (about 5 min)."
    );
    assert!(words(&BenchFinding::Settle { command, takes_s: None }).ends_with("v3'`."));
    let command = ["bench", "--quick"].map(String::from).to_vec();
    assert_eq!(
        words(&BenchFinding::FindHighest { command }),
        "To find the highest rate that they sustain: `capbench bench --quick`."
    );
}

#[test]
fn what_the_others_lack_is_said() {
    let worse = BenchFinding::Worse {
        certainly_less: methods(["a"]),
        probably_less: methods(["b", "c"]),
        costlier: methods(["d"]),
    };
    assert_eq!(
        words(&worse),
        "a certainly sustains less; b and c probably sustain less; d costs more at about the same rate."
    );
    assert_eq!(
        words(&BenchFinding::Unknown { methods: methods(["a", "b"]) }),
        "These trials do not show what a and b sustain."
    );
    let paused = |lossy_trials| PausedMethod {
        method: "a".into(),
        trials: 3,
        lossy_trials,
        largest_loss_ratio: 0.003,
    };
    assert_eq!(
        words(&BenchFinding::Paused { methods: vec![paused(1), paused(2)] }),
        "In 1 of 3 trials of a (0.3 % of the frames lost) and 2 of 3 trials of a (up to 0.3 % of the frames lost) the host stopped \
         the capture thread for a moment. capbench does not count these losses against a method."
    );
    let set_up = |octets| SetUp {
        frame_size: capbench_model::trial::SizeLabel::Octets(octets),
        placement: "same".into(),
        work: "none".into(),
    };
    let better = BetterElsewhere { method: "b".into(), set_up: set_up(1518) };
    let elsewhere = BenchFinding::OtherSetUps {
        set_up: set_up(64),
        method: "a".into(),
        others: 4,
        alike: 1,
        better: vec![better.clone(), better.clone(), better],
    };
    assert_eq!(
        words(&elsewhere),
        "The verdict is for 64-byte frames, placement same; a is best or equal in 1 of 4 other set-ups; b is better with \
         1518-byte frames, placement same; b is better with 1518-byte frames, placement same."
    );
}

#[test]
fn losses_and_costs_are_said_of_the_least_and_the_most() {
    let loss = |method: &str, place| OverloadLoss {
        method: method.into(),
        loss_ratio: 0.72,
        offered_pps: 1e6,
        place,
    };
    let overload = BenchFinding::Overload {
        lossless: methods(["a", "b"]),
        behind: methods(["c"]),
        least: None,
        most: loss("d", Some(Place::Ring)),
    };
    assert_eq!(
        words(&overload),
        "At maximum load a and b lose nothing; c falls behind, with its frames still in buffers; d loses 72 % of 1,000,000 \
         packets/s in the ring or socket queue."
    );
    let all_lose = BenchFinding::Overload {
        lossless: Vec::new(),
        behind: Vec::new(),
        least: Some(loss("a", None)),
        most: loss("b", None),
    };
    let behind = BenchFinding::Overload {
        lossless: Vec::new(),
        behind: methods(["c", "e"]),
        least: None,
        most: loss("d", None),
    };
    assert!(
        words(&behind).contains(" c and e fall behind, with their frames still in buffers; d loses"),
        "{}",
        words(&behind)
    );
    assert!(
        words(&all_lose)
            .starts_with("At maximum load a loses 72 % of 1,000,000 packets/s at an unknown place; b loses")
    );
    let costs = |time| BenchFinding::CostsDiffer {
        time,
        at_pps: Some(95_000.0),
        cheapest: methods(["a", "b"]),
        cheapest_time: NsRange { low_ns: 60.0, high_ns: 62.0 },
        dearest: "c".into(),
        dearest_time: NsRange { low_ns: 500.0, high_ns: 500.0 },
    };
    assert_eq!(
        words(&costs(ComparedTime::Application)),
        "At 95,000 packets/s a and b need the least application CPU time, 60 to 62 ns per packet; c needs the most, 500 ns."
    );
    let total = words(&costs(ComparedTime::Total));
    assert!(total.contains("the least CPU time of application and kernel together, 60"), "{total}");
    // A sentence begins with a capital letter, with and without a load.
    let equal = |at_pps| words(&BenchFinding::CostsEqual { time: ComparedTime::Application, at_pps });
    assert_eq!(
        equal(Some(95_000.0)),
        "At 95,000 packets/s the application CPU time per packet of the methods cannot be distinguished."
    );
    assert_eq!(equal(None), "The application CPU time per packet of the methods cannot be distinguished.");
}
