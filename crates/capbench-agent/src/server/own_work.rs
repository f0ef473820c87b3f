//! Keeps the agent's own threads off the CPUs that a trial measures, and names what else of the connection may run there.

use std::collections::BTreeSet;
use std::net::IpAddr;

use capbench_host::bed::Side;
use capbench_host::environment::interface;
use capbench_host::links::Links;
use capbench_model::environment::interface::{Interrupt, Role};
use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::{self, parse_cpu_list};

/// Moves the threads of this process off the CPUs that are `measured`, of those that it may use. The threads of a trial choose
/// their CPUs themselves. Returns what may run on a measured CPU all the same.
pub(super) fn keep_off(measured: &BTreeSet<CpuId>, allowed: &[CpuId]) -> Vec<String> {
    let free: Vec<_> = allowed.iter().copied().filter(|cpu| !measured.contains(cpu)).collect();
    let shared = match affinity::restrict_process(if free.is_empty() { allowed } else { &free }) {
        Err(error) => Some(format!("the agent's own threads may run on CPUs that are measured: {error}")),
        Ok(()) if free.is_empty() => Some(
            "the trials measure every CPU that the agent may use, so its own threads share them".to_string(),
        ),
        Ok(()) => None,
    };
    shared.into_iter().chain(interrupted(measured)).collect()
}

/// The measured CPUs that the connection's network card interrupts, in words.
fn interrupted(measured: &BTreeSet<CpuId>) -> Option<String> {
    // sshd(8): the client's address and port, and those of this host.
    let connection = std::env::var("SSH_CONNECTION").ok().filter(|_| !measured.is_empty())?;
    let own: IpAddr = connection.split(' ').nth(2)?.parse().ok()?;
    let links = Links::of_current_namespace().ok()?;
    let has_it = |index| links.addresses(index).is_ok_and(|addresses| addresses.contains(&own));
    let name = links.all().ok()?.into_iter().find(|link| has_it(link.index))?.name;
    let facts = interface::of_side(Role::Receive, &Side::existing(&name).ok()?).facts;
    let hit = hit(&facts.interrupts?, measured)?;
    Some(format!(
        "interrupts of {name}, the interface of the controller's connection, go to CPU {hit}, which is measured"
    ))
}

/// The CPUs that receive an interrupt and are measured, as a list.
fn hit(interrupts: &[Interrupt], measured: &BTreeSet<CpuId>) -> Option<String> {
    let lists = interrupts.iter().filter_map(|interrupt| interrupt.effective_cpus.as_deref());
    let received: Vec<_> = lists.filter_map(parse_cpu_list).flatten().collect();
    let hit: Vec<_> = measured.iter().filter(|cpu| received.contains(cpu)).map(CpuId::to_string).collect();
    (!hit.is_empty()).then(|| hit.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_that_a_measured_cpu_receives_are_named() {
        let interrupt = |number, cpus: &str| Interrupt {
            number,
            name: None,
            allowed_cpus: Some("0-7".into()),
            effective_cpus: Some(cpus.into()),
        };
        let interrupts = [interrupt(24, "1"), interrupt(25, "3")];
        let hit = |measured: &[u32]| {
            let measured = measured.iter().copied().map(CpuId::new).collect();
            hit(&interrupts, &measured)
        };
        assert_eq!(hit(&[0, 2]), None, "they are allowed there, but do not go there");
        assert_eq!((hit(&[0, 3]), hit(&[1, 3])), (Some("3".into()), Some("1,3".into())));
    }
}
