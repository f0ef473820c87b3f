//! CPU placement: the CPUs of the generator, of the kernel's receive work and of the application.

use std::num::NonZeroU16;

use capbench_sys::host::{CpuId, affinity};

use super::{KernelWork, cpu_mask};
use crate::{HostError, Result};

/// The CPUs of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Runs the generator.
    pub generator: CpuId,
    /// Does the kernel's receive work, or the first of its queues.
    pub kernel: CpuId,
    /// All CPUs that do it.
    pub kernels: Vec<CpuId>,
    /// Runs the application.
    pub application: CpuId,
    /// `same`: kernel and application share a CPU. `other`: they do not. `custom`: chosen by the user.
    pub name: &'static str,
    /// Whether the generator's rate is independent of the receiver: it has a CPU for itself.
    pub load_independent: bool,
    /// The placement in plain words, for the report.
    pub statement: String,
}

impl Placement {
    /// Kernel work and application on one CPU, the generator on another, among the CPUs that this process may use.
    ///
    /// # Errors
    /// The usable CPUs are unknown.
    pub fn same() -> Result<Self> {
        Ok(Self::same_of(&affinity::allowed_cpus()?))
    }

    /// Kernel work, application and generator on three CPUs. With only two, kernel work shares the generator's CPU.
    pub fn other() -> Result<Self> {
        Ok(Self::other_of(&affinity::allowed_cpus()?))
    }

    /// Like [`Placement::other`], but kernel work stays on the generator's CPU: for hosts where this process cannot move it.
    pub fn other_in_sender_context() -> Result<Self> {
        let allowed = affinity::allowed_cpus()?;
        let generator = first(&allowed);
        let application = allowed.get(1).copied().unwrap_or(generator);
        Ok(Self::stated("other", generator, generator, application))
    }

    /// The CPUs that the user chose.
    ///
    /// # Errors
    /// A CPU does not exist, is offline, or is not among those that this process may use.
    pub fn custom(generator: CpuId, kernel: CpuId, application: CpuId) -> Result<Self> {
        let (online, allowed) = (affinity::online_cpus()?, affinity::allowed_cpus()?);
        for cpu in [generator, kernel, application] {
            usable(cpu, &online, &allowed)?;
        }
        Ok(Self::stated("custom", generator, kernel, application))
    }

    /// How a virtual pair does its receive work on this placement's kernel CPU. If that is the generator's CPU, no setting is
    /// needed: on a veth the sender does the receive work.
    pub fn kernel_work(&self) -> KernelWork {
        match self.kernel == self.generator {
            true => KernelWork::SenderContext,
            false => KernelWork::Rps(self.kernels.clone()),
        }
    }

    /// The CPUs of this many generator threads: the generator's, then from the highest down those that neither the kernel nor the
    /// application has, then theirs.
    ///
    /// # Errors
    /// This process may use fewer CPUs: a thread that waits for its next frame spins.
    pub fn generators(&self, threads: NonZeroU16) -> Result<Vec<CpuId>> {
        if threads == NonZeroU16::MIN {
            return Ok(vec![self.generator]);
        }
        self.generators_of(threads, &affinity::allowed_cpus()?)
    }

    /// The same on a host where a process may use these CPUs.
    ///
    /// # Errors
    /// They are too few.
    pub fn generators_of(&self, threads: NonZeroU16, allowed: &[CpuId]) -> Result<Vec<CpuId>> {
        let count = usize::from(threads.get());
        if count > allowed.len() {
            let reason = format!(
                "each needs a CPU of its own, and this process may use {} ({}); ask for fewer",
                allowed.len(),
                cpu_mask::list(allowed)
            );
            return Err(HostError::unsupported(format!("{count} generator threads"), reason));
        }
        let others = allowed.iter().rev().copied().filter(|cpu| *cpu != self.generator);
        let (receiver, free): (Vec<_>, Vec<_>) =
            others.partition(|cpu| [self.kernel, self.application].contains(cpu));
        Ok(std::iter::once(self.generator).chain(free).chain(receiver).take(count).collect())
    }

    /// The same with generators on other hosts than the receiver, which the arguments name.
    pub fn between_hosts(self, generators: &[String], receiver: &str) -> Self {
        let verb = if generators.len() == 1 { "generates" } else { "generate" };
        let statement = format!(
            "{} {verb}, CPU {} of {receiver} does the kernel's receive work, CPU {} there runs the application: the load does \
             not depend on the receiver",
            generators.join(", "),
            self.kernel,
            self.application
        );
        Self { load_independent: true, statement, ..self }
    }

