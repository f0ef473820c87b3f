//! The table of a bench: the methods of a set-up with their sustained rates and CPU cost, best first.

use capbench_judge::finding::bench::{at_overload, trials_of};
use capbench_judge::recommendation::{Question, Ranked, Ranking, Sustained, SustainedStatus};
use capbench_judge::thresholds::NEARLY_LOSSLESS_RATIO;
use capbench_model::figures::percent;
use capbench_model::trial::TrialResult;
use capbench_results::{Kind, Results};

use super::limit_word;
use crate::figures::number;
use crate::groups::by_key;
use crate::model::{Cell, Column, Table, Unit};
use crate::naming::{self, Scene};
use crate::sentences::sorted;
use crate::tables::rows::{Fields, Rows};

/// The methods of the deciding set-up.
pub(super) fn table(results: &Results) -> Option<Table> {
    let recommendation = naming::recommendation(results)?;
    let question = recommendation.question;
    ranking_table("summary", question, recommendation.headline()?, results)
}

/// The rankings of the other set-ups of a bench.
pub(in crate::tables) fn other_set_ups(results: &Results) -> Vec<Table> {
    if results.kind() != Kind::Bench {
        return Vec::new();
    }
    let Some(recommendation) = naming::recommendation(results) else { return Vec::new() };
    let mut tables = Vec::new();
    for ranking in recommendation.rankings.iter().skip(1) {
        tables.extend(ranking_table("ranking", recommendation.question, ranking, results));
    }
    tables
}

/// A row per method of a ranking, best first. `id` is the name of the table.
fn ranking_table(id: &str, question: Question, ranking: &Ranking, results: &Results) -> Option<Table> {
    let is_of_one_load = matches!(question, Question::CheapestAt { .. });
    let overloads = at_overload(ranking, &results.trials);
    let mut rows = Rows::new();
    for ranked in &ranking.methods {
        let overload = overloads.iter().find(|trial| trial.profile.method == ranked.method).copied();
        let limit = ranked.lossless_limit(question, &results.trials).map(limit_word);
        let fields =
            rate_and_cost_fields(ranked).words("limit", "limited by", limit).and(overload_fields(overload));
        let mut trials = trials_of(ranked);
        for trial in &overloads {
            if trial.profile.method == ranked.method {
                trials.push(trial.number);
            }
        }
        rows.add(fields, sorted(trials));
    }
    let scene = Scene::of_ranking(ranking).words();
    let table = rows.table(id, &format!("Sustained rates and CPU time per packet: {scene}"))?;
    Some(table.without_empty_columns().with_notes([notes(ranking, is_of_one_load).join(" ")]))
}

/// The sustained rates of a method, and its CPU time per packet.
fn rate_and_cost_fields(ranked: &Ranked) -> Fields {
    let cost = ranked.cost.as_ref();
    let app = match cost.and_then(|cost| cost.app_range()) {
        None => Cell::Unknown,
        Some((low, high)) if low >= high => Cell::Number(low),
        Some((low, high)) => Cell::Range { low, high },
    };
    let nearly_lossless = format!("≤ {} lost up to", percent(NEARLY_LOSSLESS_RATIO));
    Fields::new()
        .words("method", "method", ranked.method.to_string())
        .figure("lossless_pps", "lossless up to", rate(&ranked.lossless))
        .figure("nearly_lossless_pps", &nearly_lossless, rate(&ranked.nearly_lossless))
        .figure("app_ns_per_packet", "app CPU", app)
        .figure(
            "total_ns_per_packet",
            "total CPU",
            Cell::number_or_unknown(cost.and_then(|cost| cost.total_ns)),
        )
}

/// A sustained rate, marked if it is a lower bound.
fn rate(sustained: &Sustained) -> Cell {
    match (sustained.status, sustained.lower_pps) {
        (SustainedStatus::Unknown, _) => Cell::Unknown,
        (_, None) => Cell::text("none"),
        (_, Some(pps)) if sustained.is_lower_bound() => Cell::AtLeast(pps.floor()),
        (_, Some(pps)) => Cell::Number(pps.floor()),
    }
}

