//! Which hosts became worse in a figure.

use std::cmp::Ordering;

use super::{HostChange, HostsCompared};
use crate::comparison::{Contrast, Scale};
use crate::thresholds::WORSE_HOST;

/// Hosts that became worse in a figure. The change of a single host is not tested.
#[derive(Clone, Debug, PartialEq)]
pub struct WorseHosts {
    /// From this change on a host counts as worse.
    pub limit: f64,
    /// Hosts with the figure.
    pub hosts: usize,
    /// Those that became worse, the worst first.
    pub worse: Vec<String>,
}

impl HostsCompared {
    /// The hosts in the figure of a contrast, the worst first.
    pub fn worst_first(&self, contrast: &Contrast) -> Vec<&HostChange> {
        let mut hosts = Vec::new();
        for change in &self.changes {
            if change.setup == contrast.setup && change.measure == contrast.measure {
                hosts.push(change);
            }
        }
        hosts.sort_by(|a, b| worse_before_better(a, b));
        hosts
    }

    /// The hosts that became worse in the figure of a contrast; `None` if it has several set-ups.
    pub fn worse_hosts(&self, contrast: &Contrast) -> Option<WorseHosts> {
        if contrast.setups > 1 {
            return None;
        }
        let limit = match contrast.measure.scale() {
            Scale::Ratio => WORSE_HOST,
            Scale::Difference => self.comparison.thresholds.loss,
        };
        let hosts = self.worst_first(contrast);
        let mut worse = Vec::new();
        for change in &hosts {
            if change.worse() >= limit {
                worse.push(change.host.clone());
            }
        }
        Some(WorseHosts { limit, hosts: hosts.len(), worse })
    }
}

fn worse_before_better(one: &HostChange, other: &HostChange) -> Ordering {
    other.worse().total_cmp(&one.worse()).then_with(|| one.host.cmp(&other.host))
}
