//! Each sentence about a bench, once.

use super::{
    BenchFinding, BetterElsewhere, ComparedTime, NsRange, OverloadLoss, PausedMethod, SavedMethod, SetUp,
    words,
};
use capbench_judge::finding::bench::{
    BenchVerdict, CostByLoad, MethodBelow, MethodNotBelow, MethodsInTurns, MostMissed, NoAnswerBecause,
    Rivals, SustainedRate, TimeOfThread, UnknownBecause, UnknownProgram, WorseMethod,
};
use capbench_judge::recommendation::Certainty;
use capbench_judge::recommendation::turns::{BelowBy, Multiple, SentShares};
use capbench_model::places::Place;
use capbench_model::trial::SizeLabel;

fn methods<const N: usize>(names: [&str; N]) -> Vec<SavedMethod> {
    names.map(SavedMethod::from).to_vec()
}

const SIXTY_NS: Option<NsRange> = Some(NsRange { low_ns: 60.0, high_ns: 60.0 });

/// The words of a verdict.
fn verdict_words(verdict: BenchVerdict) -> String {
    words(&BenchFinding::Verdict(verdict))
}

/// The verdict to use `recv`, which sustains this. Nothing else is known.
fn use_recv(sustains: SustainedRate) -> BenchVerdict {
    BenchVerdict::Use {
        method: "recv".into(),
        certainty: Certainty::Certain,
        sustains,
        without_pauses: false,
        app_time: None,
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    }
}

