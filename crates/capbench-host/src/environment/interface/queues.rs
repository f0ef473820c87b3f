//! Queues of an interface in sysfs (Documentation/ABI/testing/sysfs-class-net-queues).

use capbench_model::environment::interface::{ReceiveQueue, TransmitQueue};

use crate::bed::cpus_in_mask;
use crate::environment::cpu::numbered;
use crate::environment::tree::{Tree, cpu_list};

/// Receive queues; `sys` is the root of sysfs.
pub(super) fn receive(sys: &impl Tree, interface: &str) -> Option<Vec<ReceiveQueue>> {
    let folder = format!("class/net/{interface}/queues");
    let queues = numbered(sys, &folder, "rx-").into_iter().map(|queue| ReceiveQueue {
        queue,
        rps_cpus: mask(sys, &format!("{folder}/rx-{queue}/rps_cpus")),
        rps_flows: sys.number(&format!("{folder}/rx-{queue}/rps_flow_cnt")),
    });
    Some(queues.collect::<Vec<_>>()).filter(|queues| !queues.is_empty())
}

/// Transmit queues.
pub(super) fn transmit(sys: &impl Tree, interface: &str) -> Option<Vec<TransmitQueue>> {
    let folder = format!("class/net/{interface}/queues");
    let queues = numbered(sys, &folder, "tx-").into_iter().map(|queue| TransmitQueue {
        queue,
        // Missing for an interface with one queue: the kernel refuses to read it.
        xps_cpus: mask(sys, &format!("{folder}/tx-{queue}/xps_cpus")),
    });
    Some(queues.collect::<Vec<_>>()).filter(|queues| !queues.is_empty())
}

fn mask(sys: &impl Tree, path: &str) -> Option<String> {
    let cpus = cpus_in_mask(&sys.text(path)?)?;
    Some(cpu_list(cpus.into_iter().map(|cpu| cpu.number())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tree::tests::Made;

    #[test]
    fn masks_become_lists() {
        let tree = Made::of(&[
            ("class/net/eth0/queues/rx-0/rps_cpus", "00000000,0000000e\n"),
            ("class/net/eth0/queues/rx-0/rps_flow_cnt", "0\n"),
            ("class/net/eth0/queues/rx-10/rps_cpus", "0\n"),
            ("class/net/eth0/queues/rx-2/rps_cpus", "odd\n"),
            ("class/net/eth0/queues/tx-0/xps_cpus", "1,00000000\n"),
        ]);
        let queues = receive(&*tree, "eth0").unwrap();
        let told: Vec<_> = queues.iter().map(|queue| (queue.queue, queue.rps_cpus.as_deref())).collect();
        assert_eq!(told, [(0, Some("1-3")), (2, None), (10, Some(""))]);
        assert_eq!((queues[0].rps_flows, queues[1].rps_flows), (Some(0), None));
        assert_eq!(transmit(&*tree, "eth0").unwrap()[0].xps_cpus.as_deref(), Some("32"));
        assert_eq!((receive(&*tree, "eth1"), transmit(&*tree, "eth1")), (None, None));
    }
}
