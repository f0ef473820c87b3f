//! The words of `DisturbersOfRun`: what used the CPUs of trials, the largest first, and what to do about it.

use std::collections::BTreeSet;

use capbench_judge::finding::disturbers::{CpuUse, Disturber, DisturbersOfRun, FreeCpus};
use capbench_model::disturbers::Hidden;

use super::capitalised;
use crate::naming::{list, many};
use crate::printable;

/// Most disturbers of the sentence.
const NAMED: usize = 3;

/// Longest name of a process. Those of an agent can be longer than a kernel allows.
const LONGEST_NAME: usize = 64;

/// The text of the fact.
pub(super) fn words(fact: &DisturbersOfRun) -> String {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut further: BTreeSet<String> = BTreeSet::new();
    for one in &fact.used {
        let subject = subject(&one.by);
        let used = used_words(one, fact.all_trials);
        if let Some(clause) = clauses.iter_mut().find(|clause| clause.subject == subject) {
            clause.used.push(used);
        } else if clauses.len() < NAMED {
            clauses.push(Clause { subject, used: vec![used] });
        } else {
            further.insert(subject);
        }
    }
    let mut clauses: Vec<String> = clauses.iter().map(Clause::words).collect();
    if !further.is_empty() {
        clauses.push(format!("{} more used less", further.len()));
    }
    let mut text = clauses.join("; ");
    // The name of a process keeps its letters.
    if fact.used.first().is_some_and(|largest| !has_name(&largest.by)) {
        text = capitalised(&text);
    }
    text.push('.');
    if let Some(advice) = advice(fact) {
        text.push(' ');
        text.push_str(&advice);
    }
    text
}

/// One disturber with what it used of each CPU.
struct Clause {
    subject: String,
    used: Vec<String>,
}

impl Clause {
    fn words(&self) -> String {
        format!("{} {}", self.subject, list(&self.used))
    }
}

/// Whether a disturber is a process, which has a name.
fn has_name(by: &Disturber) -> bool {
    !matches!(by, Disturber::Unnamed { .. } | Disturber::Hypervisor | Disturber::Quota)
}

/// A disturber with its verb.
fn subject(by: &Disturber) -> String {
    let verb = match by {
        Disturber::Hypervisor | Disturber::Quota => "took",
        _ => "used",
    };
    format!("{} {verb}", name_words(by))
}

/// What a disturber used, where, and in how many trials.
fn used_words(one: &CpuUse, all_trials: u32) -> String {
    let mut words = share_words(one);
    if let Some(location) = &one.location {
        words.push_str(&format!(" on the host of {}", printable::line(location)));
    }
    if one.trials < all_trials {
        words.push_str(&format!(" in {} of {}", one.trials, many(all_trials.into(), "trial", "trials")));
    }
    words
}

