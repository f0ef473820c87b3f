//! The order of the methods of one set-up, and what is certain about it.

use crate::limit::Limit;
use crate::sustained::is_rate_sent;
use crate::thresholds::{
    ASSUMED_PRECISION, COARSEST_PRECISION, EQUAL_GENERATOR_LIMITS, EQUAL_LIMITS_PRECISIONS,
    NEARLY_LOSSLESS_RATIO,
};
use capbench_model::ledger::LostAt;
use capbench_model::method_spec::{Delivery, MethodSpec, Privilege};
use capbench_model::placement::PlacementName;
use capbench_model::saved::SavedMethod;
use capbench_model::work::Work;

use super::bounds::first_failed;
use super::cost::equal_load;
use super::{
    Because, Certainty, Conclusion, Cost, Entrant, Question, Ranked, Ranking, Scene, Sustained,
    SustainedStatus,
};

/// Ranks the methods of one set-up.
pub(super) fn ranking(question: Question, scene: &Scene, entrants: &[Entrant<'_>]) -> Ranking {
    let equal_load_pps = match question {
        Question::CheapestAt { pps } => Some(pps),
        Question::HighestRate => equal_load(entrants),
    };
    let (frame_size, placement, work) = scene.clone();
    let mut methods: Vec<Ranked> = entrants.iter().map(|entrant| ranked(entrant, equal_load_pps)).collect();
    let mut sent_pps: Option<f64> = None;
    if let Question::CheapestAt { pps } = question {
        for known in methods.iter_mut().flat_map(|ranked| [&mut ranked.lossless, &mut ranked.nearly_lossless])
        {
            if known.status == SustainedStatus::Unknown && known.at_most_pps.is_some_and(|most| most < pps) {
                known.status = SustainedStatus::NotReached;
            }
            // Without loss at less than the load in question: that load was not tried.
            if known.upper_pps.is_none() && known.lower_pps.is_some_and(|lower| !is_rate_sent(lower, pps)) {
                known.status = SustainedStatus::Unknown;
                sent_pps = known.lower_pps.into_iter().chain(sent_pps).max_by(f64::total_cmp);
            }
        }
    }
    let order = Order::from_methods(methods);
    let precision = order.precision();
    let margin = match question {
        // All methods were offered the same load.
        Question::CheapestAt { .. } => 0.0,
        Question::HighestRate => precision.unwrap_or(ASSUMED_PRECISION),
    };
    let (ranked, mut conclusion) = order.conclude(margin);
    if let (Conclusion::Nothing, Some(sent_pps)) = (&conclusion, sent_pps) {
        conclusion = Conclusion::NotSent { sent_pps };
    }
    if let Conclusion::OneOf { methods, settle, .. } = &mut conclusion {
        *settle = words_to_settle(question, methods, scene);
    }
    Ranking { frame_size, placement, work, precision, equal_load_pps, methods: ranked, conclusion }
}

/// The figures of a method, not yet ranked.
fn ranked(entrant: &Entrant<'_>, equal_load_pps: Option<f64>) -> Ranked {
    let lossless = Sustained::from_entrant(entrant, 0.0);
    let goals = entrant.searches.iter().flat_map(|search| &search.goals);
    let by_search =
        goals.filter(|result| result.goal.loss_ratio.get() == 0.0).find_map(|result| result.limit);
    let failed = first_failed(entrant);
    let by_trial = || {
        let lost = LostAt::sum(failed.iter().flat_map(|trial| trial.losses()));
        Limit::from_trials(&lost, failed, 1)
    };
    Ranked {
        method: entrant.method.clone(),
        rank: 0,
        below: None,
        limited_by: match lossless.status {
            SustainedStatus::AtLeast => Some(Limit::Generator),
            _ => by_search.or_else(by_trial),
        },
        lost_at: failed.and_then(|trial| trial.losses().first().map(|(place, _)| *place)),
        nearly_lossless: Sustained::from_entrant(entrant, NEARLY_LOSSLESS_RATIO),
        lossless,
        cost: equal_load_pps.and_then(|pps| Cost::at(entrant, pps)),
        trials: entrant.trials.len() as u32,
        disturbed: entrant.trials.iter().filter(|trial| !trial.disturbance.reasons().is_empty()).count()
            as u32,
    }
}

/// The limit by which methods are ranked.
type Basis = fn(&Ranked) -> &Sustained;

/// The highest load that a method is shown to sustain.
fn shown(known: &Sustained) -> Option<f64> {
    known.lower_pps.filter(|_| known.status != SustainedStatus::Unknown)
}

/// Methods on the way to their order.
struct Order {
    methods: Vec<Ranked>,
    basis: Basis,
    is_lossless: bool,
}

impl Order {
    /// Gives the methods their ranks, by their loads without loss, or if none has any, by those with little loss.
    fn from_methods(mut methods: Vec<Ranked>) -> Self {
        let is_lossless = methods.iter().any(|ranked| shown(&ranked.lossless).is_some());
        let basis: Basis =
            if is_lossless { |ranked| &ranked.lossless } else { |ranked| &ranked.nearly_lossless };
        let lower = |ranked: &Ranked| shown(basis(ranked)).unwrap_or(0.0);
        // Methods that only count frames capture none of them.
        let by_rate = |one: &Ranked, other: &Ranked| lower(other).total_cmp(&lower(one));
        methods.sort_by(|one, other| {
            counts_only(one).cmp(&counts_only(other)).then_with(|| by_rate(one, other))
        });
        let mut left = methods;
        let mut methods: Vec<Ranked> = Vec::new();
        while !left.is_empty() {
            let head = left[0].clone();
            let is_tied = |ranked: &Ranked| {
                counts_only(ranked) == counts_only(&head)
                    && basis(ranked).at_most_pps.is_none_or(|at_most| at_most > lower(&head))
            };
            let rank = methods.len() as u32 + 1;
            let (tied, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_tied);
            // The head is tied with itself, unless its bounds contradict each other.
            let (tied, rest) = if tied.is_empty() { (vec![head], rest[1..].to_vec()) } else { (tied, rest) };
            methods.extend(tied.into_iter().map(|ranked| Ranked { rank, ..ranked }));
            left = rest;
        }
        Self { methods, basis, is_lossless }
    }

    /// The precision of the methods that may be best; if none of them was searched, the finest of the others.
    fn precision(&self) -> Option<f64> {
        let precisions = |is_first: bool| {
            let own = self.methods.iter().filter(move |ranked| (ranked.rank == 1) == is_first);
            own.filter_map(|ranked| (self.basis)(ranked).searched_to)
        };
        precisions(true).reduce(f64::max).or_else(|| precisions(false).reduce(f64::min))
    }

    /// `margin` is the share by which limits must differ to be certainly different.
    fn conclude(mut self, margin: f64) -> (Vec<Ranked>, Conclusion) {
        self.judge(margin);
        self.by_cost(margin);
        let conclusion = self.conclusion(margin);
        (self.methods, conclusion)
    }

    fn shown(&self, ranked: &Ranked) -> Option<f64> {
        shown((self.basis)(ranked))
    }

    /// How certain it is that each method is below the first rank.
    fn judge(&mut self, margin: f64) {
        let Some(first) = self.methods.first() else { return };
        let (basis, best) = (self.basis, self.shown(first).unwrap_or(0.0));
        for ranked in self.methods.iter_mut().filter(|ranked| ranked.rank > 1) {
            let is_clear = basis(ranked).at_most_pps.is_some_and(|at_most| at_most * (1.0 + margin) <= best);
            ranked.below =
                Some(if is_clear || counts_only(ranked) { Certainty::Certain } else { Certainty::Likely });
        }
    }

    /// Orders the methods of each rank by cost, then by privilege. Those that sustained no load come last. Limits that are not known
    /// well enough to be equal are first ordered by what the trials show: the highest load that a method sustained, if it differs by
    /// more than what a generator sends.
    fn by_cost(&mut self, margin: f64) {
        let mut ordered: Vec<Ranked> = Vec::new();
        let mut left = std::mem::take(&mut self.methods);
        let key = |ranked: &Ranked| (ranked.rank, self.shown(ranked).is_none());
        while let Some(first) = left.iter().map(key).min() {
            let (mut tied, rest): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|ranked| key(ranked) == first);
            let share = if self.are_alike(&tied.iter().collect::<Vec<_>>(), margin) {
                0.0
            } else {
                EQUAL_GENERATOR_LIMITS
            };
            while !tied.is_empty() {
                let lower = |ranked: &Ranked| self.shown(ranked).unwrap_or(0.0);
                let highest = tied.iter().map(lower).fold(0.0, f64::max);
                let near: Vec<usize> =
                    (0..tied.len()).filter(|&nth| lower(&tied[nth]) >= highest * share).collect();
                let among: Vec<&Ranked> = near.iter().map(|&nth| &tied[nth]).collect();
                let next = near[Choice::among(&among).nth];
                ordered.push(tied.remove(next));
            }
            left = rest;
        }
        self.methods = ordered;
    }

    fn conclusion(&self, margin: f64) -> Conclusion {
        let Some(first) = self.methods.first() else { return Conclusion::Nothing };
        let is_unknown = |ranked: &Ranked| (self.basis)(ranked).status == SustainedStatus::Unknown;
        if self.methods.iter().all(is_unknown) {
            return Conclusion::Nothing;
        }
        if !self.is_lossless {
            let best = self.shown(first).map(|_| first.method.clone());
            return Conclusion::NoneLossless { best, limit: first.limited_by, place: first.lost_at };
        }
        let tied: Vec<&Ranked> = self.methods.iter().filter(|ranked| ranked.rank == 1).collect();
        let rest = || self.methods.iter().filter(|ranked| ranked.rank > 1);
        let names = |methods: &[&Ranked]| methods.iter().map(|ranked| ranked.method.clone()).collect();
        let choice = Choice::among(&tied);
        if !self.are_alike(&tied, margin) || !choice.is_known {
            let lower = |ranked: &Ranked| self.shown(ranked).unwrap_or(0.0);
            let best = self.methods.iter().find(|ranked| self.shown(ranked).is_some()).unwrap_or(first);
            let is_open =
                |ranked: &&Ranked| ranked.method == best.method || self.may_be_better(ranked, best, margin);
            let (mut open, dearer): (Vec<&Ranked>, Vec<&Ranked>) = tied.iter().copied().partition(is_open);
            if open.len() > 1 {
                open.sort_by(|one, other| lower(other).total_cmp(&lower(one)));
                let worse: Vec<&Ranked> = dearer.into_iter().chain(rest()).collect();
                return Conclusion::OneOf {
                    best: Some(best.method.clone()),
                    methods: names(&open),
                    worse: names(&worse),
                    settle: Vec::new(),
                };
            }
        }
        let count = |of: fn(&Ranked) -> u32| self.methods.iter().map(of).sum::<u32>();
        let is_quiet = 2 * count(|ranked| ranked.disturbed) <= count(|ranked| ranked.trials);
        let is_below = rest().all(|ranked| ranked.below == Some(Certainty::Certain));
        Conclusion::Use {
            method: first.method.clone(),
            because: match (tied.len(), self.methods.len()) {
                (1, 1) => Because::OnlyOne,
                (1, _) => Because::Rate,
                _ => choice.because,
            },
            certainty: match is_quiet && is_below && choice.is_undisturbed {
                true => Certainty::Certain,
                false => Certainty::Likely,
            },
            equal: names(&choice.equal.iter().map(|&nth| tied[nth]).collect::<Vec<_>>()),
        }
    }

    /// Whether a method of the same rank can have the higher limit, or about the same for a lower cost.
    fn may_be_better(&self, other: &Ranked, best: &Ranked, margin: f64) -> bool {
        let choice = Choice::among(&[best, other]);
        let is_dearer = choice.is_known && choice.nth == 0 && choice.equal.is_empty();
        !is_dearer || !self.are_alike(&[best, other], margin)
    }

    /// Whether the limits of these methods are equal at the stated precision: each is known to sustain almost as much as any
    /// other can. Where all sustained what the generator sent, it cannot distinguish their limits, unless it sent some of them
    /// far less than others.
    fn are_alike(&self, tied: &[&Ranked], margin: f64) -> bool {
        let is_at_least = |ranked: &&&Ranked| (self.basis)(ranked).status == SustainedStatus::AtLeast;
        let lower = |ranked: &&Ranked| self.shown(ranked).unwrap_or(0.0);
        let lowest = tied.iter().map(lower).fold(f64::INFINITY, f64::min);
        let sent_alike = lowest >= tied.iter().map(lower).fold(0.0, f64::max) * EQUAL_GENERATOR_LIMITS;
        if let [one] = tied {
            return self.shown(one).is_some();
        }
        if sent_alike && tied.iter().all(|ranked| is_at_least(&ranked)) {
            return true;
        }
        // The highest limit that any of them can have. Beyond what the generator sends they are not compared.
        let can = |ranked: &&Ranked| match is_at_least(&ranked) {
            true => lower(ranked),
            false => (self.basis)(ranked).at_most_pps.unwrap_or(f64::INFINITY),
        };
        let highest = tied.iter().map(can).fold(0.0, f64::max);
        lowest
            >= highest
                * (1.0 - (EQUAL_LIMITS_PRECISIONS * margin.min(COARSEST_PRECISION)).max(ASSUMED_PRECISION))
    }
}

