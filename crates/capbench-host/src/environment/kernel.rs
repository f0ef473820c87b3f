//! How the kernel was built, started and set, as far as it affects capturing, and what it does about CPU flaws.

use std::collections::BTreeMap;

use capbench_model::environment::kernel::Kernel;

use super::tree::{Tree, chosen};

/// Build options that change the cost of a packet or a clock read, without the prefix `CONFIG_`.
const OPTIONS: &[&str] = &[
    // The tick, and how time is accounted.
    "HZ HZ_PERIODIC NO_HZ_IDLE NO_HZ_FULL HIGH_RES_TIMERS TICK_CPU_ACCOUNTING",
    "VIRT_CPU_ACCOUNTING_NATIVE VIRT_CPU_ACCOUNTING_GEN IRQ_TIME_ACCOUNTING PARAVIRT_TIME_ACCOUNTING",
    // Preemption.
    "PREEMPT_NONE PREEMPT_VOLUNTARY PREEMPT PREEMPT_LAZY PREEMPT_RT PREEMPT_DYNAMIC",
    "IRQ_FORCED_THREADING",
    // The network.
    "PACKET PACKET_DIAG XDP_SOCKETS XDP_SOCKETS_DIAG BPF_JIT BPF_JIT_ALWAYS_ON DEBUG_INFO_BTF RPS",
    "RFS_ACCEL XPS NET_RX_BUSY_POLL NET_SCHED NET_CLS_ACT NETFILTER_INGRESS NETWORK_PHY_TIMESTAMPING",
    "VETH",
    // Mitigations of CPU flaws.
    "CPU_MITIGATIONS SPECULATION_MITIGATIONS MITIGATION_RETPOLINE RETPOLINE",
    "MITIGATION_PAGE_TABLE_ISOLATION PAGE_TABLE_ISOLATION",
    // Memory.
    "NUMA NUMA_BALANCING TRANSPARENT_HUGEPAGE INIT_ON_ALLOC_DEFAULT_ON IOMMU_DEFAULT_DMA_STRICT",
    "IOMMU_DEFAULT_PASSTHROUGH",
    // Debugging options that slow the kernel.
    "KASAN PROVE_LOCKING DEBUG_NET SLUB_DEBUG_ON FTRACE_STARTUP_TEST",
];

/// Command-line words with the same effect, up to their `=` or end; `*` matches any ending.
const COMMAND_LINE: &[&str] = &[
    "isolcpus nohz nohz_full rcu_nocbs rcu_nocb_poll rcupdate.* rcutree.* irqaffinity kthread_cpus",
    "threadirqs preempt skew_tick workqueue.* mitigations nospectre_v1 nospectre_v2 spectre_v2",
    "spectre_v2_user spectre_bhi spec_store_bypass_disable spec_rstack_overflow pti nopti l1tf mds tsx",
    "tsx_async_abort retbleed srbds mmio_stale_data gather_data_sampling reg_file_data_sampling",
    "indirect_target_selection tsa vmscape kvm.* kvm-* kpti ssbd intel_idle.* processor.max_cstate",
    "idle cpuidle.* cpufreq.* intel_pstate intel_pstate.* amd_pstate amd_pstate.* nosmt maxcpus",
    "nr_cpus numa numa_balancing numa_zonelist_order transparent_hugepage hugepages hugepagesz",
    "default_hugepagesz iommu iommu.* intel_iommu amd_iommu swiotlb tsc clocksource hpet nowatchdog",
    "nmi_watchdog pcie_aspm init_on_alloc slub_debug audit",
];

/// The words of a list.
fn words(list: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    list.iter().flat_map(|line| line.split(' '))
}

