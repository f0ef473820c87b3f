//! Each sentence about searches, once. The helpers at the top make facts; a test changes the members that it is about.

use crate::sentences::places;
use capbench_judge::finding::search::{
    BoundsByChance, CoarserBounds, DisturbedTrials, FoundLoad, GoalFact, GoalLosses, LimitOfMethods,
    LimitedSearches, LowestLoad, MethodLoad, RankedMethod, SearchFinding, SetUp, SustainedLoads,
    TooFewSearches, UnsettledGoal,
};
use capbench_judge::limit::Limit;
use capbench_judge::search::ranking::{FirstPlace, Repeated};
use capbench_judge::search::{
    Backlogged, Buffered, End, Held, HighLoss, LossEvents, Losses, MaximumSource, Moments, Reason, Status,
};
use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::trial::SizeLabel;
use capbench_statistics::interval::Estimate;

use super::numbers::{self, Numbers};
use super::{goals, limited_by, load_words, spread, sustained, unsettled, words};

/// A set-up of 64-byte frames, without a number.
fn set_up(method: Option<&str>) -> SetUp {
    SetUp {
        method: method.map(Into::into),
        frame_size: Some(SizeLabel::Octets(64)),
        placement: Some("same".into()),
        work: None,
        nth: None,
    }
}

/// In words: the generator sends no more.
fn generator_is_the_limit() -> Reason {
    Reason::MaximumLoad { limit: MaximumSource::Generator }
}

/// A search that has no such number: its trials decide no load.
fn no_load(goal: &str) -> Held {
    Held { by: goal.into(), pps: None, at_least: false, upper_pps: None, seconds: 21.0, trials: Vec::new() }
}

/// A goal of which no load was sustained, down to this one.
fn below(goal: &str, upper_pps: f64) -> Held {
    Held { upper_pps: Some(upper_pps), ..no_load(goal) }
}

/// A goal that this load sustains, and no load was too high for.
fn at_least(goal: &str, pps: f64) -> Held {
    Held { pps: Some(pps), at_least: true, ..no_load(goal) }
}

/// 40 trials of 1 s, none of which lost frames.
fn no_loss_events() -> LossEvents {
    LossEvents {
        up_to_pps: 500.0,
        seconds: 40.0,
        trials: 40,
        lossy_trials: 0,
        set_aside: 0,
        set_aside_lossy: 0,
        events: 0,
        at_least: false,
        per_second: 0.0,
        per_second_limits: Some([0.0, 0.075]),
        longest: None,
    }
}

/// The order of three methods; `above_next` says whether the first two are above the next one by more than chance.
fn ranking(
    median_pps: Option<f64>,
    above_next: [Option<bool>; 2],
    too_few_searches: Option<TooFewSearches>,
) -> String {
    // One search of `af-xdp` ended at the maximum load, so its highest bound is unknown.
    let ranges = [("af-xdp", None), ("packet-v3", Some(2000.0)), ("recv", Some(1500.0))];
    let mut methods = Vec::new();
    for ((method, most_pps), above_next) in ranges.into_iter().zip([above_next[0], above_next[1], None]) {
        methods.push(RankedMethod {
            method: method.into(),
            median_pps,
            least_pps: 1000.5,
            most_pps,
            above_next,
        });
    }
    words(&SearchFinding::Ranking { set_up: set_up(None), goal: "ndr".into(), methods, too_few_searches })
}

#[test]
fn methods_are_listed_in_order_with_what_chance_explains() {
    assert_eq!(
        ranking(Some(1200.0), [Some(false), Some(true)], None),
        "ndr by method, highest median first, with the range of all bounds, packets/s: af-xdp at least 1,200 (1,000 and more), not \
         distinguished from packet-v3 1,200 (1,000 to 2,000), then recv 1,200 (1,000 to 1,500)."
    );
    let one_each = TooFewSearches { searches: 1, needed: 5 };
    assert_eq!(
        ranking(None, [None, None], Some(one_each)),
        "ndr by method, highest first, packets/s: af-xdp at least 1,000, packet-v3 1,000 to 2,000, recv 1,000 to 1,500; one \
         search each: the order may be chance; 5 searches of each decide it."
    );
    let few = ranking(Some(1200.0), [None, None], Some(TooFewSearches { searches: 3, needed: 5 }));
    assert!(few.contains("; 3 searches each: the order"), "{few}");
}