/// The best of several methods with equal limits.
struct Choice {
    /// Its place among them.
    nth: usize,
    because: Because,
    /// Whether the costs that decide are known of all of them.
    is_known: bool,
    /// Whether no disturbance can have caused the order.
    is_undisturbed: bool,
    /// The places of those whose costs are known not to differ from its own.
    equal: Vec<usize>,
}

/// A cost of a method and its error.
type Figure = fn(&Ranked) -> Option<(f64, f64)>;

impl Choice {
    fn among(tied: &[&Ranked]) -> Self {
        let app: Figure =
            |ranked| ranked.cost.as_ref().and_then(|cost| Some((cost.app_ns?, cost.app_error_ns)));
        let total: Figure =
            |ranked| ranked.cost.as_ref().and_then(|cost| Some((cost.total_ns?, cost.total_error_ns)));
        let all: Vec<usize> = (0..tied.len()).collect();
        let by_app = cheapest(tied, &all, app);
        let by_total = cheapest(tied, &by_app, total);
        let needs = |nth: &usize| privilege(tied[*nth]);
        // Of methods that are equal otherwise, the one with the lower figure.
        let ns = |nth: &usize| app(tied[*nth]).map_or(f64::INFINITY, |(ns, _)| ns);
        let order =
            |one: &usize, other: &usize| needs(one).cmp(&needs(other)).then(ns(one).total_cmp(&ns(other)));
        let nth = by_total.iter().copied().min_by(order).unwrap_or(0);
        let is_alone = by_total.iter().filter(|other| needs(other) == needs(&nth)).count() == 1;
        let equal: Vec<usize> = by_total.iter().copied().filter(|other| *other != nth).collect();
        let because = match () {
            () if by_app.len() == 1 => Because::ApplicationTime,
            () if by_total.len() == 1 => Because::TotalTime,
            () if is_alone => Because::Privilege,
            () => Because::Equal,
        };
        // Where no method has the one figure, the other decides. Where only some have it, the others can cost less.
        let known =
            |places: &[usize], of: Figure| places.iter().filter(|&&nth| of(tied[nth]).is_some()).count();
        let (apps, totals) = (known(&all, app), known(&by_app, total));
        let is_whole = |known: usize, of: usize| known == 0 || known == of;
        let has_costs = apps + totals > 0
            && is_whole(apps, all.len())
            && (apps > 0 && by_app.len() == 1 || is_whole(totals, by_app.len()));
        let is_disturbed = |ranked: &&Ranked| ranked.cost.as_ref().is_some_and(|cost| cost.disturbed);
        let is_single = tied.len() == 1;
        Self {
            nth,
            because,
            is_known: is_single || has_costs,
            is_undisturbed: is_single || !tied.iter().any(is_disturbed),
            equal,
        }
    }
}

