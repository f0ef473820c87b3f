//! What else the host did while a trial ran. Nothing of it comes from a counter of the path that the trial is about: only
//! with such a sign may a trial be repeated that did not show what it should.

use std::collections::BTreeMap;
use std::fs;

use capbench_model::trial::TrialResult;

use super::doubts;

/// Threads of the kernel that do the trials' own receive work.
const OWN_WORK: [&str; 2] = ["ksoftirqd/", "napi/"];
/// So much CPU time of other threads, in nanoseconds, is a sign: it can hold a thread of the trial up for as long.
const OTHERS_NS: u64 = 2_000_000;

/// So many softirqs can run between two readings of one kind and another.
const AT_THE_ENDS: u64 = 1;

/// The machine's first process. Some kernels run no BPF program on a CPU while one of its threads is there (docs/evidence/tracer.md).
const FIRST_PROCESS: u32 = 1;

/// CPU time of every thread of other processes so far.
#[derive(Debug)]
pub struct Host(BTreeMap<(u32, u32), u64>);

impl Host {
    /// Reads it now.
    pub fn look() -> Self {
        let own = std::process::id();
        let processes = numbered("/proc").into_iter().filter(|&process| process != own);
        let threads = processes.flat_map(|process| {
            numbered(&format!("/proc/{process}/task")).into_iter().map(move |thread| (process, thread))
        });
        // Threads may end while they are looked at.
        Self(
            threads
                .filter_map(|(process, thread)| Some(((process, thread), time(process, thread)?)))
                .collect(),
        )
    }

    /// What happened since then that a trial meanwhile did not ask for.
    pub fn signs(&self, trial: &TrialResult) -> Vec<String> {
        let now = Self::look();
        let others_ns = now.ran_since(self, |_| true);
        let stolen_ns = trial.disturbance.cpus.iter().map(|cpu| cpu.steal_ns).sum::<u64>();
        let kernel = trial.profile.cpus.kernel.map(|cpu| format!("softnet.cpu{cpu}.dropped"));
        let softnet = trial.counters.iter().filter(|(name, _)| {
            name.starts_with("softnet.") && name.ends_with(".dropped") && Some(*name) != kernel.as_ref()
        });
        let elsewhere = softnet.map(|(_, count)| count).sum::<u64>();
        let runs = |name: &str| trial.counters.get(name).copied().unwrap_or(0);
        let unseen = runs("kernel.softirqs_net_rx").saturating_sub(runs("kernel.net_rx_runs"));
        let first_ns = now.ran_since(self, |process| process == FIRST_PROCESS);
        let all = [
            (
                first_ns > 0 && ends_unseen(trial),
                format!(
                    "the first process, during which some kernels run no BPF program, had a CPU for {} us",
                    first_ns / 1000
                ),
            ),
            (unseen > AT_THE_ENDS, format!("the kernel kept {unseen} receive softirqs from the tracer")),
            (others_ns >= OTHERS_NS, format!("other processes ran for {} us", others_ns / 1000)),
            (stolen_ns > 0, format!("the hypervisor took {} ms away", stolen_ns / 1_000_000)),
            (elsewhere > 0, format!("other CPUs' backlogs dropped {elsewhere} frames")),
            (trial.sent < trial.intended, format!("{} of {} frames sent", trial.sent, trial.intended)),
        ];
        let signs = all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, sign)| sign);
        // Where frames are lost does not depend on how fast CPUs are.
        let disturbed = trial.disturbance.without_core_speed();
        signs.chain(disturbed.reasons().into_iter().map(|noise| format!("{noise:?}"))).collect()
    }

    /// Whether the kernel may have run no BPF program now and then since `before`: its first process had a CPU.
    pub fn may_have_kept_out_the_tracer(&self, before: &Self) -> bool {
        self.ran_since(before, |process| process == FIRST_PROCESS) > 0
    }

    /// CPU time since `before` of the threads of processes that are wanted, in nanoseconds.
    fn ran_since(&self, before: &Self, is_wanted: impl Fn(u32) -> bool) -> u64 {
        let mut sum = 0;
        for (thread, ns) in &self.0 {
            if is_wanted(thread.0) {
                sum += ns.saturating_sub(before.0.get(thread).copied().unwrap_or(0));
            }
        }
        sum
    }
}

/// Whether an entry of the ledger says that frames ended without the tracer seeing it.
pub fn ends_unseen(trial: &TrialResult) -> bool {
    trial.ledger.iter().filter_map(doubts).any(|doubts| doubts.unseen > 0)
}

/// CPU time of a thread in nanoseconds; `None` for one that has ended, or does the trial's work.
fn time(process: u32, thread: u32) -> Option<u64> {
    let name = fs::read_to_string(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    if OWN_WORK.iter().any(|own| name.starts_with(own)) {
        return None;
    }
    let account = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    account.split_whitespace().next()?.parse().ok()
}

/// Entries of a folder of `/proc` that are numbers.
fn numbered(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
