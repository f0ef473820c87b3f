//! The data of a publication, from its file in `publications/`, and its tables, the numbers of `published/*.csv`.

use std::sync::LazyLock;

use capbench_model::method_spec::MethodSpec;
use serde::Deserialize;
use toml::{Table, Value};

use crate::conditions::Conditions;
use crate::plan::StepPlan;
use crate::step::Step;
use crate::tables::TablePlan;
use capbench_judge::reproduction::claim::Claim;
use capbench_judge::reproduction::claim_text::fill;
use capbench_judge::reproduction::{Answer, ClaimEvidence, ClaimText, Judgement};
use capbench_model::placement::PlacementChoice;
use capbench_plan::Result;
use capbench_plan::cost::Spread;

/// A publication with an experiment that can be run again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    /// Its name on the command line and in results.
    pub key: String,
    /// Its authors and its subject.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What the publication measured.
    pub then: String,
    /// What replaces it here.
    pub here: String,
    beyond: Vec<Beyond>,
    pub(crate) steps: Vec<StepPlan>,
    pub(crate) tables: Vec<TablePlan>,
    pub(crate) claims: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beyond {
    claim: String,
    why: String,
}

/// Methods of publications that need a vendor's library and card.
pub const VENDORS: [&str; 2] = ["pf-ring", "szedata2"];

/// All publications, by year.
pub static PUBLICATIONS: LazyLock<[Publication; 5]> = LazyLock::new(|| {
    [
        include_str!("publications/dain-2004.toml"),
        include_str!("publications/deri-2004.toml"),
        include_str!("publications/cesnet-2008.toml"),
        include_str!("publications/loke-2011.toml"),
        include_str!("publications/libtrace-2012.toml"),
    ]
    .map(|text| parse(text).unwrap_or_else(|error| panic!("a publication that was compiled in: {error}")))
});

/// The publication of this name.
pub fn find(key: &str) -> Option<&'static Publication> {
    PUBLICATIONS.iter().find(|publication| publication.key == key)
}

/// Reads a file. An entry may be `like` a template, each `{NAME}` replaced by its value in `with`; its own members win.
fn parse(text: &str) -> std::result::Result<Publication, toml::de::Error> {
    let mut file: Table = toml::from_str(text)?;
    let templates = file.remove("templates");
    for list in ["steps", "tables", "claims"] {
        let Some(Value::Array(entries)) = file.get_mut(list) else { continue };
        for entry in entries.iter_mut().filter_map(Value::as_table_mut) {
            let name = entry.remove("like");
            let template =
                name.as_ref().and_then(Value::as_str).and_then(|name| templates.as_ref()?.get(name));
            let Some(Value::Table(template)) = template else { continue };
            let with = entry.remove("with").unwrap_or_else(|| Value::Table(Table::new()));
            let mut whole = Value::Table(template.clone());
            fill_in(&mut whole, &with);
            let own = std::mem::take(entry);
            if let Value::Table(whole) = whole {
                *entry = whole;
            }
            entry.extend(own);
        }
    }
    file.try_into()
}

/// Replaces the names in every text of `value`.
fn fill_in(value: &mut Value, with: &Value) {
    match value {
        Value::String(text) => *text = fill(text, |name| Some(with.get(name)?.as_str()?.to_string())),
        Value::Array(values) => values.iter_mut().for_each(|value| fill_in(value, with)),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| fill_in(value, with)),
        _ => {}
    }
}

impl Publication {
    /// The steps of its experiment. Fails for conditions that the plan cannot have.
    pub fn plan(&self, conditions: &Conditions) -> Result<Vec<Step>> {
        self.steps.iter().map(|step| step.step(conditions)).collect()
    }

    /// Its cost on paths without noise, and without the methods in `absent`. Fails as [`Self::plan`].
    pub fn estimate(&self, conditions: &Conditions, absent: &[&str]) -> Result<Spread> {
        let mut steps = self.without(conditions, absent)?.into_iter();
        steps.try_fold(Spread::default(), |sum, step| Ok(sum.and(step.estimate()?)))
    }

    /// Its steps without the methods in `absent`. Fails as [`Self::plan`].
    pub fn without(&self, conditions: &Conditions, absent: &[&str]) -> Result<Vec<Step>> {
        let placements = [PlacementChoice::Same, PlacementChoice::Other];
        let out: Vec<_> = placements
            .into_iter()
            .flat_map(|placement| absent.iter().map(move |name| (placement, MethodSpec::plain(name))))
            .collect();
        Ok(self.plan(conditions)?.into_iter().map(|step| step.without(&out)).collect())
    }

    /// The parts that cannot be tested here, in saved form.
    pub(crate) fn not_testable(&self) -> impl Iterator<Item = Judgement> {
        self.beyond.iter().map(|beyond| Judgement {
            claim: beyond.claim.clone(),
            answer: Answer::NotTestable,
            text: String::new(),
            evidence: vec![ClaimEvidence::Figures(ClaimText::plain(&beyond.why))],
            trials: Vec::new(),
            visits: None,
            chance: None,
        })
    }
}
