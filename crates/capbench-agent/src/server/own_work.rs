//! Keeps the agent's own threads off the CPUs that a trial measures, and names what else of the connection may run there.

use std::collections::BTreeSet;
use std::net::IpAddr;

use capbench_host::bed::Side;
use capbench_host::environment::interface;
use capbench_host::links::Links;
use capbench_model::environment::interface::{Interrupt, Role};
use capbench_model::statement::Statement;
use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::{self, parse_cpu_list};

/// Moves the threads of this process off the CPUs that are `measured`, of those that it may use. The threads of a trial choose
/// their CPUs themselves. Returns what may run on a measured CPU all the same.
pub(super) fn keep_off(measured: &BTreeSet<CpuId>, allowed: &[CpuId]) -> Vec<Statement> {
    let free: Vec<_> = allowed.iter().copied().filter(|cpu| !measured.contains(cpu)).collect();
    let mut statements = Vec::new();
    match affinity::restrict_process(if free.is_empty() { allowed } else { &free }) {
        Err(error) => statements.push(Statement::AgentThreadsNotMoved { error: error.to_string() }),
        Ok(()) if free.is_empty() => statements.push(Statement::AgentThreadsOnMeasuredCpus),
        Ok(()) => {}
    }
    statements.extend(interrupted(measured));
    statements
}

/// What is known of the interrupts of the connection's network card: the measured CPUs where they go, or why nobody knows.
fn interrupted(measured: &BTreeSet<CpuId>) -> Option<Statement> {
    // sshd(8): the client's address and port, and those of this host.
    let connection = std::env::var("SSH_CONNECTION").ok().filter(|_| !measured.is_empty())?;
    let address = connection.split(' ').nth(2).unwrap_or_default();
    match hit(address, measured) {
        Ok(statement) => statement,
        Err(because) => Some(Statement::ConnectionInterruptsUnknown { because }),
    }
}

fn hit(address: &str, measured: &BTreeSet<CpuId>) -> Result<Option<Statement>, String> {
    let name = interface_of(address).ok_or_else(|| format!("no interface here has the address {address}"))?;
    let side = Side::named(&name).map_err(|error| error.to_string())?;
    let interrupts = interface::of_side(Role::Receive, &side).facts.interrupts.unwrap_or_default();
    let received = received(&interrupts);
    if received.is_empty() {
        // The interfaces below it have them.
        return Err(format!("{name} has no interrupts of its own, as a bond, a bridge or a VLAN has none"));
    }
    let cpus: Vec<u32> = measured.intersection(&received).map(|cpu| cpu.number()).collect();
    if cpus.is_empty() {
        return Ok(None);
    }
    Ok(Some(Statement::ConnectionInterruptsOnMeasuredCpus { interface: name, cpus }))
}

/// The interface with this address of this host. Those of IPv6 links name it: `fe80::1%eth0`.
fn interface_of(address: &str) -> Option<String> {
    let (address, scope) = address.split_once('%').map_or((address, None), |(own, name)| (own, Some(name)));
    let own: IpAddr = address.parse().ok()?;
    let links = Links::of_current_namespace().ok()?;
    let has_it = |index| links.addresses(index).is_ok_and(|addresses| addresses.contains(&own));
    let mut all = links.all().ok()?.into_iter().filter(|link| scope.is_none_or(|name| name == link.name));
    Some(all.find(|link| has_it(link.index))?.name)
}

/// The CPUs that receive these interrupts.
fn received(interrupts: &[Interrupt]) -> BTreeSet<CpuId> {
    let lists = interrupts.iter().filter_map(|interrupt| interrupt.effective_cpus.as_deref());
    lists.filter_map(parse_cpu_list).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_go_to_some_of_the_cpus_that_they_may_go_to() {
        let interrupt = |number, cpus: &str| Interrupt {
            number,
            name: None,
            allowed_cpus: Some("0-7".into()),
            effective_cpus: Some(cpus.into()),
            numa_node: None,
        };
        let interrupts = [interrupt(24, "1"), interrupt(25, "3")];
        assert_eq!(received(&interrupts), [1, 3].map(CpuId::new).into());
    }
}
