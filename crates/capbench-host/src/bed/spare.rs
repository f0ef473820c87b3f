//! CPUs that are free for another placement of a trial.

use std::path::Path;

use capbench_model::thresholds::IDLE_CPU_SHARE;
use capbench_sys::host::{CpuId, affinity};

use crate::accounts::cpu::CpuWindow;

/// Where the kernel says which CPUs are threads of one core.
const TOPOLOGY: &str = "/sys/devices/system/cpu";

/// CPUs that share no core with a CPU of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpareCpus(Vec<CpuId>);

impl SpareCpus {
    /// Those among the CPUs that this process may use. Where the host hides its topology, each CPU is a core.
    pub fn besides(trial: &[CpuId], allowed: &[CpuId]) -> Self {
        Self::by_topology(trial, allowed, Path::new(TOPOLOGY))
    }

    fn by_topology(trial: &[CpuId], allowed: &[CpuId], folder: &Path) -> Self {
        let mut spare = allowed.to_vec();
        for cpu in trial {
            let file = folder.join(format!("cpu{cpu}/topology/thread_siblings_list"));
            let list = std::fs::read_to_string(file).unwrap_or_default();
            let siblings = affinity::parse_cpu_list(list.trim()).unwrap_or_default();
            spare.retain(|other| other != cpu && !siblings.contains(other));
        }
        Self(spare)
    }

    /// Those that were idle in a window.
    pub fn idle_in(&self, window: &CpuWindow) -> Vec<u32> {
        let mut idle = Vec::new();
        for cpu in &self.0 {
            let Some(times) = window.of(*cpu) else { continue };
            let idle_ns = times.idle_ns + times.iowait_ns;
            if idle_ns > 0 && idle_ns as f64 >= IDLE_CPU_SHARE * times.total_ns() as f64 {
                idle.push(cpu.number());
            }
        }
        idle
    }
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::CpuId;
    use capbench_testing::Scratch;

    use super::SpareCpus;
    use crate::accounts::cpu::CpuSnapshot;

    fn cpus(numbers: &[u32]) -> Vec<CpuId> {
        numbers.iter().copied().map(CpuId::new).collect()
    }

    #[test]
    fn cpus_of_the_trials_cores_are_not_spare() {
        let scratch = Scratch::new();
        for (cpu, list) in [(0, "0-1\n"), (3, "3\n")] {
            let folder = scratch.file(&format!("cpu{cpu}/topology"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("thread_siblings_list"), list).unwrap();
        }
        let allowed = cpus(&[0, 1, 2, 3, 4]);
        let spare = |trial: &[u32]| SpareCpus::by_topology(&cpus(trial), &allowed, scratch.path());
        assert_eq!(spare(&[0, 3, 3]), SpareCpus(cpus(&[2, 4])));
        assert_eq!(spare(&[4]), SpareCpus(cpus(&[0, 1, 2, 3])), "a core that is not known");
    }

    #[test]
    fn a_cpu_is_idle_from_nine_tenths_of_the_window_on() {
        let snapshot = |text| CpuSnapshot::parse(text, 1).unwrap();
        let before = snapshot("cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0");
        let after = snapshot("cpu0 8 0 0 80 12 0 0 0\ncpu1 40 0 0 60 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0");
        let spare = SpareCpus(cpus(&[0, 1, 2, 9]));
        assert_eq!(spare.idle_in(&after.since(&before)), [0]);
        let less = snapshot("cpu0 12 0 0 80 8 0 0 0");
        assert!(spare.idle_in(&less.since(&before)).is_empty());
    }
}
