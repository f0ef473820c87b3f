//! Trials of several generators: how far apart they began, and whose frames were lost.

use std::collections::BTreeMap;

use capbench_model::figures::grouped;
use capbench_model::trial::{Generator, TrialResult};
use capbench_results::Finding;

use super::super::{finding, many, numbers};

/// Most generators that are named.
const NAMED: usize = 3;

pub(super) fn find(trials: &[TrialResult]) -> Option<Finding> {
    let of_several: Vec<&TrialResult> = trials.iter().filter(|trial| trial.generators.len() > 1).collect();
    let most = of_several.iter().map(|trial| trial.generators.len()).max()?;
    let spread = of_several.iter().filter_map(|trial| {
        let ns = trial.disturbance.start_spread_ns? as f64;
        Some((ns, ns / (trial.sending_s * 1e9).max(1.0)))
    });
    let apart = spread.reduce(|one, other| if other.1 > one.1 { other } else { one }).map(|(ns, share)| {
        format!(" They began up to {:.1} ms apart, {:.1} % of the trial.", ns / 1e6, share * 100.0)
    });
    let generators: Vec<&Generator> = of_several.iter().flat_map(|trial| &trial.generators).collect();
    let text = format!(
        "{} sent together.{} {}",
        many(most as u64, "generator", "generators"),
        apart.unwrap_or_default(),
        losses(&generators)
    );
    Some(finding(text, numbers(&of_several)))
}

/// Whose frames were lost.
fn losses(generators: &[&Generator]) -> String {
    if generators.iter().all(|generator| generator.lost.is_none()) {
        return "Whose frames were lost is unknown, because the frames were not examined one by one.".into();
    }
    let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
    for generator in generators {
        *lost.entry(&generator.location).or_default() += generator.lost.unwrap_or(0);
    }
    let mut lost: Vec<(&str, u64)> = lost.into_iter().filter(|(_, frames)| *frames > 0).collect();
    lost.sort_by_key(|(_, frames)| std::cmp::Reverse(*frames));
    if lost.is_empty() {
        return "None of them lost a frame.".into();
    }
    let named = lost.iter().take(NAMED);
    let mut parts: Vec<_> =
        named.map(|(location, frames)| format!("{location} {}", grouped(*frames as f64))).collect();
    if lost.len() > NAMED {
        parts.push(format!("{} more", many((lost.len() - NAMED) as u64, "generator", "generators")));
    }
    format!("Lost frames by generator: {}.", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::rates::Pps;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::*;

    fn trial(lost: &[Option<u64>]) -> TrialResult {
        let load = Load::Rate(Pps::new(1000.0).unwrap());
        let measured = measured(1000, 1000, 1000, 0);
        let trial = measured.result(1, Phase::FixedLoad, &profile("recv"), load, Duration::from_secs(1));
        let generator = |(number, lost): (usize, &Option<u64>)| Generator {
            location: format!("ssh:gen{number}/eth1"),
            lost: *lost,
            ..Generator::default()
        };
        TrialResult { generators: lost.iter().enumerate().map(generator).collect(), ..trial }
    }

    fn text(trial: TrialResult) -> String {
        find(&[trial]).unwrap().text
    }

    #[test]
    fn one_generator_needs_no_line() {
        assert!(find(&[trial(&[Some(3)])]).is_none() && find(&[trial(&[])]).is_none());
    }

    #[test]
    fn several_say_how_far_apart_they_began_and_who_lost() {
        let mut spread = trial(&[Some(0), Some(1200)]);
        spread.disturbance.start_spread_ns = Some(12_000_000);
        assert_eq!(
            text(spread),
            "2 generators sent together. They began up to 12.0 ms apart, 1.2 % of the trial. Lost frames by generator: \
             ssh:gen1/eth1 1,200."
        );
        assert_eq!(text(trial(&[Some(0); 2])), "2 generators sent together. None of them lost a frame.");
        assert!(
            text(trial(&[Some(5), Some(4), Some(3), Some(2), Some(1)]))
                .ends_with("gen2/eth1 3, 2 generators more.")
        );
        assert!(text(trial(&[None, None])).contains("is unknown"));
    }
}
