//! CPU cost of the tracer on the receiving CPU.
//!
//! The kernel measures the run time of BPF programs on request (`BPF_ENABLE_STATS`) and then reads the clock twice per run.
//! This would slow trials down, so the run measures it once, on its own bed and under its own load, before the first trial. The
//! cost in a trial follows from the number of program runs, which the programs count. The time of the clock reads is measured
//! with an empty program on the same tracepoint, and subtracted. The instructions from a tracepoint to a program are not
//! included. `tools/compare/tracer` measures the total: throughput with and without the tracer, in turn.

use std::fmt;

/// Fewer runs do not give a reliable cost per run.
const FEWEST_RUNS: u64 = 100;

/// Time per event, measured on this host.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct TracerCost {
    /// ns per frame that the kernel dropped (`skb:kfree_skb`).
    pub drop_ns: f64,
    /// Number of frames in the measurement.
    pub drops: u64,
    /// ns per run of the receive softirq, for its start and end together.
    pub softirq_ns: f64,
    /// Number of runs in the measurement.
    pub softirqs: u64,
    /// ns that the measurement of a program run takes; already subtracted from the others.
    pub measuring_ns: f64,
}

impl TracerCost {
    /// Computes the cost from times in ns and numbers of events: drops, receive softirqs, and an empty program. `None` if there
    /// were too few events.
    pub fn new(drops: (u64, u64), softirqs: (u64, u64), nothing: (u64, u64)) -> Option<Self> {
        let each = |(ns, events): (u64, u64)| (events >= FEWEST_RUNS).then(|| ns as f64 / events as f64);
        let measuring_ns = each(nothing)?;
        // A NAPI thread polls outside the softirq: a program that never runs costs nothing. A softirq has two programs.
        let softirq_ns = if softirqs.1 == 0 { 0.0 } else { each(softirqs)? - 2.0 * measuring_ns };
        let (drop_ns, softirq_ns) = ((each(drops)? - measuring_ns).max(0.0), softirq_ns.max(0.0));
        Some(Self { drop_ns, drops: drops.1, softirq_ns, softirqs: softirqs.1, measuring_ns })
    }

    /// The time in ns of these events.
    pub fn of(&self, drops: u64, softirqs: u64) -> u64 {
        (drops as f64 * self.drop_ns + softirqs as f64 * self.softirq_ns).round() as u64
    }
}

impl fmt::Display for TracerCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} ns for each frame that the kernel drops ({} measured), {:.0} ns for each receive softirq ({} measured), \
             without the {:.0} ns that measuring a run takes",
            self.drop_ns, self.drops, self.softirq_ns, self.softirqs, self.measuring_ns
        )
    }
}

#[cfg(test)]
mod tests {
    use super::TracerCost;

    #[test]
    fn a_trial_costs_what_its_events_cost() {
        let cost = TracerCost::new((30_000, 1_000), (50_000, 500), (10_000, 1_000)).unwrap();
        assert_eq!((cost.drop_ns, cost.softirq_ns), (20.0, 80.0));
        assert_eq!(cost.of(2_000, 10), 40_800);
        assert_eq!(
            cost.to_string(),
            "20 ns for each frame that the kernel drops (1000 measured), 80 ns for each receive softirq (500 measured), \
             without the 10 ns that measuring a run takes"
        );
    }

    #[test]
    fn too_few_events_show_nothing() {
        let nothing = (10_000, 1_000);
        assert_eq!(TracerCost::new((3_000, 99), (50_000, 500), nothing), None);
        assert_eq!(TracerCost::new((30_000, 1_000), (500, 5), nothing), None);
        assert_eq!(TracerCost::new((30_000, 1_000), (50_000, 500), (10, 1)), None);
        assert_eq!(
            TracerCost::new((30_000, 1_000), (0, 0), nothing).unwrap().of(10, 0),
            200,
            "a thread polls"
        );
        assert_eq!(TracerCost::new((9_000, 1_000), (0, 0), nothing).unwrap().of(10, 0), 0, "never below 0");
    }
}
