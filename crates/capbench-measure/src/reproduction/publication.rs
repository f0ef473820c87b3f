//! What there is to know of a publication.

use capbench_capture::{MethodSpec, methods};

use super::conditions::Conditions;
use super::material::Material;
use super::outcome::{Answer, Comparison, Judgement};
use super::step::Step;
use super::{cesnet_2008, dain_2004, deri_2004, libtrace_2012, loke_2011};
use crate::cost::Spread;
use crate::error::Result;
use crate::placement::PlacementChoice;

/// A publication whose experiment can be run again.
#[derive(Debug)]
pub struct Publication {
    /// Its name on the command line and in results.
    pub key: &'static str,
    /// Who wrote it and what it is about.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// What was measured then.
    pub then: &'static str,
    /// What takes its place here.
    pub here: &'static str,
    /// How often each point is visited where nothing else is asked for: as often as the time for all publications allows.
    pub visits: u32,
    /// What of it cannot be tested on a host like this one, and why.
    pub beyond: &'static [(&'static str, &'static str)],
    /// The experiment.
    pub plan: fn(&Conditions) -> Result<Vec<Step>>,
    /// Its tables and claims, beside what was measured.
    pub compare: fn(&Material<'_>) -> Compared,
}

/// What a comparison gives.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Tables, published cells beside measured ones.
    pub tables: Vec<Comparison>,
    /// Claims of the publication, and whether they hold here.
    pub findings: Vec<Judgement>,
}

/// Methods of publications that need a vendor's library and card.
pub const VENDORS: [&str; 2] = ["pf-ring", "szedata2"];

/// Those of [`VENDORS`] that cannot run here.
pub fn absent_vendors() -> Vec<&'static str> {
    let runs = |name: &str| {
        let spec = MethodSpec::plain(name);
        methods::find(&spec).is_ok_and(|method| (method.supported)(&spec).is_ok())
    };
    VENDORS.into_iter().filter(|name| !runs(name)).collect()
}

/// All publications, by year.
pub static PUBLICATIONS: [&Publication; 5] = [
    &dain_2004::PUBLICATION,
    &deri_2004::PUBLICATION,
    &cesnet_2008::PUBLICATION,
    &loke_2011::PUBLICATION,
    &libtrace_2012::PUBLICATION,
];

/// The publication of this name.
pub fn find(key: &str) -> Option<&'static Publication> {
    PUBLICATIONS.iter().copied().find(|publication| publication.key == key)
}

impl Publication {
    /// What it costs on paths without noise, and without the methods in `absent`.
    ///
    /// # Errors
    /// Conditions that the plan cannot have.
    pub fn estimate(&self, conditions: &Conditions, absent: &[&str]) -> Result<Spread> {
        self.without(conditions, absent)?.iter().try_fold(Spread::default(), |sum, step| {
            let spread = step.estimate()?;
            Ok(Spread {
                least: sum.least.and(spread.least),
                median: sum.median.and(spread.median),
                most: sum.most.and(spread.most),
            })
        })
    }

    /// Its steps without the methods in `absent`.
    ///
    /// # Errors
    /// Conditions that the plan cannot have.
    pub fn without(&self, conditions: &Conditions, absent: &[&str]) -> Result<Vec<Step>> {
        let placements = [PlacementChoice::Same, PlacementChoice::Other];
        let out: Vec<_> = placements
            .into_iter()
            .flat_map(|placement| absent.iter().map(move |name| (placement, MethodSpec::plain(name))))
            .collect();
        Ok((self.plan)(conditions)?.into_iter().map(|step| step.without(&out)).collect())
    }

    /// What of it cannot be tested here, as it is saved.
    pub(super) fn not_testable(&self) -> impl Iterator<Item = Judgement> {
        self.beyond.iter().map(|(what, why)| Judgement {
            claim: (*what).into(),
            answer: Answer::NotTestable,
            text: (*why).into(),
            trials: Vec::new(),
            visits: None,
            chance: None,
        })
    }
}