    /// The same with the CPUs of all generator threads, for the report.
    pub fn with_generators(self, generators: &[CpuId]) -> Self {
        let Some((_, others)) = generators.split_first().filter(|(_, others)| !others.is_empty()) else {
            return self;
        };
        let is_shared = others.iter().any(|cpu| [self.kernel, self.application].contains(cpu));
        let also = if is_shared { ", also of the receiver, so the load depends on it" } else { "" };
        let statement = format!(
            "{}; {} more generator threads run on CPUs {}{also}",
            self.statement,
            others.len(),
            cpu_mask::list(others)
        );
        Self { load_independent: self.load_independent && !is_shared, statement, ..self }
    }

    /// The same with the kernel's receive work of this many queues on as many CPUs, the kernel's first and then the next ones, as far
    /// as there are some besides those of the generator's threads.
    ///
    /// # Errors
    /// The usable CPUs are unknown.
    pub fn with_queues(self, queues: NonZeroU16, generators: &[CpuId]) -> Result<Self> {
        if queues == NonZeroU16::MIN || self.kernel == self.generator {
            return Ok(self);
        }
        let mut kernels = cpus_from(self.kernel, &affinity::allowed_cpus()?, generators);
        kernels.truncate(queues.get().into());
        let statement = match kernels.len() {
            1 => self.statement,
            _ => {
                format!(
                    "{}; the receive work is spread over CPUs {}",
                    self.statement,
                    cpu_mask::list(&kernels)
                )
            }
        };
        Ok(Self { kernels, statement, ..self })
    }

    fn same_of(allowed: &[CpuId]) -> Self {
        let generator = first(allowed);
        let kernel = allowed.get(1).copied().unwrap_or(generator);
        Self::stated("same", generator, kernel, kernel)
    }

    fn other_of(allowed: &[CpuId]) -> Self {
        let generator = first(allowed);
        let (kernel, application) = match *allowed {
            [_, kernel, application, ..] => (kernel, application),
            [_, application] => (generator, application),
            _ => (generator, generator),
        };
        Self::stated("other", generator, kernel, application)
    }

    /// These CPUs of this host, unchecked.
    pub fn stated(name: &'static str, generator: CpuId, kernel: CpuId, application: CpuId) -> Self {
        let load_independent = generator != kernel && generator != application;
        let statement = if generator == kernel && kernel == application {
            format!(
                "CPU {generator} generates, does the kernel's receive work and runs the application: each slows the \
                 others, so the load depends on the receiver"
            )
        } else if generator == kernel {
            format!(
                "CPU {generator} generates and does the kernel's receive work, CPU {application} runs the \
                 application: receive work slows the generator, so the load depends on the receiver"
            )
        } else if generator == application {
            format!(
                "CPU {generator} generates and runs the application, CPU {kernel} does the kernel's receive work: the \
                 application slows the generator, so the load depends on the receiver"
            )
        } else if kernel == application {
            format!(
                "CPU {generator} generates, CPU {kernel} does the kernel's receive work and runs the application: the \
                 load does not depend on the receiver"
            )
        } else {
            format!(
                "CPU {generator} generates, CPU {kernel} does the kernel's receive work, CPU {application} runs the \
                 application: the load does not depend on the receiver"
            )
        };
        Self { generator, kernel, kernels: vec![kernel], application, name, load_independent, statement }
    }
}

/// The allowed CPUs from one on, and then those before it, without those of generators.
pub fn cpus_from(first: CpuId, allowed: &[CpuId], generators: &[CpuId]) -> Vec<CpuId> {
    let is_free = |cpu: &CpuId| *cpu == first || !generators.contains(cpu);
    let mut all: Vec<CpuId> = allowed.iter().copied().filter(is_free).collect();
    let from = all.iter().position(|cpu| *cpu == first).unwrap_or(0);
    all.rotate_left(from);
    if all.is_empty() { vec![first] } else { all }
}

/// The lowest of the CPUs. A process always has one; 0 if the kernel reports none.
fn first(allowed: &[CpuId]) -> CpuId {
    allowed.first().copied().unwrap_or(CpuId::new(0))
}