/// `83 % of CPU 1`; of several CPUs `83 % of a CPU (CPUs 0 and 1)`.
fn share_words(one: &CpuUse) -> String {
    let share = percent(one.share);
    match &one.cpus[..] {
        [cpu] => format!("{share} of CPU {cpu}"),
        [] => format!("{share} of a CPU"),
        cpus => {
            let numbers: Vec<String> = cpus.iter().map(u32::to_string).collect();
            format!("{share} of a CPU (CPUs {})", list(&numbers))
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn name_words(by: &Disturber) -> String {
    match by {
        Disturber::Process { comm, pid } => format!("{} (pid {pid})", process_name(comm)),
        Disturber::Processes { comm, processes } => format!("{} ({processes} processes)", process_name(comm)),
        Disturber::KernelThread { comm } => format!("{} (a kernel thread)", process_name(comm)),
        Disturber::Unnamed { hidden } => hidden_words(hidden.first()).into(),
        Disturber::Hypervisor => "the hypervisor".into(),
        Disturber::Quota => "the CPU quota of its control group".into(),
    }
}

/// A name that a program chose: in quotation marks unless it is a plain word.
fn process_name(comm: &str) -> String {
    let short: String = comm.chars().take(LONGEST_NAME).collect();
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.:/+@#".contains(letter);
    if !short.is_empty() && short.chars().all(is_plain) {
        return short;
    }
    format!("\"{}\"", printable::line(&short))
}

/// What cannot be named, by the reason.
fn hidden_words(hidden: Option<&Hidden>) -> &'static str {
    match hidden {
        Some(Hidden::PidNamespace) => "something outside this container",
        Some(Hidden::MountedHidepid) => "a process that /proc hides (hidepid)",
        Some(Hidden::Refused) => "a process whose times the kernel refuses to show",
        Some(Hidden::NoAccount) => "a process (this kernel keeps no times of processes)",
        Some(Hidden::TooMany) => "a process (there are too many to read them all)",
        Some(Hidden::NoProc) => "a process (/proc cannot be read)",
        None => "processes that ended meanwhile, or took less than 1 % each,",
    }
}

/// What to do about the largest.
fn advice(fact: &DisturbersOfRun) -> Option<String> {
    let largest = fact.used.first()?;
    let advice = match (&largest.by, &fact.free_cpus) {
        (Disturber::Hypervisor, _) => "Measure at another time, or on another machine.".into(),
        (Disturber::Quota, _) => "Measure outside that group, or raise its `cpu.max`.".into(),
        (_, Some(free)) => format!("Use idle CPUs: {}.", flags(free)),
        (Disturber::Process { comm, .. }, None) => {
            format!("Stop {}, or measure when it has ended.", process_name(comm))
        }
        (Disturber::Processes { comm, .. }, None) => {
            format!("Stop {}, or measure when they have ended.", process_name(comm))
        }
        (Disturber::KernelThread { .. } | Disturber::Unnamed { .. }, None) => {
            "Measure again when the host is quiet.".into()
        }
    };
    Some(advice)
}

/// The flags that place a trial on free CPUs.
fn flags(free: &FreeCpus) -> String {
    let FreeCpus { generator, kernel, application } = free;
    format!("`--gen-cpu {generator} --kernel-cpu {kernel} --app-cpu {application}`")
}

#[cfg(test)]
mod tests {
    use super::{CpuUse, Disturber, DisturbersOfRun, FreeCpus, Hidden, words};

    fn one(by: Disturber, cpus: &[u32], share: f64) -> CpuUse {
        CpuUse { by, location: None, cpus: cpus.to_vec(), share, total_ns: 1, trials: 30 }
    }

    fn process(comm: &str, pid: u32) -> Disturber {
        Disturber::Process { comm: comm.into(), pid }
    }

    fn text(used: Vec<CpuUse>) -> String {
        words(&DisturbersOfRun { used, all_trials: 30, free_cpus: None })
    }

    #[test]
    fn the_largest_is_first_and_says_what_to_do() {
        let python = one(process("python3", 20403), &[1], 0.834);
        assert_eq!(
            text(vec![python.clone()]),
            "python3 (pid 20403) used 83 % of CPU 1. Stop python3, or measure when it has ended."
        );
        let compilers = Disturber::Processes { comm: "cc1".into(), processes: 12 };
        let seldom = CpuUse { trials: 3, ..one(compilers.clone(), &[0], 0.3) };
        let compilers = one(compilers, &[1], 0.25);
        let kernel = one(Disturber::KernelThread { comm: "kcompactd0".into() }, &[0, 1], 0.1);
        let remote = CpuUse {
            location: Some("ssh:b/eth0".into()),
            ..one(Disturber::KernelThread { comm: "kswapd0".into() }, &[2], 0.07)
        };
        assert_eq!(
            text(vec![python.clone(), seldom.clone(), kernel, remote.clone(), compilers]),
            "python3 (pid 20403) used 83 % of CPU 1; cc1 (12 processes) used 30 % of CPU 0 in 3 of 30 trials and 25 % of CPU 1; \
             kcompactd0 (a kernel thread) used 10 % of a CPU (CPUs 0 and 1); 1 more used less. Stop python3, or measure when it has ended."
        );
        assert_eq!(
            text(vec![remote]),
            "kswapd0 (a kernel thread) used 7 % of CPU 2 on the host of ssh:b/eth0. Measure again when the host is quiet."
        );
        assert!(text(vec![seldom]).ends_with("Stop cc1, or measure when they have ended."));
        let free_cpus = Some(FreeCpus { generator: 0, kernel: 2, application: 3 });
        assert_eq!(
            words(&DisturbersOfRun { used: vec![python], all_trials: 30, free_cpus }),
            "python3 (pid 20403) used 83 % of CPU 1. Use idle CPUs: `--gen-cpu 0 --kernel-cpu 2 --app-cpu 3`."
        );
    }

    #[test]
    fn what_has_no_name_is_said_by_the_reason() {
        let unnamed =
            |hidden: &[Hidden]| text(vec![one(Disturber::Unnamed { hidden: hidden.to_vec() }, &[1], 0.4)]);
        assert_eq!(
            unnamed(&[Hidden::PidNamespace]),
            "Something outside this container used 40 % of CPU 1. Measure again when the host is quiet."
        );
        assert!(
            unnamed(&[]).starts_with("Processes that ended meanwhile, or took less than 1 % each, used 40 %")
        );
        for hidden in
            [Hidden::MountedHidepid, Hidden::Refused, Hidden::NoAccount, Hidden::TooMany, Hidden::NoProc]
        {
            assert!(unnamed(&[hidden]).contains(" used 40 % of CPU 1."));
        }
        let stolen = |cpu, share| one(Disturber::Hypervisor, &[cpu], share);
        assert_eq!(
            text(vec![stolen(1, 0.12), stolen(0, 0.08)]),
            "The hypervisor took 12 % of CPU 1 and 8 % of CPU 0. Measure at another time, or on another machine."
        );
        assert_eq!(
            text(vec![one(Disturber::Quota, &[], 0.2)]),
            "The CPU quota of its control group took 20 % of a CPU. Measure outside that group, or raise its `cpu.max`."
        );
    }

    #[test]
    fn a_name_cannot_fake_a_line_or_a_clause() {
        let named = |comm: &str| text(vec![one(process(comm, 7), &[1], 0.5)]);
        assert!(named("\u{1b}[2Jquiet").starts_with("\"\\u001b[2Jquiet\" (pid 7) used"));
        assert!(named("a; b\nc").starts_with("\"a; b c\" (pid 7) used"));
        assert!(named("").starts_with("\"\" (pid 7) used"));
        assert_eq!(named(&"x".repeat(5000)).matches('x').count(), 2 * 64, "named, and again in the advice");
        assert!(named("Web-Content/1:2").starts_with("Web-Content/1:2 (pid 7) used"));
    }
}
