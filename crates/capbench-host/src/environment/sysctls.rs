//! Kernel settings (sysctl(8)) that change the cost of a packet or where it is lost.

use std::collections::BTreeMap;

use super::tree::Tree;

/// Their names. Units are in Documentation/admin-guide/sysctl and Documentation/networking.
const NAMES: &[&str] = &[
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.dev_weight",
    "net.core.dev_weight_rx_bias",
    "net.core.dev_weight_tx_bias",
    "net.core.netdev_tstamp_prequeue",
    "net.core.gro_normal_batch",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.core.optmem_max",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.bpf_jit_enable",
    "net.core.bpf_jit_harden",
    "net.core.rps_sock_flow_entries",
    "net.core.rps_default_mask",
    "net.core.flow_limit_cpu_bitmap",
    "net.core.flow_limit_table_len",
    "net.core.default_qdisc",
    "net.core.high_order_alloc_disable",
    "net.core.skb_defer_max",
    "kernel.bpf_stats_enabled",
    "kernel.unprivileged_bpf_disabled",
    "kernel.numa_balancing",
    "kernel.nmi_watchdog",
    "kernel.watchdog",
    "kernel.timer_migration",
    "kernel.sched_rt_runtime_us",
    "kernel.sched_rt_period_us",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_cfs_bandwidth_slice_us",
    "kernel.perf_cpu_time_max_percent",
    "kernel.perf_event_max_sample_rate",
    "kernel.perf_event_paranoid",
    "kernel.ftrace_enabled",
    "kernel.randomize_va_space",
    "kernel.split_lock_mitigate",
    "vm.compaction_proactiveness",
    "vm.max_map_count",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.stat_interval",
    "vm.zone_reclaim_mode",
];

/// The settings that this kernel has and lets us read, in its notation; `None` if there are none.
pub(super) fn read(root: &impl Tree) -> Option<BTreeMap<String, String>> {
    let told = NAMES.iter().filter_map(|name| {
        let file = format!("proc/sys/{}", name.replace('.', "/"));
        root.text(&file).map(|value| ((*name).to_owned(), value))
    });
    let told: BTreeMap<_, _> = told.collect();
    (!told.is_empty()).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::Made;
    use super::*;

    #[test]
    fn settings_that_a_kernel_does_not_have_are_left_out() {
        let tree = Made::of(&[
            ("proc/sys/net/core/netdev_budget", "300\n"),
            ("proc/sys/net/core/flow_limit_cpu_bitmap", "0\n"),
            ("proc/sys/kernel/hostname", "secret\n"),
        ]);
        let told = read(&*tree).unwrap();
        assert_eq!(told.len(), 2);
        assert_eq!(told["net.core.netdev_budget"], "300");
        assert_eq!(read(&*Made::of(&[])), None);
    }
}
