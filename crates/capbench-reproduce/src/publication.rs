//! The data of a publication, from its file in `publications/`, and its tables, the numbers of `published/*.csv`.

use std::sync::LazyLock;

use capbench_model::method_spec::MethodSpec;
use serde::Deserialize;
use toml::{Table, Value};

use super::claim::Claim;
use super::conditions::Conditions;
use super::figure::fill;
use super::outcome::{Answer, Judgement};
use super::plan::StepPlan;
use super::step::Step;
use super::tables::TablePlan;
use capbench_model::placement::PlacementChoice;
use capbench_plan::Result;
use capbench_plan::cost::Spread;

/// A publication whose experiment can be run again.
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
    /// Default number of visits per point, limited by the time for all publications.
    pub visits: u32,
    beyond: Vec<Beyond>,
    pub(super) steps: Vec<StepPlan>,
    pub(super) tables: Vec<TablePlan>,
    pub(super) claims: Vec<Claim>,
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
    pub(super) fn not_testable(&self) -> impl Iterator<Item = Judgement> {
        self.beyond.iter().map(|beyond| Judgement {
            claim: beyond.claim.clone(),
            answer: Answer::NotTestable,
            text: beyond.why.clone(),
            trials: Vec::new(),
            visits: None,
            chance: None,
        })
    }
}

/// A published table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The name of its file, without `.csv`.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! data {
    ($($name:literal),+ $(,)?) => {
        /// All tables.
        pub const ALL: &[Data] =
            &[$(Data { name: $name, text: include_str!(concat!("published/", $name, ".csv")) }),+];
    };
}

data! {
    "dain-2004-libpcap-45kpps",
    "dain-2004-libpcap-vs-mmap-167kpps",
    "deri-2004-fraction-captured",
    "cesnet-2008-table1-best-effort-szedata2",
    "cesnet-2008-table2-best-effort-pf_ring",
    "cesnet-2008-table3-best-effort-linux-stack",
    "cesnet-2008-table4-rfc2544-printed-as-szedata2",
    "cesnet-2008-table5-rfc2544-pf_ring",
    "cesnet-2008-table6-rfc2544-linux-stack",
    "cesnet-2008-table7-imix-load",
    "loke-2011-tpacket-v1-vs-v3",
}

impl Data {
    /// The table of this name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|data| data.name == name)
    }

    /// Names of its columns.
    pub fn columns(self) -> Vec<&'static str> {
        self.text.lines().next().map_or_else(Vec::new, |head| head.split(',').collect())
    }

    /// Its rows as fields, without the header.
    pub fn rows(self) -> Vec<Vec<&'static str>> {
        self.text
            .lines()
            .skip(1)
            .filter(|line| !line.is_empty())
            .map(|line| line.split(',').collect())
            .collect()
    }

    /// The number in this column of the row that begins with `label`, times a power of ten, parsed together: a product is
    /// inexact (12.3 * 0.01 and 12.3 / 100 are 0.12300000000000001).
    pub fn scaled(self, label: &str, column: &str, power: i32) -> Option<f64> {
        let column = self.columns().iter().position(|known| *known == column)?;
        let row = self.rows().into_iter().find(|row| row.first() == Some(&label))?;
        format!("{}e{power}", row.get(column)?).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read_as_a_reader_of_csv_reads_it() {
        for data in ALL {
            let mut reader = csv::Reader::from_reader(data.text.as_bytes());
            assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), data.columns(), "{}", data.name);
            let rows: Vec<Vec<String>> =
                reader.records().map(|row| row.unwrap().iter().map(String::from).collect()).collect();
            assert_eq!(rows, data.rows(), "{}", data.name);
            assert!(rows.len() >= 2, "{}", data.name);
        }
    }

    #[test]
    fn numbers_have_their_places() {
        let scaled = |name, label, column, power| Data::named(name).unwrap().scaled(label, column, power);
        assert_eq!(scaled("dain-2004-libpcap-45kpps", "3000", "fraction_captured", 0), Some(0.81));
        assert_eq!(
            scaled("deri-2004-fraction-captured", "linux-2.4-libpcap", "fraction_captured", 0),
            Some(0.002)
        );
        assert_eq!(scaled("cesnet-2008-table7-imix-load", "pf_ring", "no such column", 0), None);
        assert_eq!(
            scaled("cesnet-2008-table1-best-effort-szedata2", "1319", "app_load_pct", -2),
            Some(0.123)
        );
        assert_eq!(scaled("cesnet-2008-table2-best-effort-pf_ring", "256", "other_cpu_gbps", 9), Some(757e6));
        assert_eq!(scaled("loke-2011-tpacket-v1-vs-v3", "tpacket_v1", "queue_blocked_count", 0), None);
        assert_eq!(scaled("loke-2011-tpacket-v1-vs-v3", "tpacket_v2", "received", 0), None);
        assert_eq!(Data::named("loke-2011"), None);
    }
}