/// The fields of a method's trial at maximum load that lost the largest share; empty without one.
fn overload_fields(trial: Option<&TrialResult>) -> Fields {
    let offered = Cell::whole_rate_or_empty(trial.map(|trial| trial.offered_pps));
    let delivered = Cell::whole_rate_or_empty(trial.map(|trial| trial.delivered_pps));
    let lost = Cell::number_or_empty(trial.map(TrialResult::sent_loss_ratio));
    Fields::new()
        .with(Column::figure("overload_offered_pps", "at overload: offered").files_only(), offered)
        .with(Column::figure("overload_delivered_pps", "at overload: delivered").files_only(), delivered)
        .with(Column::figure("overload_lost_ratio", "at overload: lost").files_only(), lost)
}

/// What to know to read the rates and costs of a ranking.
fn notes(ranking: &Ranking, is_of_one_load: bool) -> Vec<String> {
    let methods = &ranking.methods;
    let mut notes = Vec::new();
    if methods.iter().all(|ranked| has_none(&ranked.lossless) && has_none(&ranked.nearly_lossless)) {
        notes.push("No method sustained a load that was tried.".into());
    } else if methods.iter().any(|ranked| has_none(&ranked.lossless) || has_none(&ranked.nearly_lossless)) {
        notes.push("none: it sustained none of the loads that were tried.".into());
    }
    let at_least = note_of_at_least(methods, is_of_one_load);
    let rates = if at_least.is_some() { "Other rates" } else { "Rates" };
    notes.extend(at_least);
    if ranking.is_out_of_order() {
        let why =
            "A method above one with a higher rate may sustain more, or costs less at about the same rate.";
        notes.push(why.into());
    }
    notes.extend(note_of_precision(rates, methods));
    let has_costs = methods.iter().any(|ranked| ranked.cost.is_some());
    if let Some(pps) = ranking.equal_load_pps.filter(|_| has_costs) {
        notes.push(format!("CPU time at {}.", naming::rate(pps)));
    }
    if methods.iter().any(lacks_total_cost) {
        let why =
            "Total CPU is unknown where other work ran on the CPU, or the kernel's time is only sampled.";
        notes.push(why.into());
    }
    notes
}

/// Whether no load that was tried is sustained.
fn has_none(sustained: &Sustained) -> bool {
    sustained.lower_pps.is_none() && sustained.status != SustainedStatus::Unknown
}

/// Why a rate is a lower bound.
fn note_of_at_least(methods: &[Ranked], is_of_one_load: bool) -> Option<String> {
    let rates: Vec<&Sustained> =
        methods.iter().flat_map(|ranked| [&ranked.lossless, &ranked.nearly_lossless]).collect();
    let mut reasons = Vec::new();
    for (status, reason) in [
        (SustainedStatus::AtLeast, "the generator sends no more"),
        (SustainedStatus::Disturbed, "noise of the host hides the limit"),
        (SustainedStatus::Between, "the lowest load that was not sustained is far above"),
    ] {
        if rates.iter().any(|rate| rate.status == status && rate.is_lower_bound()) {
            if status == SustainedStatus::AtLeast && is_of_one_load {
                return Some("≥: no higher load was tried.".into());
            }
            reasons.push(reason);
        }
    }
    (!reasons.is_empty()).then(|| format!("≥: {}.", reasons.join(", or ")))
}

/// How precisely the limits are known that are between two bounds: methods that the answer does not depend on less than others.
fn note_of_precision(rates: &str, methods: &[Ranked]) -> Option<String> {
    let mut searched = Vec::new();
    for ranked in methods {
        if let (SustainedStatus::Between, Some(share)) = (ranked.lossless.status, ranked.lossless.searched_to)
            && !ranked.lossless.is_lower_bound()
        {
            searched.push((number(share, Unit::Ratio), ranked.method.to_string()));
        }
    }
    let mut groups = by_key(searched, |(share, _)| share.clone()).into_iter();
    let (first_share, _) = groups.next()?;
    let mut note = format!("{rates} are known to {first_share} %");
    for (share, group) in groups {
        let methods: Vec<&str> = group.iter().map(|(_, method)| method.as_str()).collect();
        note += &format!(", {} to {share} %", naming::list(&methods));
    }
    Some(note + ".")
}

/// Whether the application's cost is known, but not the cost of application and kernel together.
fn lacks_total_cost(ranked: &Ranked) -> bool {
    match &ranked.cost {
        Some(cost) => cost.app_ns.is_some() && cost.total_ns.is_none(),
        None => false,
    }
}
