//! Publications run again on a simulated path, as `capbench reproduce all` saves them.

use std::sync::LazyLock;
use std::time::Duration;

use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_plan::for_tests::Collected;
use capbench_plan::for_tests::publication_methods;
use capbench_plan::simulated::SimulatedLaboratory;
use capbench_reproduce::{Conditions, PUBLICATIONS, Scale};
use capbench_results::Results;

/// All publications, each point visited twice; computed once.
pub fn all() -> Results {
    static ALL: LazyLock<Results> = LazyLock::new(run_all);
    ALL.clone()
}

fn run_all() -> Results {
    let base = Setup { quiet: Duration::from_millis(200), ..setup(64) };
    let conditions = Conditions { base, scale: Scale::DEFAULT, visits: 2, seed: 7 };
    let mut path = SimulatedLaboratory::new(1_500_000.0, publication_methods());
    let mut run = super::results(&["reproduce", "all"], Vec::new());
    let mut collected = Collected::default();
    for publication in PUBLICATIONS.iter() {
        publication.run(&conditions, &mut path, &mut collected).unwrap();
        run.reproductions.extend(collected.reproduced.pop());
    }
    // A sweep is collected after each point; only the complete one is saved at the end.
    collected.swept.retain(|sweep| !sweep.stopped);
    Results {
        trials: collected.trials,
        sweeps: collected.swept,
        searches: collected.searches,
        not_measured: collected.not_measured,
        ..run
    }
}