fn usable(cpu: CpuId, online: &[CpuId], allowed: &[CpuId]) -> Result<()> {
    let reason = if !online.contains(&cpu) {
        format!("does not exist or is offline; this host has {}", cpu_mask::list(online))
    } else if !allowed.contains(&cpu) {
        format!(
            "is not among those that this process may use ({}); see taskset(1) or its cpuset",
            cpu_mask::list(allowed)
        )
    } else {
        return Ok(());
    };
    Err(HostError::Cpu { cpu: cpu.number(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_on_other_hosts_have_cpus_of_their_own() {
        let [zero, one] = cpus([0, 1]);
        let placement = Placement::stated("other", zero, zero, one);
        assert!(!placement.load_independent);
        let generators = ["CPU 0 of ssh:a/eth1".to_string(), "otg:https://b,1".to_string()];
        let placement = placement.between_hosts(&generators, "ssh:c/eth0");
        assert!(placement.load_independent);
        assert_eq!(
            placement.statement,
            "CPU 0 of ssh:a/eth1, otg:https://b,1 generate, CPU 0 of ssh:c/eth0 does the kernel's receive work, CPU 1 there runs \
             the application: the load does not depend on the receiver"
        );
    }

    fn cpus<const N: usize>(numbers: [u32; N]) -> [CpuId; N] {
        numbers.map(CpuId::new)
    }

    fn numbers(placement: &Placement) -> [u32; 3] {
        [placement.generator, placement.kernel, placement.application].map(CpuId::number)
    }

    #[test]
    fn same_shares_a_cpu_away_from_the_generator() {
        let placement = Placement::same_of(&cpus([2, 5, 7]));
        assert_eq!((numbers(&placement), placement.load_independent), ([2, 5, 5], true));
        assert_eq!(placement.kernel_work(), KernelWork::Rps(vec![CpuId::new(5)]));
    }

    #[test]
    fn other_takes_three_cpus_and_says_so_when_there_are_two() {
        let placement = Placement::other_of(&cpus([0, 1, 2, 3]));
        assert_eq!((numbers(&placement), placement.load_independent), ([0, 1, 2], true));
        let placement = Placement::other_of(&cpus([0, 1]));
        assert_eq!((numbers(&placement), placement.load_independent), ([0, 0, 1], false));
        assert_eq!(placement.kernel_work(), KernelWork::SenderContext);
        assert!(
            placement.statement.ends_with("so the load depends on the receiver"),
            "{}",
            placement.statement
        );
    }

    #[test]
    fn each_generator_thread_has_a_cpu_and_the_receivers_come_last() {
        let allowed = cpus([0, 1, 2, 3, 5]);
        let placement = Placement::other_of(&allowed);
        let of = |threads| placement.generators_of(NonZeroU16::new(threads).unwrap(), &allowed);
        assert_eq!(of(1).unwrap(), cpus([0]));
        assert_eq!(of(3).unwrap(), cpus([0, 5, 3]));
        assert_eq!(of(5).unwrap(), cpus([0, 5, 3, 2, 1]));
        assert!(placement.clone().with_generators(&of(3).unwrap()).load_independent);
        let shared = placement.clone().with_generators(&of(5).unwrap());
        assert!(!shared.load_independent && shared.statement.ends_with("so the load depends on it"));
        assert_eq!(
            of(6).unwrap_err().to_string(),
            "6 generator threads cannot run here: each needs a CPU of its own, and this process may use 5 (0,1,2,3,5); ask \
             for fewer"
        );
    }

    #[test]
    fn one_cpu_is_shared_by_all() {
        for placement in [Placement::same_of(&cpus([4])), Placement::other_of(&cpus([4]))] {
            assert_eq!((numbers(&placement), placement.load_independent), ([4, 4, 4], false));
            assert!(placement.statement.contains("each slows the others"));
        }
    }

    #[test]
    fn a_custom_cpu_has_to_exist_and_to_be_allowed() {
        let (online, allowed) = (cpus([0, 1, 2]), cpus([0, 1]));
        assert!(usable(CpuId::new(1), &online, &allowed).is_ok());
        let error = usable(CpuId::new(2), &online, &allowed).unwrap_err().to_string();
        assert_eq!(
            error,
            "CPU 2: is not among those that this process may use (0,1); see taskset(1) or its cpuset"
        );
        let error = usable(CpuId::new(9), &online, &allowed).unwrap_err().to_string();
        assert_eq!(error, "CPU 9: does not exist or is offline; this host has 0,1,2");
        let absent = CpuId::new(9_999);
        assert!(Placement::custom(absent, absent, absent).is_err());
    }

    #[test]
    fn a_custom_placement_that_shares_the_generators_cpu_says_so() {
        let placement = Placement::stated("custom", CpuId::new(0), CpuId::new(1), CpuId::new(0));
        assert!(
            !placement.load_independent && placement.statement.contains("application slows the generator")
        );
    }
}