/// Ten searches of one set-up: 9 have a lower bound, 3 of them regular, 1 at least, 2 by a coarser target and 3 irregular. The number of
/// values behind the interval is not read.
fn repeated() -> Repeated {
    Repeated {
        goal: "ndr".into(),
        method: "recv".into(),
        placement: "same".into(),
        frame_size: SizeLabel::Octets(64),
        work: "none".into(),
        lower_pps: Estimate {
            median: 1000.0,
            low: Some(900.0),
            high: Some(1100.0),
            level: Some(0.97),
            repeats: 6,
        },
        least_pps: 900.0,
        most_pps: 1100.0,
        searches: 10,
        regular: 3,
        at_least: 1,
        coarser: 2,
        without: 1,
        is_end_open: true,
        trials: Vec::new(),
    }
}

#[test]
fn searches_of_a_set_up_are_listed_by_their_quality() {
    assert_eq!(
        words(&SearchFinding::Repeated(repeated())),
        "recv, goal ndr, lower bounds: median 1,000 packets/s, least 900, most 1,100 (20.0 % of the median apart); median with 97 % confidence within 900 to \
         at least 1,100; 10 searches: 3 regular, 1 at least, 3 irregular, 2 with a coarser target, 1 without a lower bound."
    );
    assert_eq!(
        spread(&repeated()),
        "NDR of recv is at least 1,000 packets/s in the median of 9 of 10 searches, from 900 to 1,100 (2 with fewer trials than the goal \
         asks for, 1 a lower bound only)"
    );
    let one = Repeated { without: 9, coarser: 0, at_least: 0, ..repeated() };
    assert_eq!(spread(&one), "NDR of recv is 1,000 packets/s in 1 of 10 searches");
}

#[test]
fn what_goals_have_in_common_names_them() {
    let shows = GoalFact::Stalls { lossy_windows: 1, windows: 20 };
    let fact = |goals: &[&str]| SearchFinding::Goals {
        set_up: set_up(None),
        goals: goals.iter().map(ToString::to_string).collect(),
        shows: shows.clone(),
    };
    let text = "only 1 of the 20 intervals of 100 ms at that load lost frames: the host stalls now and then; the load itself is \
                not too high";
    assert_eq!(words(&fact(&["ndr"])), format!("the search, goal ndr: {text}."));
    assert_eq!(words(&fact(&["ndr", "pdr"])), format!("the search, goals ndr and pdr: {text}."));
}

#[test]
fn the_limit_is_named_with_what_was_lost() {
    let moments = Moments { windows: 10, lossy_windows: 9, longest_frames: 7, longest_ns: 1_500_000 };
    let lost = [(Place::Ring, 75), (Place::Backlog, 25)].map(|(place, frames)| LostAt { place, frames });
    let known = GoalLosses {
        at_pps: 1000.9,
        losses: Some(Losses { lost: lost.to_vec(), most_of_a_trial: 0.1, moments: Some(moments) }),
        backlogged: Some(Backlogged { frames: 5, all_frames: 105 }),
        limit: Some(Limit::Generator),
    };
    assert_eq!(
        goals::words(&GoalFact::Losses(known.clone())),
        format!(
            "at 1,000 packets/s: lost {} (75 %), {} (25 %), up to 7 frames or 1.5 ms in a row; 5 of 105 frames that count as lost \
             were in buffers when sending ended; the limit is the generator",
            places::words(Place::Ring),
            places::words(Place::Backlog)
        )
    );
    let nowhere = Losses { lost: Vec::new(), most_of_a_trial: 0.1, moments: None };
    let unknown = GoalLosses { losses: Some(nowhere), backlogged: None, limit: None, ..known };
    assert_eq!(
        goals::words(&GoalFact::Losses(unknown)),
        "at 1,000 packets/s: lost at a place that no counter here reports"
    );
}

