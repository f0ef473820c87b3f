//! Which share of the claims that a virtual link can test the default number of visits decides on hosts that others use, and that none of these
//! answers is the contrary of that on a quiet host.

use super::super::PUBLICATIONS;
use super::*;
use capbench_judge::thresholds::REPRODUCTION_VISITS;
use capbench_plan::simulated::{ForeignWork, Noise};
use capbench_report::sentences::claim_words;

/// A host whose capacity varies by this share from trial to trial.
fn uneven(seed: u64, per_trial: f64) -> SimulatedLaboratory {
    path(methods()).noise(seed, Noise { per_trial, per_second: 0.0 })
}

fn uneven_by_3_percent(seed: u64) -> SimulatedLaboratory {
    uneven(seed, 0.03)
}

/// Other work takes half of the CPU in one trial of ten.
fn busy_at_times(seed: u64) -> SimulatedLaboratory {
    uneven(seed, 0.03).foreign_work(seed, ForeignWork { per_trial: 0.1, share: 0.5 })
}

/// Other work takes three tenths of the CPU in every trial.
fn busy_always(seed: u64) -> SimulatedLaboratory {
    uneven(seed, 0.03).foreign_work(seed, ForeignWork { per_trial: 1.0, share: 0.3 })
}

/// A kind of host, and the least share of the claims that are decided on such hosts.
struct HostKind {
    name: &'static str,
    host: fn(u64) -> SimulatedLaboratory,
    least_share: f64,
}

const KINDS: [HostKind; 3] = [
    HostKind { name: "uneven", host: uneven_by_3_percent, least_share: 0.8 },
    HostKind { name: "busy at times", host: busy_at_times, least_share: 0.8 },
    HostKind { name: "busy always", host: busy_always, least_share: 0.8 },
];

const SEEDS: [u64; 3] = [5, 6, 7];

/// How many claims were decided.
#[derive(Clone, Copy, Debug, Default)]
struct Decided {
    decided: usize,
    testable: usize,
}

/// Adds the claims that a reproduction decides, after a check that none of the answers is the contrary of that on a quiet host.
fn count_decided(counts: &mut Decided, noisy: &Reproduction, quiet: &Reproduction) {
    for (finding, on_quiet_host) in noisy.findings.iter().zip(&quiet.findings) {
        let is_decided = matches!(finding.answer, Answer::Holds | Answer::Changed);
        let is_contrary = is_decided
            && matches!(on_quiet_host.answer, Answer::Holds | Answer::Changed)
            && finding.answer != on_quiet_host.answer;
        assert!(!is_contrary, "{}: {finding:#?}, and on a quiet host {on_quiet_host:#?}", noisy.key);
        if finding.answer == Answer::Inconclusive {
            println!("  open: {}: {}", noisy.key, claim_words(finding));
        }
        counts.decided += usize::from(is_decided);
        counts.testable += usize::from(finding.answer != Answer::NotTestable);
    }
}

#[test]
fn lengthy_most_claims_are_decided_on_hosts_that_others_use() {
    let mut decided = [Decided::default(); KINDS.len()];
    for publication in PUBLICATIONS.iter() {
        let (quiet, _) = run(&publication.key, REPRODUCTION_VISITS, &mut path(methods()));
        for (kind, counts) in KINDS.iter().zip(&mut decided) {
            for seed in SEEDS {
                println!("{}, seed {seed}", kind.name);
                let (noisy, _) = run(&publication.key, REPRODUCTION_VISITS, &mut (kind.host)(seed));
                count_decided(counts, &noisy, &quiet);
            }
        }
    }
    for (kind, Decided { decided, testable }) in KINDS.iter().zip(decided) {
        println!("{}: {decided} of {testable}", kind.name);
        assert!(
            decided as f64 >= kind.least_share * testable as f64,
            "{}: {decided} of {testable}",
            kind.name
        );
    }
}