/// How the running kernel was built and started, from the host's files and the kernel's configuration.
pub(super) fn read(root: &impl Tree, configuration: Option<&str>) -> Kernel {
    const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0";
    Kernel {
        options: configuration.and_then(options),
        command_line: root.text("proc/cmdline").map(|text| command_line(&text)),
        preemption: root.text("sys/kernel/debug/sched/preempt").and_then(|text| chosen(&text)),
        clocksource: root.word(&format!("{CLOCKS}/current_clocksource")),
        clocksources: root
            .word(&format!("{CLOCKS}/available_clocksource"))
            .map(|text| text.split_whitespace().map(str::to_owned).collect()),
    }
}

/// The options of [`OPTIONS`] in a configuration; `None` if the text is none.
fn options(configuration: &str) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut is_configuration = false;
    for line in configuration.lines() {
        let stated = match line.strip_prefix("# CONFIG_") {
            Some(rest) => rest.strip_suffix(" is not set").map(|name| (name, "n")),
            None => line.strip_prefix("CONFIG_").and_then(|rest| rest.split_once('=')),
        };
        let Some((name, value)) = stated else { continue };
        is_configuration = true;
        if words(OPTIONS).any(|known| known == name) {
            found.insert(name.to_owned(), value.trim().trim_matches('"').to_owned());
        }
    }
    is_configuration.then_some(found)
}

/// The relevant words of a command line. Others can name disks, hosts and keys and are not kept.
fn command_line(text: &str) -> Vec<String> {
    let matters = |word: &&str| {
        // The kernel treats `-` and `_` in names as equal.
        let name = word.split('=').next().unwrap_or_default().replace('-', "_");
        words(COMMAND_LINE).any(|known| match known.strip_suffix('*') {
            Some(begin) => name.starts_with(&begin.replace('-', "_")),
            None => name == known,
        })
    };
    // Words after `--` are for init.
    let kernels = text.split_whitespace().take_while(|word| *word != "--");
    kernels.filter(matters).map(str::to_owned).collect()
}

/// Kernel settings (sysctl(8)) that change the cost of a packet or where it is lost, by folder. Units are in
/// Documentation/admin-guide/sysctl and Documentation/networking.
const SETTINGS: &[(&str, &str)] = &[
    (
        "net.core",
        "netdev_max_backlog netdev_budget netdev_budget_usecs dev_weight dev_weight_rx_bias \
         dev_weight_tx_bias netdev_tstamp_prequeue gro_normal_batch rmem_default rmem_max wmem_default \
         wmem_max optmem_max busy_poll busy_read bpf_jit_enable bpf_jit_harden rps_sock_flow_entries \
         rps_default_mask flow_limit_cpu_bitmap flow_limit_table_len default_qdisc \
         high_order_alloc_disable skb_defer_max",
    ),
    (
        "kernel",
        "bpf_stats_enabled unprivileged_bpf_disabled numa_balancing nmi_watchdog watchdog \
         timer_migration sched_rt_runtime_us sched_rt_period_us sched_autogroup_enabled \
         sched_cfs_bandwidth_slice_us perf_cpu_time_max_percent perf_event_max_sample_rate \
         perf_event_paranoid ftrace_enabled randomize_va_space split_lock_mitigate",
    ),
    (
        "vm",
        "compaction_proactiveness max_map_count nr_hugepages overcommit_memory stat_interval \
         zone_reclaim_mode",
    ),
];

/// The settings that this kernel has and lets us read, in its notation; `None` if there are none.
pub(super) fn sysctls(root: &impl Tree) -> Option<BTreeMap<String, String>> {
    let names = SETTINGS
        .iter()
        .flat_map(|(folder, names)| names.split(' ').map(move |name| format!("{folder}.{name}")));
    let values =
        names.filter_map(|name| Some((root.text(&format!("proc/sys/{}", name.replace('.', "/")))?, name)));
    let values: BTreeMap<_, _> = values.map(|(value, name)| (name, value)).collect();
    (!values.is_empty()).then_some(values)
}