#[test]
fn doubts_name_chance_and_the_host() {
    // Lower limits are rounded down to whole percent, upper ones up.
    let high_loss = |trials| HighLoss { trials, all_trials: 20, low: 0.051, high: 0.499 };
    let bounds =
        BoundsByChance { lower: high_loss(9), upper: high_loss(11), probability: 0.263, nearest_pps: None };
    assert_eq!(
        goals::words(&GoalFact::Doubts {
            by_chance: Some(BoundsByChance { nearest_pps: Some([900.0, 1100.0]), ..bounds }),
            disturbed: Some(DisturbedTrials { disturbed: 2, trials: 40 }),
        }),
        "9 of 20 trials (5 to 50 %) of full length lost too many frames at the lower bound, 11 of 20 trials (5 to 50 %) at the upper: the \
         bounds can differ by chance (p = 0.26); the nearest loads that are distinguished are 900 and 1,100 packets/s; the host \
         disturbed 2 of the 40 trials that decide the bounds"
    );
    let alone = goals::words(&GoalFact::Doubts { by_chance: Some(bounds), disturbed: None });
    assert!(alone.ends_with("; no loads that were tried around them are distinguished"), "{alone}");
}

#[test]
fn the_numbers_of_a_search_are_one_sentence() {
    let strict_lossless = at_least("strict", 900.0);
    let ndr = Held { pps: Some(1000.0), ..below("mine", 1005.0) };
    let pdr = at_least("pdr", 1100.0);
    let events = LossEvents {
        events: 2,
        at_least: true,
        per_second: 2.0 / 40.0,
        per_second_limits: Some([0.01, 0.18]),
        set_aside: 2,
        set_aside_lossy: 1,
        ..no_loss_events()
    };
    let all_known = Numbers {
        strict_lossless: &strict_lossless,
        lowest_load: None,
        ndr: &ndr,
        pdr: &pdr,
        loss_events: Some(&events),
    };
    assert_eq!(
        numbers::words(&all_known),
        "no trial of the search lost frames up to at least 900 packets/s (21 s of trials); NDR 1,000 packets/s (21 s of trials, \
         goal mine); PDR at least 1,100 packets/s (21 s of trials); up to 500 packets/s frames were lost at least 2 times in 40 s \
         of trials, 0.050 times per second (0.010 to 0.180); the host disturbed 2 of these trials, which the search repeated (1 \
         of them lost frames)"
    );
}

#[test]
fn numbers_that_no_load_satisfies_are_below_one_or_left_out() {
    let (below, unknown) = (below("ndr", 1000.0), no_load("pdr"));
    let numbers = Numbers {
        strict_lossless: &below,
        lowest_load: Some(LowestLoad { pps: 1000.0, trials: 4, clean: 3 }),
        ndr: &below,
        pdr: &unknown,
        loss_events: None,
    };
    assert_eq!(
        numbers::words(&numbers),
        "at 1,000 packets/s, the lowest load, 3 of 4 trials sent and delivered every frame; NDR below 1,000 packets/s; how often frames are \
         lost is unknown"
    );
}

#[test]
fn the_frequency_of_losses_has_an_upper_limit_even_without_a_loss() {
    let unknown = no_load("ndr");
    let with_events = |events: &LossEvents| {
        let loss_events = Some(events);
        numbers::words(&Numbers {
            strict_lossless: &unknown,
            lowest_load: None,
            ndr: &unknown,
            pdr: &unknown,
            loss_events,
        })
    };
    assert_eq!(
        with_events(&no_loss_events()),
        "no load without loss is known; up to 500 packets/s no frame was lost in 40 s of trials, which is below 0.075 times per \
         second at 95 %"
    );
    // Early versions did not save limits.
    let one_event =
        LossEvents { events: 1, per_second: 1.0 / 40.0, per_second_limits: None, ..no_loss_events() };
    let once = with_events(&one_event);
    assert!(once.ends_with("frames were lost once in 40 s of trials, 0.025 times per second"), "{once}");
}

/// Bounds with a lower one of 1,000 packets/s, without an upper one.
fn bounds(status: Status, reason: Option<Reason>) -> SearchFinding {
    SearchFinding::Bounds {
        set_up: set_up(Some("recv")),
        goal: "ndr".into(),
        status,
        lower_pps: Some(1000.0),
        upper_pps: None,
        reason,
        so_far: None,
        conditional_throughput_pps: None,
    }
}

