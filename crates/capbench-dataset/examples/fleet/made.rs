//! Runs of a fleet on the simulated path, whose differences are known.

use std::path::Path;

use capbench_model::environment::Environment;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::{Collected, bench_plan};
use capbench_plan::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use capbench_results::for_tests::results;
use capbench_results::{Results, RunDirectory};
use uuid::Builder;

/// The first start.
pub const START: u64 = 1_700_000_000;

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Number of the host.
    pub host: usize,
    /// Its kernel.
    pub kernel: &'static str,
    /// Frames per second that the methods do.
    pub capacity: f64,
    /// Its start, seconds since 1970.
    pub started: u64,
    /// What chance does to it.
    pub seed: u64,
}

/// A bench of two methods.
pub fn run(made: Made) -> Results {
    let methods = ["recv", "packet-v3"].map(|name| SimulatedMethod::new(name, made.capacity));
    let noise = Noise { per_trial: 0.01, per_second: 0.0 };
    let mut path = SimulatedLaboratory::new(1e6, methods.to_vec()).noise(made.seed, noise);
    let plan = BenchPlan { visits: 2, ..bench_plan(&["recv", "packet-v3"]) };
    let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
    let environment = Environment {
        kernel_release: Some(made.kernel.into()),
        capbench_version: "0.1.0".into(),
        ..Environment::default()
    };
    Results {
        run_id: Some(run_id(made)),
        command: ["capbench", "bench"].map(String::from).to_vec(),
        started_unix_s: made.started,
        host_id: Some(format!("host{}", made.host)),
        environment,
        ..results(outcome.trials)
    }
}

/// What identifies a run, as capbench saves it, but the same each time. Simulated hosts have equal processors, kernels and starts:
/// an identifier derived from the counts of the first trial would be that of another host's run once in a while.
fn run_id(made: Made) -> String {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&made.seed.to_be_bytes());
    Builder::from_unix_timestamp_millis(made.started * 1000, &random).into_uuid().to_string()
}

/// Saves a run as capbench does.
pub fn save(results: &Results, folder: &Path) {
    RunDirectory::create(folder).unwrap().save(results).unwrap();
}

/// Saves a fleet in which the second kernel is slower by 3 % on a third of the hosts.
pub fn save_all(folder: &Path, hosts: usize, runs: usize) {
    for host in 0..hosts {
        for (side, kernel) in ["6.1.0", "6.2.0"].into_iter().enumerate() {
            for nth in 0..runs {
                let is_slower = side == 1 && host < hosts / 3;
                let speed = 400_000.0 + 10_000.0 * (host % 40) as f64;
                let capacity = if is_slower { 0.97 * speed } else { speed };
                let day = (side * runs + nth) as u64;
                let seed = (host * 100 + side * 10 + nth) as u64;
                let made = Made { host, kernel, capacity, started: START + day * 86_400, seed };
                save(&run(made), &folder.join(format!("run{seed}")));
            }
        }
    }
}