/// CPU flaws with the kernel's text on their mitigation; `None` if the kernel lists none (before Linux 4.15, or with a hidden
/// /sys).
pub(super) fn mitigations(root: &impl Tree) -> Option<BTreeMap<String, String>> {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let flaws = root.names(FOLDER)?.into_iter();
    Some(
        flaws
            .filter_map(|flaw| {
                Some((root.word(&format!("{FOLDER}/{flaw}"))?, flaw)).map(|(text, flaw)| (flaw, text))
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tree::tests::Made;
    use super::*;

    #[test]
    fn options_are_on_off_or_not_mentioned() {
        // Of Debian's kernel 5.10, shortened.
        let text = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/x86 5.10.0 Kernel Configuration\n#\n\
                    CONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n\
                    CONFIG_PACKET_DIAG=m\nCONFIG_CC_VERSION_TEXT=\"gcc\"\n";
        let found = options(text).unwrap();
        let values: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected =
            [("HZ", "250"), ("PACKET_DIAG", "m"), ("PREEMPT_NONE", "n"), ("PREEMPT_VOLUNTARY", "y")];
        assert_eq!(values, expected);
        for other in ["", "\u{1f}\u{8b}", "# CONFIG_HZ", "HZ=250"] {
            assert_eq!(options(other), None, "{other:?}");
        }
    }

    #[test]
    fn words_that_say_nothing_about_capturing_are_left_out() {
        let text = "BOOT_IMAGE=/vmlinuz-6.8.0 root=UUID=0b5c ro quiet isolcpus=managed_irq,domain,2-7 nohz-full=2-7 \
                    mitigations=off intel_idle.max_cstate=0 rd.luks.key=secret hugepages=512 -- isolcpus=1";
        let expected = [
            "isolcpus=managed_irq,domain,2-7",
            "nohz-full=2-7",
            "mitigations=off",
            "intel_idle.max_cstate=0",
            "hugepages=512",
        ];
        assert_eq!(command_line(text), expected);
        assert_eq!(command_line(""), [""; 0]);
    }

    #[test]
    fn a_host_that_hides_its_files_is_unknown() {
        assert_eq!(read(&*Made::of(&[]), None), Kernel::default());
        let tree = Made::of(&[
            ("proc/cmdline", "ro quiet\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
            ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"),
            ("sys/kernel/debug/sched/preempt", "none (voluntary) full lazy \n"),
        ]);
        let kernel = read(&*tree, None);
        assert_eq!(kernel.command_line, Some(Vec::new()), "known to have none of these words");
        assert_eq!(kernel.clocksource.as_deref(), Some("tsc"));
        assert_eq!(kernel.clocksources.unwrap(), ["tsc", "hpet", "acpi_pm"]);
        assert_eq!(kernel.preemption.as_deref(), Some("voluntary"));
    }

    #[test]
    fn settings_that_a_kernel_does_not_have_are_left_out() {
        let tree = Made::of(&[
            ("proc/sys/net/core/netdev_budget", "300\n"),
            ("proc/sys/net/core/flow_limit_cpu_bitmap", "0\n"),
            ("proc/sys/kernel/hostname", "secret\n"),
        ]);
        let values = sysctls(&*tree).unwrap();
        assert_eq!(values.len(), 2);
        assert_eq!(values["net.core.netdev_budget"], "300");
        assert_eq!(sysctls(&*Made::of(&[])), None);
    }

    #[test]
    fn flaws_are_listed_with_their_treatment() {
        let tree = Made::of(&[
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
            ("sys/devices/system/cpu/vulnerabilities/retbleed", "Not affected\n"),
        ]);
        let values = mitigations(&*tree).unwrap();
        assert_eq!(
            (values["meltdown"].as_str(), values["retbleed"].as_str()),
            ("Mitigation: PTI", "Not affected")
        );
        assert_eq!(mitigations(&*Made::of(&[])), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[# A-Z_=ynm0-9\\n\"-]{0,200}", line in ".{0,80}") {
            let _ = options(&text);
            let _ = command_line(&line);
        }
    }
}