#[test]
fn bounds_are_named_with_their_quality() {
    let mut early = bounds(Status::Irregular, Some(Reason::Ended { end: End::TimeUp }));
    if let SearchFinding::Bounds { so_far, .. } = &mut early {
        let (lower_pps, upper_pps) = (900.0, 1200.0);
        // The width is a share of the upper bound.
        *so_far = Some(CoarserBounds { seconds_per_load: 2.5, lower_pps, upper_pps, relative_width: 0.25 });
    }
    assert_eq!(
        words(&early),
        "recv, goal ndr: irregular, lower bound 1,000, upper bound none packets/s: the time allowed was used up; with 2.5 s per \
         load, lower bound 900, upper bound 1,200 packets/s, 25.0 % apart."
    );
    assert_eq!(
        words(&bounds(Status::AtLeast, Some(generator_is_the_limit()))),
        "recv, goal ndr: at least 1,000 packets/s: the generator sends no more."
    );
    let mut regular = bounds(Status::Regular, None);
    if let SearchFinding::Bounds { upper_pps, conditional_throughput_pps, .. } = &mut regular {
        *upper_pps = Some(1005.0);
        *conditional_throughput_pps = Some(999.5);
    }
    assert_eq!(
        words(&regular),
        "recv, goal ndr: lower bound 1,000, upper bound 1,005 packets/s, conditional throughput 999 packets/s."
    );
    let none = SearchFinding::NoBounds {
        set_up: set_up(None),
        goal: "ndr".into(),
        reason: generator_is_the_limit(),
    };
    assert_eq!(words(&none), "the search, goal ndr: no bound is known: the generator sends no more.");
}

#[test]
fn the_maximum_load_of_the_search_is_named_with_the_self_test() {
    let maximum = |source, sustained| {
        words(&SearchFinding::MaximumLoad {
            set_up: set_up(Some("recv")),
            load_pps: 1000.0,
            source,
            sustained,
            unpaced_pps: 1200.7,
        })
    };
    let line_rate = maximum(MaximumSource::LineRate, true);
    let sustained = maximum(MaximumSource::Generator, true);
    let not_sustained = maximum(MaximumSource::Generator, false);
    let end = "; the generator sent 1,200 without a plan.";
    let begin = "maximum load of the search: 1,000 packets/s";
    assert_eq!(line_rate, format!("{begin}, the line rate{end}"));
    assert_eq!(sustained, format!("{begin}{end}"));
    assert_eq!(not_sustained, format!("{begin}, though it kept none of the rates that were tried{end}"));
}

#[test]
fn what_buffers_hid_and_how_a_search_ended_are_sentences() {
    let buffered =
        Buffered { from_pps: 900.0, to_pps: 1100.0, taken_pps: 800.0, behind_s: 0.25, trials: vec![1, 2] };
    let end = " lost nothing only because buffers had room: the application read up to 800 packets/s, and needed up to 0.250 s \
               more after sending had ended. Frames in buffers count as lost, because a longer trial loses them.";
    let text = |buffered| words(&SearchFinding::Buffered { set_up: set_up(Some("recv")), buffered });
    assert_eq!(text(buffered.clone()), format!("recv: from 900 to 1,100 packets/s trials{end}"));
    assert_eq!(
        text(Buffered { trials: vec![1], ..buffered }),
        format!("recv: at 900 packets/s a trial{end}")
    );
    assert_eq!(
        words(&SearchFinding::Incomplete { set_up: set_up(None), end: End::Stopped }),
        "the search: the search is incomplete: the search was stopped before its end."
    );
}

#[test]
fn the_verdict_names_what_each_method_sustains() {
    let verdict = |loads: &[(&str, FoundLoad)], other_set_ups| {
        let mut methods = Vec::new();
        for (method, load) in loads {
            methods.push(MethodLoad { method: Some((*method).into()), load: load.clone(), trials: vec![1] });
        }
        let first_place = None;
        sustained(&SustainedLoads {
            loss_ratio: 0.0,
            set_up: set_up(None),
            methods,
            first_place,
            other_set_ups,
        })
        .text
    };
    let scene = "(without loss, 64-byte frames, placement same)";
    let undecided = FoundLoad::Undecided { reason: Some(generator_is_the_limit()) };
    let regular = FoundLoad::Regular { pps: 1000.0 };
    assert_eq!(
        verdict(&[("af-xdp", regular), ("recv", FoundLoad::Below { pps: 500.0 })], 1),
        format!(
            "af-xdp sustains 1,000 packets/s {scene}; recv below 500 packets/s; 1 other set-up is in the table."
        )
    );
    assert_eq!(
        verdict(&[("af-xdp", FoundLoad::Below { pps: 1000.0 }), ("recv", undecided.clone())], 2),
        format!(
            "af-xdp does not sustain 1,000 packets/s {scene}; recv is not decided; 2 other set-ups are in the table."
        )
    );
    assert_eq!(
        verdict(&[("af-xdp", undecided)], 0),
        format!("It is not decided what af-xdp sustains {scene}: the generator sends no more.")
    );
}