#[test]
fn the_method_to_use_is_named_with_rate_and_cost() {
    let certain = BenchVerdict::Use {
        method: "recv".into(),
        certainty: Certainty::Certain,
        sustains: SustainedRate::AtLeast { pps: 1_424_999.0 },
        without_pauses: false,
        app_time: SIXTY_NS,
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(
        verdict_words(certain),
        "Use recv: at least 1.42 million packets/s without loss, 60 ns of application CPU per packet."
    );
    let likely = BenchVerdict::Use {
        method: "recv".into(),
        certainty: Certainty::Likely,
        sustains: SustainedRate::Limit { pps: 95_009.0, precision_ratio: 0.05 },
        without_pauses: true,
        app_time: None,
        equal: methods(["packet-v3"]),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(
        verdict_words(likely),
        "Probably best is recv: 95,000 packets/s (±5 %) without loss (pauses of the host not counted); packet-v3 is equal within \
         noise."
    );
    let many_equal = BenchVerdict::Use {
        method: "recv".into(),
        certainty: Certainty::Certain,
        sustains: SustainedRate::Asked { pps: 100_000.0 },
        without_pauses: false,
        app_time: None,
        equal: methods(["a", "b", "c", "d", "e"]),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(
        verdict_words(many_equal),
        "Use recv: it sustains 100,000 packets/s without loss; a, b, c, d and 1 more are equal within noise."
    );
}

#[test]
fn a_method_may_be_used_without_a_known_rate() {
    assert_eq!(verdict_words(use_recv(SustainedRate::None)), "Use recv: no tried load was without loss.");
    assert_eq!(verdict_words(use_recv(SustainedRate::Unknown)), "Use recv: its rate is unknown.");
}

#[test]
fn methods_that_are_worse_come_before_the_rate() {
    let worse = |method: &str, by, factor| WorseMethod {
        method: method.into(),
        by,
        factor,
        at_pps: (by == BelowBy::Loss).then_some(1_516_000.0),
    };
    let worse = vec![worse("packet-v2", BelowBy::Cost, 2.14), worse("recv", BelowBy::Loss, 2.0)];
    let sustains = SustainedRate::AtLeast { pps: 688_500.0 };
    let named = BenchVerdict::Use {
        method: "packet-v3".into(),
        certainty: Certainty::Certain,
        sustains,
        without_pauses: false,
        app_time: SIXTY_NS,
        equal: methods(["libpcap"]),
        equal_within_ratio: Some(0.1),
        may_be_as_good: methods(["af-xdp"]),
        worse: worse.clone(),
    };
    let are_worse = "packet-v2 (2.1 times the CPU time per packet) and recv (captures 50 % fewer frames at 1.51 million packets/s) are worse. At least \
                     688,000 packets/s without loss, 60 ns of application CPU per packet.";
    assert_eq!(
        verdict_words(named),
        format!("Use packet-v3; libpcap is equal within 10 %; af-xdp may be as good; {are_worse}")
    );
    let meanwhile = BenchVerdict::UseMeanwhile {
        method: "packet-v3".into(),
        sustains,
        without_pauses: false,
        app_time: SIXTY_NS,
        rivals: Rivals::Turns { may_be_better: methods(["af-xdp"]), may_be_as_good: methods(["libpcap"]) },
        worse,
    };
    assert_eq!(
        verdict_words(meanwhile),
        format!("Use packet-v3 meanwhile: af-xdp may be better, libpcap may be as good, {are_worse}")
    );
}

#[test]
fn rivals_of_the_method_to_use_meanwhile_are_named() {
    let meanwhile = |sustains, rivals| {
        verdict_words(BenchVerdict::UseMeanwhile {
            method: "packet-v3".into(),
            sustains,
            without_pauses: false,
            app_time: SIXTY_NS,
            rivals,
            worse: Vec::new(),
        })
    };
    let may_sustain_more = methods(["recv"]);
    assert_eq!(
        meanwhile(SustainedRate::AtLeast { pps: 500_000.0 }, Rivals::Rate { may_sustain_more }),
        "Not decided; use packet-v3 meanwhile: at least 500,000 packets/s without loss, 60 ns of application CPU per packet; recv \
         may sustain more."
    );
    for (may_cost_less, may_sustain_it, end) in [
        (methods(["recv"]), Vec::new(), "per packet; recv may cost less."),
        (Vec::new(), methods(["recv"]), "per packet; recv may sustain it, too."),
        (methods(["recv"]), methods(["libpcap"]), "; recv may cost less, and libpcap may sustain it, too."),
    ] {
        let rivals = Rivals::Cost { may_cost_less, may_sustain_it };
        let text = meanwhile(SustainedRate::Asked { pps: 1000.0 }, rivals);
        assert!(text.ends_with(end), "{text}");
    }
    let one_of = BenchVerdict::OneOf { methods: methods(["recv", "libpcap"]) };
    assert_eq!(verdict_words(one_of), "Not decided: one of recv and libpcap.");
}

#[test]
fn that_no_method_sustains_the_load_is_said_with_the_place_of_most_losses() {
    let any_load = BenchVerdict::NoneLossless {
        asked_pps: None,
        sent: None,
        is_some_unknown: false,
        closest: Some("recv".into()),
        place: Some(Place::Ring),
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(
        verdict_words(any_load),
        "No method sustains any of the tried loads without loss: recv comes closest and loses most in the ring or socket queue."
    );
    let with_a_worse_one = BenchVerdict::NoneLossless {
        asked_pps: Some(1000.0),
        sent: None,
        is_some_unknown: false,
        closest: Some("packet-v3".into()),
        place: Some(Place::Ring),
        equal: vec!["libpcap".into()],
        equal_within_ratio: Some(0.1),
        may_be_as_good: Vec::new(),
        worse: vec![WorseMethod { method: "recv".into(), by: BelowBy::Loss, factor: 1.25, at_pps: None }],
    };
    assert_eq!(
        verdict_words(with_a_worse_one),
        "No method sustains 1,000 packets/s without loss: packet-v3 comes closest and loses most in the ring or socket queue; libpcap is equal within 10 %; recv (captures 20 % fewer frames) is worse."
    );
    let perhaps_one = BenchVerdict::NoneLossless {
        asked_pps: Some(1000.0),
        sent: Some(SentShares { least: 0.24, most: 0.47 }),
        is_some_unknown: true,
        closest: None,
        place: Some(Place::Ring),
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(
        verdict_words(perhaps_one),
        "No method is shown to sustain 1,000 packets/s without loss (the generator sent 24 to 47 % of it): most frames are lost in the ring or socket queue."
    );
    let place_unknown = BenchVerdict::NoneLossless {
        asked_pps: Some(1000.0),
        sent: None,
        is_some_unknown: false,
        closest: None,
        place: None,
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(verdict_words(place_unknown), "No method sustains 1,000 packets/s without loss.");
    let nothing_lost = BenchVerdict::NoneLossless {
        asked_pps: Some(1000.0),
        sent: None,
        is_some_unknown: true,
        closest: Some("packet-v3".into()),
        place: None,
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(
        verdict_words(nothing_lost),
        "No method is shown to sustain 1,000 packets/s without loss: packet-v3 comes closest."
    );
}

#[test]
fn that_no_method_can_sustain_the_load_is_said_with_the_time_of_a_packet() {
    let no_time = |time_of| {
        verdict_words(BenchVerdict::NoTime { asked_pps: 200_000.0, time_of, ns_per_packet: 20_000.0 })
    };
    assert_eq!(
        no_time(TimeOfThread::Work),
        "No method sustains 200,000 packets/s without loss: the work takes 20 µs of CPU time per packet, so one thread processes \
         up to 50,000 packets/s."
    );
    let measured = no_time(TimeOfThread::Application);
    assert!(measured.contains("the application needs at least 20 µs of CPU time per packet"), "{measured}");
}

#[test]
fn that_the_generator_did_not_send_the_load_is_said_with_its_rate() {
    assert_eq!(
        verdict_words(BenchVerdict::NotSent { asked_pps: 100_000.0, sent_pps: 22_000.5 }),
        "No method was tested at 100,000 packets/s: the generator sent up to 22,000 packets/s."
    );
}

#[test]
fn that_there_is_no_answer_is_said_with_the_reason() {
    let reason = "11 frames were delivered of 10 sent".into();
    assert_eq!(
        verdict_words(BenchVerdict::EveryTrialInvalid { reason }),
        "No method can be named: every trial is invalid (11 frames were delivered of 10 sent)."
    );
    let no_answer =
        |because, place| verdict_words(BenchVerdict::NoAnswer { because, noisy_trials: 2, trials: 3, place });
    assert_eq!(
        no_answer(NoAnswerBecause::NoneSustained, Some(Place::Backlog)),
        "No answer: no method sustained any of the tried loads without loss, and the host disturbed 2 of 3 trials. Most frames \
         were lost in the softirq backlog. Stop other work and run it again."
    );
    let not_sent = no_answer(NoAnswerBecause::NotSent { asked_pps: 1000.0, sent_pps: 900.0 }, None);
    let clause = ": the generator sent up to 900 packets/s of 1,000 packets/s, and";
    assert!(not_sent.contains(clause), "{not_sent}");
    let not_sustained = no_answer(NoAnswerBecause::NotSustained { asked_pps: 1000.0 }, None);
    assert!(
        not_sustained.contains(": no method sustained 1,000 packets/s without loss, and"),
        "{not_sustained}"
    );
}

#[test]
fn commands_can_be_typed() {
    let command = ["search", "--method", "recv,packet v3"].map(String::from).to_vec();
    assert_eq!(
        words(&BenchFinding::Settle { command: command.clone(), takes_s: Some(82.4) }),
        "To decide between them: `capbench search --method 'recv,packet v3'` (up to 82 s)."
    );
    assert!(words(&BenchFinding::Settle { command, takes_s: None }).ends_with("v3'`."));
    let command = ["bench", "--quick"].map(String::from).to_vec();
    assert_eq!(
        words(&BenchFinding::FindHighest { command }),
        "To find the highest rate that they sustain: `capbench bench --quick`."
    );
}

#[test]
fn methods_that_sustain_less_or_cost_more_are_named() {
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
}

#[test]
fn losses_in_pauses_of_the_host_are_said_by_method() {
    let paused = |lossy_trials| PausedMethod {
        method: "a".into(),
        trials: 3,
        lossy_trials,
        largest_loss_ratio: 0.003,
    };
    assert_eq!(
        words(&BenchFinding::Paused { methods: vec![paused(1), paused(2)] }),
        "At loads that they sustain, 1 of 3 trials of a (0.3 % of the frames) and 2 of 3 trials of a (up to 0.3 % of the frames) \
         lost frames: in a single moment, as when the host stops the capture thread, while other programs used the CPUs, or not again in a second trial. capbench does not \
         count these losses against a method."
    );
}

#[test]
fn other_set_ups_are_counted_and_two_with_a_better_method_are_named() {
    let set_up = |octets| SetUp {
        frame_size: SizeLabel::Octets(octets),
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
        "The verdict is for 64-byte frames, placement same; a is or may be best in 1 of 4 other set-ups; b is better with \
         1518-byte frames, placement same; b is better with 1518-byte frames, placement same."
    );
}

/// A loss of 72 % at maximum load.
fn overload_loss(method: &str, place: Option<Place>) -> OverloadLoss {
    OverloadLoss { method: method.into(), loss_ratio: 0.72, offered_pps: 1e6, place }
}

#[test]
fn losses_at_maximum_load_are_said() {
    let overload = BenchFinding::Overload {
        lossless: methods(["a", "b"]),
        behind: methods(["c"]),
        least: None,
        most: overload_loss("d", Some(Place::Ring)),
    };
    assert_eq!(
        words(&overload),
        "At maximum load a and b lose nothing; c falls behind, with its frames still in buffers; d loses 72 % of 1,000,000 \
         packets/s in the ring or socket queue."
    );
    let several_behind = words(&BenchFinding::Overload {
        lossless: Vec::new(),
        behind: methods(["c", "e"]),
        least: None,
        most: overload_loss("d", None),
    });
    let clause = " c and e fall behind, with their frames still in buffers; d loses";
    assert!(several_behind.contains(clause), "{several_behind}");
    let all_lose = words(&BenchFinding::Overload {
        lossless: Vec::new(),
        behind: Vec::new(),
        least: Some(overload_loss("a", None)),
        most: overload_loss("b", None),
    });
    let beginning = "At maximum load a loses 72 % of 1,000,000 packets/s at an unknown place; b loses";
    assert!(all_lose.starts_with(beginning), "{all_lose}");
}

#[test]
fn costs_are_said_of_the_cheapest_and_the_dearest_method() {
    let costs_differ = |time, undecided: &[&str]| {
        words(&BenchFinding::CostsDiffer {
            time,
            undecided: undecided.iter().map(|method| (*method).into()).collect(),
            at_pps: Some(95_000.0),
            cheapest: methods(["a", "b"]),
            cheapest_time: NsRange { low_ns: 60.0, high_ns: 62.0 },
            dearest: "c".into(),
            dearest_time: NsRange { low_ns: 500.0, high_ns: 500.0 },
        })
    };
    assert_eq!(
        costs_differ(ComparedTime::Application, &[]),
        "At 95,000 packets/s a and b need the least application CPU time, 60 to 62 ns per packet; c needs the most, 500 ns."
    );
    let with_open = costs_differ(ComparedTime::Application, &["d"]);
    assert!(with_open.ends_with("; c needs more, 500 ns; d is between them or above."), "{with_open}");
    let total = costs_differ(ComparedTime::Total, &[]);
    assert!(total.contains("the least CPU time of application and kernel together, 60"), "{total}");
}

#[test]
fn equal_costs_are_a_sentence_with_and_without_a_load() {
    let equal = |at_pps| words(&BenchFinding::CostsEqual { time: ComparedTime::Application, at_pps });
    assert_eq!(
        equal(Some(95_000.0)),
        "At 95,000 packets/s the application CPU time per packet of the methods cannot be distinguished."
    );
    assert_eq!(equal(None), "The application CPU time per packet of the methods cannot be distinguished.");
}

#[test]
fn trials_in_turns_say_what_they_show_of_each_method() {
    let below = |method: &str, by, captured_ratio, middle, low| MethodBelow {
        method: method.into(),
        by,
        captured_ratio,
        most_missed: match method {
            "af-xdp" => Some(MostMissed::Lost { place: Place::Ring }),
            "recv" => Some(MostMissed::Buffered),
            _ => None,
        },
        relative_cost: Some(Multiple { middle, low: Some(low), high: Some(2.0 * middle) }),
        cost_ratio: (method == "packet-v2").then_some(2.3),
    };
    let not_below = |methods: &[(&str, f64)]| {
        let share = |(method, captured_ratio): &(&str, f64)| MethodNotBelow {
            method: (*method).into(),
            captured_ratio: *captured_ratio,
        };
        methods.iter().map(share).collect()
    };
    let fact = MethodsInTurns {
        load_pps: 500_000.0,
        cost_load_pps: Some(200_000.0),
        sent: Some(SentShares { least: 0.66, most: 1.0 }),
        rounds: 9,
        fewest_rounds: Some(2),
        first: "packet-v3".into(),
        captured_ratio: 0.98,
        is_of_sent: false,
        below: vec![
            below("packet-v2", BelowBy::Cost, 0.97, 2.14, 1.2),
            below("af-xdp", BelowBy::Loss, 0.92, 1.3, 0.8),
            below("recv", BelowBy::Loss, 0.66, 13.2, 9.0),
        ],
        equal: not_below(&[("libpcap", 0.97)]),
        may_be_as_good: not_below(&[("packet-v1", 0.95), ("recvmmsg", 0.9)]),
        may_be_better: Vec::new(),
        costs_by_load: Vec::new(),
    };
    let of_sent = words(&BenchFinding::InTurns(MethodsInTurns { is_of_sent: true, ..fact.clone() }));
    assert!(of_sent.contains("packet-v3 captured 98 % of what it was sent, packet-v2 97 %"), "{of_sent}");
    let multiple = |middle| Multiple { middle, low: None, high: None };
    let costs_by_load = vec![CostByLoad {
        method: "recvmmsg".into(),
        relative_cost: multiple(1.3),
        relative_cost_at_limit: multiple(0.8),
    }];
    let by_load = words(&BenchFinding::InTurns(MethodsInTurns { costs_by_load, ..fact.clone() }));
    assert!(
        by_load.ends_with(
            "those at 200,000 packets/s. At 200,000 packets/s recvmmsg takes 1.3 times the CPU time of packet-v3, at 500,000 \
             packets/s 0.8 times. Which one is better depends on the load: `--rate` compares them at one."
        ),
        "{by_load}"
    );
    assert_eq!(
        words(&BenchFinding::InTurns(fact)),
        "In 2 to 9 rounds at 500,000 packets/s, of which 66 to 100 % was sent, packet-v3 captured 98 % of the frames, packet-v2 97 % (2.3 times the CPU time per \
         packet), af-xdp 92 % (missed 4.0 times as many, lost most in the ring or socket queue) and recv 66 % (missed 17 times as many, left most in its buffers, 13 times the CPU time per packet); \
         libpcap (97 %) is equal to it; packet-v1 (95 %) and recvmmsg (90 %) may be as good. CPU times are those at \
         200,000 packets/s."
    );
}

#[test]
fn of_a_load_that_was_sent_in_part_the_sent_rate_is_named() {
    let sustains = SustainedRate::Sent { asked_pps: 20_000.0, sent_pps: 19_786.4 };
    let verdict = BenchVerdict::Use {
        method: "recv".into(),
        certainty: Certainty::Certain,
        sustains,
        without_pauses: false,
        app_time: None,
        equal: Vec::new(),
        equal_within_ratio: None,
        may_be_as_good: Vec::new(),
        worse: Vec::new(),
    };
    assert_eq!(
        verdict_words(verdict),
        "Use recv: it sustains all that the generator sent of 20,000 packets/s, 19,786 packets/s, without loss."
    );
}

#[test]
fn what_does_not_decide_between_methods_is_said_with_what_does() {
    assert_eq!(
        words(&BenchFinding::CannotSettle { methods: vec!["recv".into(), "libpcap".into()], rounds: 28 }),
        "Rounds like those of this run do not decide between recv and libpcap: 28 of them would leave it open, too. Measure again \
         when the host is quiet."
    );
}

#[test]
fn a_program_is_unknown_for_a_reason() {
    let program = |because| UnknownProgram { method: "cmd:./mine {interface}".into(), because };
    let text = "it was not ready within 10s".to_string();
    let programs = vec![
        program(UnknownBecause::NotMeasured { text }),
        program(UnknownBecause::Invalid { text: "nothing was sent".into() }),
        program(UnknownBecause::NotSent { sent_pps: 19_000.0 }),
        program(UnknownBecause::Disturbed { disturbed: 1, trials: 2 }),
    ];
    let expected = [
        "it was not ready within 10s",
        "its trials are invalid (nothing was sent)",
        "the generator sent it up to 19,000 packets/s",
        "it lost frames, and the host disturbed 1 of its 2 trials",
    ];
    for (program, reason) in programs.into_iter().zip(expected) {
        let text = words(&BenchFinding::ProgramsUnknown { programs: vec![program] });
        assert_eq!(text, format!("cmd:./mine {{interface}}: unknown, because {reason}."));
    }
}