/// Those of `places` whose cost is not above the lowest by more than the errors. All of them if no cost is known.
fn cheapest(tied: &[&Ranked], places: &[usize], cost: Figure) -> Vec<usize> {
    let known = places.iter().filter_map(|&nth| cost(tied[nth]));
    let Some((least, error)) = known.min_by(|a, b| a.0.total_cmp(&b.0)) else { return places.to_vec() };
    let is_equal = |nth: &usize| cost(tied[*nth]).is_some_and(|(ns, own)| ns - own <= least + error);
    places.iter().copied().filter(is_equal).collect()
}

/// What a method needs; a program needs what it needs.
fn privilege(ranked: &Ranked) -> (bool, Option<Privilege>) {
    let needs = ranked.method.known().and_then(MethodSpec::privilege);
    (needs.is_none(), needs)
}

fn counts_only(ranked: &Ranked) -> bool {
    ranked.method.known().and_then(MethodSpec::delivery) == Some(Delivery::Counted)
}

/// Searches or visits that distinguish two methods among a few.
const TIMES: &str = "6";

/// The command that settles which of these methods is better.
fn words_to_settle(
    question: Question,
    methods: &[SavedMethod],
    (frame_size, placement, work): &Scene,
) -> Vec<String> {
    let mut words: Vec<String> = match question {
        Question::HighestRate => {
            ["search", "--goal", "quick", "--searches", TIMES].map(String::from).to_vec()
        }
        Question::CheapestAt { pps } => {
            vec!["bench".into(), "--rate".into(), pps.to_string(), "--visits".into(), TIMES.into()]
        }
    };
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    words.extend(["--method".into(), methods.join(",")]);
    words.extend(["--size".into(), frame_size.to_string()]);
    // A placement of the user's own is named by its CPUs, which the user knows.
    if *placement != PlacementName::Custom {
        words.extend(["--placement".into(), placement.to_string()]);
    }
    if *work != Work::NONE {
        words.extend(["--work".into(), work.to_string()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(method: &str, lower_pps: f64, at_most_pps: Option<f64>, app_ns: f64) -> Ranked {
        let status = if at_most_pps.is_some() { SustainedStatus::Between } else { SustainedStatus::AtLeast };
        let lossless = Sustained {
            status,
            lower_pps: Some(lower_pps),
            upper_pps: at_most_pps,
            at_most_pps,
            precision: None,
            searched_to: None,
            trials: Vec::new(),
        };
        let cost = Cost {
            app_ns: Some(app_ns),
            app_error_ns: 1.0,
            total_ns: None,
            total_error_ns: 0.0,
            trials: Vec::new(),
            disturbed: false,
        };
        Ranked {
            method: method.into(),
            rank: 0,
            below: None,
            nearly_lossless: lossless.clone(),
            lossless,
            cost: Some(cost),
            limited_by: None,
            lost_at: None,
            trials: 1,
            disturbed: 0,
        }
    }

    fn named(methods: Vec<Ranked>) -> (Vec<SavedMethod>, Conclusion) {
        let (ranked, conclusion) = Order::from_methods(methods).conclude(0.1);
        (ranked.into_iter().map(|ranked| ranked.method).collect(), conclusion)
    }

    #[test]
    fn limits_are_equal_within_two_precisions_of_a_twentieth_to_a_tenth() {
        let cases = [
            (0.04, 0.066, true),
            (0.04, 0.1, false),
            (0.5, 0.16, true),
            (0.5, 0.25, false),
            (0.001, 0.04, true),
            (0.001, 0.0625, false),
        ];
        for (precision, difference, are_equal) in cases {
            let lower = 1e6 * (1.0 - difference);
            let methods = vec![
                measured("packet-v3", 1e6, Some(1_001_000.0), 100.0),
                measured("recv", lower, Some(1_001_000.0), 50.0),
            ];
            let (_, conclusion) = Order::from_methods(methods).conclude(precision);
            let is_decided = matches!(conclusion, Conclusion::Use { .. });
            assert_eq!(is_decided, are_equal, "{difference} at a precision of {precision}: {conclusion:?}");
        }
    }

    #[test]
    fn of_limits_that_are_not_known_well_the_highest_that_is_shown_comes_first() {
        let methods = || {
            let at_most = Some(1_500_000.0);
            vec![
                measured("packet-v3", 430_000.0, None, 87.0),
                measured("libpcap", 913_000.0, None, 118.0),
                measured("packet-v2", 900_000.0, at_most, 110.0),
            ]
        };
        let (order, conclusion) = named(methods());
        assert_eq!(
            order,
            ["packet-v2", "libpcap", "packet-v3"],
            "the cheapest of those within the precision"
        );
        assert!(matches!(conclusion, Conclusion::OneOf { best, .. } if best == Some("packet-v2".into())));
        // Without a limit that is known, what the generator sent to one of them shows nothing of the other.
        let (order, conclusion) = named(methods()[..2].to_vec());
        assert_eq!(order, ["libpcap", "packet-v3"]);
        assert!(matches!(conclusion, Conclusion::OneOf { best, .. } if best == Some("libpcap".into())));
    }

    #[test]
    fn the_cheapest_of_those_that_sustain_all_that_the_generator_sends_is_named() {
        let (order, conclusion) = named(vec![
            measured("libpcap", 1_340_000.0, None, 118.0),
            measured("packet-v3", 1_130_000.0, None, 87.0),
        ]);
        assert_eq!(order, ["packet-v3", "libpcap"]);
        assert!(matches!(conclusion, Conclusion::Use { because: Because::ApplicationTime, .. }));
    }
    fn conclusion(methods: Vec<Ranked>) -> Conclusion {
        Order::from_methods(methods).conclude(0.1).1
    }

    fn without_cost(ranked: Ranked) -> Ranked {
        Ranked { cost: None, ..ranked }
    }

    fn is_certain(conclusion: &Conclusion) -> bool {
        matches!(conclusion, Conclusion::Use { certainty: Certainty::Certain, .. })
    }

    #[test]
    fn methods_whose_cost_is_unknown_are_not_called_equal() {
        let conclusion_with = |costs: [Option<f64>; 3]| {
            let methods = ["recv", "packet-v3", "libpcap"].into_iter().zip(costs);
            conclusion(
                methods
                    .map(|(method, app_ns)| match app_ns {
                        Some(app_ns) => measured(method, 100_000.0, None, app_ns),
                        None => without_cost(measured(method, 100_000.0, None, 0.0)),
                    })
                    .collect(),
            )
        };
        let Conclusion::Use { equal, certainty, .. } = conclusion_with([Some(90.0), Some(90.5), Some(120.0)])
        else {
            panic!()
        };
        assert_eq!((equal, certainty), (vec!["packet-v3".into()], Certainty::Certain));
        for costs in [[None; 3], [None, None, Some(90.0)], [Some(90.0), Some(90.5), None]] {
            let Conclusion::OneOf { methods, .. } = conclusion_with(costs) else { panic!("{costs:?}") };
            assert_eq!(methods.len(), 3, "{costs:?}");
        }
        let Conclusion::OneOf { best, .. } = conclusion_with([None, Some(120.0), Some(90.0)]) else {
            panic!()
        };
        assert_eq!(best, Some("libpcap".into()), "the cheapest of those with a known cost");
    }

    #[test]
    fn a_dearer_method_that_sustains_no_more_is_not_left_open() {
        let open = |methods: Vec<Ranked>| match conclusion(methods) {
            Conclusion::OneOf { methods, worse, .. } => (methods, worse),
            other => panic!("{other:?}"),
        };
        let known = [measured("packet-v3", 1e5, None, 90.0), measured("recv", 1e5, None, 900.0)];
        let unknown = without_cost(measured("af-xdp", 1e5, None, 0.0));
        let of_cost = open([&known[..], &[unknown]].concat());
        assert_eq!(of_cost, (vec!["packet-v3".into(), "af-xdp".into()], vec!["recv".into()]));
        // Its limit can be higher.
        let hidden = Ranked {
            lossless: Sustained { status: SustainedStatus::Disturbed, ..known[1].lossless.clone() },
            ..known[1].clone()
        };
        let of_rate = open(vec![known[0].clone(), hidden]);
        assert_eq!(of_rate, (vec!["packet-v3".into(), "recv".into()], vec![]));
    }

    #[test]
    fn nothing_is_certain_where_the_host_disturbed_most_trials_or_the_cost() {
        let certainty_with = |disturbed: u32, is_cost_disturbed| {
            let noisy = |ranked: Ranked| {
                let cost = ranked.cost.map(|cost| Cost { disturbed: is_cost_disturbed, ..cost });
                Ranked { trials: 10, disturbed, cost, ..ranked }
            };
            let equal = conclusion(
                ["recv", "packet-v3"].map(|method| noisy(measured(method, 100_000.0, None, 90.0))).to_vec(),
            );
            let methods = [measured("packet-v3", 1e6, None, 90.0), measured("recv", 3e5, Some(4e5), 90.0)];
            (is_certain(&equal), is_certain(&conclusion(methods.map(noisy).to_vec())))
        };
        assert_eq!(certainty_with(5, false), (true, true));
        assert_eq!(certainty_with(5, true), (false, true), "the limits decide without the cost");
        assert_eq!(certainty_with(6, false), (false, false));
    }

    #[test]
    fn a_method_of_which_nothing_is_known_is_not_called_worse() {
        let unknown = |method| {
            let known = without_cost(measured(method, 0.0, None, 0.0));
            let lossless =
                Sustained { status: SustainedStatus::Unknown, lower_pps: None, ..known.lossless.clone() };
            Ranked { nearly_lossless: lossless.clone(), lossless, ..known }
        };
        let methods = vec![
            unknown("packet-v3"),
            measured("recv", 100_000.0, Some(200_000.0), 900.0),
            measured("cmd:tcpdump", 300_000.0, Some(330_000.0), 90.0),
        ];
        let (ranked, conclusion) = Order::from_methods(methods).conclude(0.1);
        let known: Vec<_> = ranked.iter().map(|one| (one.method.clone(), one.rank, one.below)).collect();
        assert_eq!(
            known,
            [
                ("cmd:tcpdump".into(), 1, None),
                ("packet-v3".into(), 1, None),
                ("recv".into(), 3, Some(Certainty::Certain))
            ]
        );
        let Conclusion::OneOf { best, methods, worse, .. } = conclusion else { panic!("{conclusion:?}") };
        assert_eq!(
            (best, methods, worse),
            (Some("cmd:tcpdump".into()), vec!["cmd:tcpdump".into(), "packet-v3".into()], vec!["recv".into()])
        );
    }

    #[test]
    fn a_coarse_search_does_not_show_that_limits_are_equal() {
        let methods =
            || vec![measured("recv", 6e5, Some(1e6), 90.0), measured("packet-v3", 5e5, Some(9e5), 60.0)];
        let conclusion = Order::from_methods(methods()).conclude(0.4).1;
        assert!(matches!(conclusion, Conclusion::OneOf { .. }), "{conclusion:?}");
        let close =
            vec![measured("recv", 9e5, Some(1e6), 90.0), measured("packet-v3", 8.5e5, Some(9.5e5), 60.0)];
        let conclusion = Order::from_methods(close).conclude(0.1).1;
        assert!(
            matches!(&conclusion, Conclusion::Use { method, .. } if *method == "packet-v3"),
            "{conclusion:?}"
        );
    }
}