#[test]
fn the_verdict_of_several_searches_has_their_medians_and_whether_they_differ() {
    let of_searches = |median: f64, at_least| FoundLoad::Repeated {
        lower_pps: Estimate {
            median,
            low: Some(median - 100.0),
            high: Some(median + 200.0),
            level: Some(0.969),
            repeats: 6,
        },
        searches: 6,
        at_least,
        without: 0,
        is_end_open: at_least > 0,
    };
    let verdict = |is_distinguished, needed_searches| {
        let mut methods = Vec::new();
        for (method, load) in [("packet-v3", of_searches(1000.0, 1)), ("libpcap", of_searches(900.0, 0))] {
            methods.push(MethodLoad { method: Some(method.into()), load, trials: vec![1] });
        }
        let first_place = Some(FirstPlace { is_distinguished, needed_searches });
        let set_up = set_up(None);
        sustained(&SustainedLoads { loss_ratio: 0.0, set_up, methods, first_place, other_set_ups: 0 }).text
    };
    let loads = "packet-v3 sustains at least 1,000 packets/s, the median of 6 searches, with 96 % confidence within 900 to at least 1,200 (without \
                 loss, 64-byte frames, placement same); libpcap 900 packets/s, the median of 6 searches, with 96 % confidence within 800 to 1,100";
    assert_eq!(verdict(true, None), format!("{loads}."));
    let open = "these searches do not distinguish packet-v3 and libpcap";
    assert_eq!(verdict(false, None), format!("{loads}; {open}."));
    assert_eq!(verdict(false, Some(6)), format!("{loads}; {open} (`--searches 6` can)."));
}

#[test]
fn a_limit_says_how_many_searches_it_has() {
    let limits = |limited| {
        let searches = Some(LimitedSearches { limited, all: 6 });
        let methods = vec![Some("recv".into())];
        limited_by(&[LimitOfMethods { limit: Limit::Generator, methods, searches, trials: Vec::new() }]).text
    };
    assert_eq!(limits(6), "Limited by the generator (recv).");
    assert_eq!(limits(4), "Limited by the generator (recv, in 4 of 6 searches).");
}

#[test]
fn a_load_has_the_words_of_its_quality() {
    let words = |load| load_words(&load).unwrap();
    assert_eq!(words(FoundLoad::AtLeast { pps: 1000.0 }), "at least 1,000 packets/s");
    let between = FoundLoad::Between { lower_pps: 900.0, upper_pps: 1000.0 };
    assert_eq!(words(between), "between 900 and 1,000 packets/s");
    let few = FoundLoad::BetweenByFewTrials { lower_pps: 900.0, upper_pps: 1000.0 };
    assert_eq!(words(few), "between 900 and 1,000 packets/s, with fewer trials than the goal asks for");
    let lower_pps = Estimate { median: 900.0, low: None, high: None, level: None, repeats: 1 };
    let once = FoundLoad::Repeated { lower_pps, searches: 2, at_least: 0, without: 1, is_end_open: false };
    assert_eq!(words(once), "900 packets/s, in 1 of 2 searches");
    let clean = FoundLoad::Clean { pps: 900.0, seconds: 2.0, upper_pps: Some(1000.0), reason: None };
    assert_eq!(words(clean), "up to 900 packets/s, in 2 s of trials, and does not sustain 1,000 packets/s");
}

#[test]
fn a_goal_that_is_not_settled_is_named_with_the_reason() {
    let goal = |at_least_pps| UnsettledGoal {
        goal: "ndr".into(),
        set_up: SetUp { nth: Some(2), ..set_up(None) },
        at_least_pps,
        reason: Some(generator_is_the_limit()),
        trials: Vec::new(),
    };
    let name = "NDR of a method that did not run (64-byte frames, placement same, search 2)";
    assert_eq!(
        unsettled(&[goal(Some(1000.0)), goal(None)]).text,
        format!(
            "{name} is at least 1,000 packets/s: the generator sends no more; {name} is not settled: the generator sends no more."
        )
    );
}
