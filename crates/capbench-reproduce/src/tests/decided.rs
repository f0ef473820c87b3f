//! Which share of the claims that a virtual link can test the default number of visits decides on hosts that others use, and that none of these
//! answers is the contrary of that on a quiet host.

use super::super::PUBLICATIONS;
use super::*;
use capbench_judge::thresholds::REPRODUCTION_VISITS;
use capbench_plan::simulated::{ForeignWork, Noise};

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

/// How many claims were decided.
#[derive(Clone, Copy, Debug, Default)]
struct Decided {
    decided: usize,
    testable: usize,
}

/// Counts the decided claims of all publications on a host.
fn decided_on(host: fn(u64) -> SimulatedLaboratory) -> Decided {
    let mut all = Decided::default();
    for publication in PUBLICATIONS.iter() {
        let (quiet, _) = run(&publication.key, REPRODUCTION_VISITS, &mut path(methods()));
        let (noisy, _) = run(&publication.key, REPRODUCTION_VISITS, &mut host(5));
        let mut of_publication = Decided::default();
        for (finding, quiet) in noisy.findings.iter().zip(&quiet.findings) {
            let is_decided = matches!(finding.answer, Answer::Holds | Answer::Changed);
            let is_contrary = is_decided
                && matches!(quiet.answer, Answer::Holds | Answer::Changed)
                && finding.answer != quiet.answer;
            assert!(!is_contrary, "{}: {finding:#?}, and on a quiet host {quiet:#?}", publication.key);
            of_publication.decided += usize::from(is_decided);
            of_publication.testable += usize::from(finding.answer != Answer::NotTestable);
        }
        println!("{}: {of_publication:?}", publication.key);
        all.decided += of_publication.decided;
        all.testable += of_publication.testable;
    }
    all
}

#[test]
fn lengthy_most_claims_are_decided_on_hosts_that_others_use() {
    for (what, host, least_share) in [
        ("uneven", uneven_by_3_percent as fn(u64) -> SimulatedLaboratory, 0.8),
        ("busy at times", busy_at_times, 0.8),
        // What a host loses is then the work of others, too: claims about losses are withdrawn.
        ("busy always", busy_always, 0.6),
    ] {
        let Decided { decided, testable } = decided_on(host);
        println!("{what}: {decided} of {testable}");
        assert!(decided as f64 >= least_share * testable as f64, "{what}: {decided} of {testable}");
    }
}
