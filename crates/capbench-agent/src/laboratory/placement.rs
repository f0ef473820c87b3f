//! The CPUs of a trial on the hosts of its two agents.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use capbench_host::HostError;
use capbench_host::bed::Placement;
use capbench_lab::LabError;
use capbench_model::placement::PlacementChoice;
use capbench_sys::host::CpuId;

use super::check::Checked;
use super::generator::Generator;
use super::{AgentLaboratory, EndFacts};
use crate::error::RefusedCpu;
use crate::message::Hello;
use crate::{AgentError, Result};

/// The hosts' CPUs.
struct Cpus<'h> {
    sending: &'h [CpuId],
    receiving: &'h [CpuId],
    /// Whether they are CPUs of one host.
    is_one_kernel: bool,
}

impl AgentLaboratory {
    /// The CPUs for a choice. The kernel's receive work stays where the check found it.
    ///
    /// # Errors
    /// The user names CPUs that do not exist, or another CPU for the kernel's work.
    pub(super) fn placement(&self, choice: PlacementChoice, checked: Checked) -> Result<Placement> {
        let cpus = self.cpus();
        let (generator, kernel, application) = cpus.choose(choice, checked)?;
        let name = match choice {
            PlacementChoice::Same => "same",
            PlacementChoice::Other => "other",
            PlacementChoice::Custom { .. } => "custom",
        };
        let placement = Placement::stated(name, generator, kernel, application);
        if cpus.is_one_kernel {
            return Ok(placement);
        }
        let mut generators = Vec::new();
        for generator in &self.generators {
            let EndFacts { location, hello } = generator.host.facts();
            generators.push(match hello.cpus.is_empty() {
                true => location.to_string(),
                false => format!("CPU {} of {location}", self.cpu_of(generator, &placement)),
            });
        }
        Ok(placement.between_hosts(&generators, &self.route.receive.to_string()))
    }

    /// The CPUs of the receiver's host, and of a generator's: one on the receiver's kernel, if there is one.
    fn cpus(&self) -> Cpus<'_> {
        let receiving = &self.receive.hello().cpus;
        let on_its_kernel = self.generators.iter().find(|generator| self.is_on_its_kernel(generator));
        let sending = on_its_kernel.or(self.generators.first());
        Cpus {
            sending: sending.map_or(&[], |generator| &generator.host.facts().hello.cpus),
            receiving,
            is_one_kernel: on_its_kernel.is_some(),
        }
    }

    /// The CPUs of the check, before it is known which one does the kernel's receive work.
    pub(super) fn placement_of_check(&self) -> Placement {
        let Cpus { sending, receiving, .. } = self.cpus();
        let generator = first(sending);
        let application = receiving.last().copied().unwrap_or(generator);
        Placement::stated("same", generator, application, application)
    }

    /// Where the first thread of a generator runs: on the receiver's kernel on the CPU of the placement, with all others there. On another one the
    /// first has that CPU if there is one, and the others have the next ones.
    pub(super) fn cpu_of(&self, generator: &Generator, placement: &Placement) -> CpuId {
        if self.is_on_its_kernel(generator) {
            return placement.generator;
        }
        let hello = generator.host.facts().hello;
        let is_before = |other: &&Generator| {
            other.stream < generator.stream && other.host.facts().hello.boot_id == hello.boot_id
        };
        let before = self.generators.iter().filter(is_before).count();
        let named = hello.cpus.iter().position(|cpu| *cpu == placement.generator).unwrap_or(0);
        let cpu = hello.cpus.get((named + before) % hello.cpus.len().max(1));
        cpu.copied().unwrap_or(placement.generator)
    }

    /// Where the threads of a generator run.
    ///
    /// # Errors
    /// Its host has too few CPUs, or has several generators.
    pub(super) fn cpus_of(
        &self,
        generator: &Generator,
        placement: &Placement,
        threads: NonZeroU16,
    ) -> Result<Vec<CpuId>> {
        let first = self.cpu_of(generator, placement);
        if threads == NonZeroU16::MIN {
            return Ok(vec![first]);
        }
        let EndFacts { location, hello } = generator.host.facts();
        if hello.cpus.is_empty() {
            return Err(LabError::Unsupported {
                what: format!("{threads} threads of {location}"),
                reason: "a generator of others decides itself how many it has".into(),
            }
            .into());
        }
        let is_there = |other: &&Generator| other.host.facts().hello.boot_id == hello.boot_id;
        if self.generators.iter().filter(is_there).count() > 1 {
            return Err(LabError::Unsupported {
                what: format!("{threads} threads of {}", generator.host.facts().location),
                reason: "several generators run on its host; one with more threads sends as much".into(),
            }
            .into());
        }
        // On another host there is no receiver to keep away from.
        let there = match self.is_on_its_kernel(generator) {
            true => Placement { generator: first, ..placement.clone() },
            false => Placement::stated("same", first, first, first),
        };
        Ok(there.generators_of(threads, &hello.cpus).map_err(LabError::from)?)
    }

    /// The CPUs of an end's host that the trials of a placement measure: those of all agents there. The check measures nothing.
    /// `generators` are those of each generator.
    pub(super) fn measured_cpus(
        &self,
        of: &Hello,
        placement: &Placement,
        generators: &[Vec<CpuId>],
    ) -> BTreeSet<CpuId> {
        if self.checked.is_none() {
            return BTreeSet::new();
        }
        let is_there = |other: &Hello| other.boot_id == of.boot_id;
        let each = self.generators.iter().zip(generators);
        let sending =
            each.filter(|(generator, _)| is_there(generator.host.facts().hello)).flat_map(|(_, cpus)| cpus);
        let receiver = is_there(self.receive.hello()).then_some([placement.kernel, placement.application]);
        sending.copied().chain(receiver.into_iter().flatten()).collect()
    }
}

