//! What excuses a trial that shows nothing: other processes that kept the host busy, or what the trial itself saw of the host.

use capbench_model::disturbance::CpuDisturbance;
use capbench_model::trial::TrialResult;
use capbench_testing::HostLoad;

/// Time that the kernel's CPU accounting lacks above this share of the window: a hypervisor that reports no steal had the CPU.
const UNACCOUNTED: f64 = 0.1;

/// `None` where nothing disturbed the trial, which then has to show something.
pub fn excuse(trial: &TrialResult, load: HostLoad) -> Option<String> {
    let others = load.others().map(|others| others.to_string());
    let reasons = trial.disturbance.reasons();
    let seen = (!reasons.is_empty()).then(|| format!("{reasons:?}"));
    let is_short = |cpu: &CpuDisturbance| cpu.unaccounted_ns as f64 > UNACCOUNTED * cpu.window_ns as f64;
    let short = trial.disturbance.cpus.iter().find(|cpu| is_short(cpu));
    others.or(seen).or_else(|| short.map(|cpu| format!("CPU {} lacks {} ns", cpu.cpu, cpu.unaccounted_ns)))
}
