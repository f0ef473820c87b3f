//! All facts of a run, in the order of a report: what answers its question, what else it shows, and its caveats.

use std::borrow::Cow;

use capbench_model::not_measured::NotMeasured;

use super::{
    Found, bench, caveats as of_caveats, comparison, queues, reproduction, rfc2544, search, soak, sweep,
    trials, unfinished,
};
use crate::comparison::Comparison;
use crate::recommendation::{Recommendation, recommend};
use crate::reproduction::Reproduction;
use crate::rfc2544::Tested;
use crate::run::{Kind, RunFacts};

/// A saved run, with what was concluded of its trials.
#[derive(Clone, Copy, Debug)]
pub struct WholeRun<'r> {
    /// What it measured.
    pub kind: Kind,
    /// Its trials, and the outcomes of searches, sweeps and soaks.
    pub facts: RunFacts<'r>,
    /// Outcomes of RFC 2544 tests other than throughput.
    pub rfc2544: &'r [Tested],
    /// Comparisons of methods with the reference method that alternated with them.
    pub comparisons: &'r [Comparison],
    /// Repeated experiments of publications.
    pub reproductions: &'r [Reproduction],
    /// Set-ups that could not be measured.
    pub not_measured: &'r [NotMeasured],
    /// The recommendation, as saved.
    pub recommended: Option<&'r Recommendation>,
}

impl<'r> WholeRun<'r> {
    /// Which method to use: as saved, less what an older version left undecided, or by the trials of a bench of a version that did
    /// not save it.
    pub fn recommendation(&self) -> Option<Cow<'r, Recommendation>> {
        if let Some(saved) = self.recommended {
            let decided = saved.with_far_behind(self.facts.trials);
            return Some(decided.map_or(Cow::Borrowed(saved), Cow::Owned));
        }
        if self.kind != Kind::Bench {
            return None;
        }
        recommend(self.facts.trials, self.facts.searches).map(Cow::Owned)
    }
}

/// What answers the question of a run, the verdict first: at least one fact.
pub fn answers(run: &WholeRun<'_>) -> Vec<Found> {
    let facts = &run.facts;
    let mut all = Vec::new();
    // A comparison that the user requested comes first.
    all.extend(comparison::of_methods(run.comparisons, facts.trials));
    all.extend(match run.kind {
        Kind::Bench => bench::answers(run.recommendation().as_deref(), facts, run.not_measured),
        Kind::Search => search::answers(facts.searches, facts.trials),
        Kind::Sweep => sweep::answers(facts.sweeps, facts.trials),
        Kind::Rfc2544 => rfc2544::answers(facts.searches, run.rfc2544, facts.trials),
        Kind::Soak => facts.soak.map_or_else(Vec::new, soak::answers),
        Kind::Reproduce => reproduction::answers(run.reproductions, facts.trials),
    });
    if all.is_empty() {
        all.push(unfinished::unfinished(facts));
    }
    for found in &mut all {
        found.trials.sort_unstable();
        found.trials.dedup();
    }
    all
}

/// What else a run shows, the most important first.
pub fn find(run: &WholeRun<'_>) -> Vec<Found> {
    let facts = &run.facts;
    if run.kind == Kind::Reproduce {
        // Its sweeps and searches only serve the tables of the publications.
        let mut all = reproduction::find(run.reproductions);
        all.extend(trials::find(facts.trials, Vec::new()));
        return all;
    }
    let settings = queues::find(facts.environment);
    if run.kind == Kind::Bench {
        // Its searches only serve the recommendation.
        let mut all = trials::find(facts.trials, settings);
        all.extend(search::find(facts.searches, facts.trials));
        return all;
    }
    let mut all = search::find(facts.searches, facts.trials);
    for outcome in facts.sweeps {
        all.extend(sweep::find(outcome, facts.trials));
    }
    match facts.soak {
        Some(record) => {
            all.extend(soak::find(record));
            all.extend(settings);
        }
        None => all.extend(trials::find(facts.trials, settings)),
    }
    all
}

/// How noisy a run is, and what could not be measured.
pub fn caveats(run: &WholeRun<'_>) -> Vec<Found> {
    of_caveats::find(&run.facts, run.not_measured)
}