impl Cpus<'_> {
    fn choose(&self, choice: PlacementChoice, checked: Checked) -> Result<(CpuId, CpuId, CpuId)> {
        let Checked { generator: sender, kernel } = checked;
        if let PlacementChoice::Custom { generator, kernel: asked, application } = choice {
            // Of a generator of others no CPU is known.
            if !self.sending.is_empty() {
                usable(generator, self.sending)?;
            }
            usable(application, self.receiving)?;
            if asked != kernel {
                return Err(refused(asked, &RefusedCpu::KernelWorkElsewhere { kernel, asked }));
            }
            return Ok((generator, kernel, application));
        }
        let other = |cpus: &[CpuId], than: &[CpuId]| cpus.iter().copied().find(|cpu| !than.contains(cpu));
        let application = match choice {
            PlacementChoice::Other => other(self.receiving, &[kernel]).unwrap_or(kernel),
            _ => kernel,
        };
        let generator = if !self.is_one_kernel {
            first(self.sending)
        } else if kernel == sender {
            // On a veth without RPS the sender's CPU does the receive work, whichever it is.
            sender
        } else {
            other(self.sending, &[kernel, application])
                .or_else(|| other(self.sending, &[application]))
                .unwrap_or(application)
        };
        Ok((generator, kernel, application))
    }
}

fn first(cpus: &[CpuId]) -> CpuId {
    cpus.first().copied().unwrap_or(CpuId::new(0))
}

fn usable(cpu: CpuId, cpus: &[CpuId]) -> Result<()> {
    if cpus.contains(&cpu) {
        return Ok(());
    }
    let usable = cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(",");
    Err(refused(cpu, &RefusedCpu::NotUsable { usable }))
}

fn refused(cpu: CpuId, why: &RefusedCpu) -> AgentError {
    LabError::from(HostError::Cpu { cpu: cpu.number(), reason: why.to_string() }).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(choice: PlacementChoice, of: [u32; 2], is_one_kernel: bool) -> [u32; 3] {
        let cpus: Vec<CpuId> = (0..4).map(CpuId::new).collect();
        let [generator, kernel] = of.map(CpuId::new);
        let cpus = Cpus { sending: &cpus, receiving: &cpus, is_one_kernel };
        let (generator, kernel, application) = cpus.choose(choice, Checked { generator, kernel }).unwrap();
        [generator, kernel, application].map(CpuId::number)
    }

    #[test]
    fn two_hosts_share_no_cpu_and_two_namespaces_do() {
        assert_eq!(chosen(PlacementChoice::Same, [0, 0], false), [0, 0, 0], "two different CPUs 0");
        assert_eq!(chosen(PlacementChoice::Same, [0, 1], true), [0, 1, 1]);
        assert_eq!(chosen(PlacementChoice::Other, [0, 1], true), [2, 1, 0]);
        assert_eq!(chosen(PlacementChoice::Other, [0, 2], false), [0, 2, 0]);
    }

    #[test]
    fn the_kernels_work_stays_with_a_sender_that_does_it() {
        assert_eq!(chosen(PlacementChoice::Same, [0, 0], true), [0, 0, 0]);
        assert_eq!(chosen(PlacementChoice::Other, [0, 0], true), [0, 0, 1]);
    }

    #[test]
    fn cpus_that_the_user_names_must_exist_and_fit() {
        let [zero, one] = [0, 1].map(CpuId::new);
        let cpus = Cpus { sending: &[zero], receiving: &[zero, one], is_one_kernel: false };
        let checked = Checked { generator: zero, kernel: one };
        let custom = |generator, kernel| PlacementChoice::Custom { generator, kernel, application: zero };
        assert!(cpus.choose(custom(zero, one), checked).is_ok());
        let error = |choice| cpus.choose(choice, checked).unwrap_err().to_string();
        assert!(error(custom(one, one)).contains("not among those that the agent may use (0)"));
        assert!(error(custom(zero, zero)).contains("on CPU 1, not 0"));
    }
}
