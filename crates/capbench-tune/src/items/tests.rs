use capbench_model::environment::hardware::{Cpu, Idle, IdleState, Memory, NumaNode};
use capbench_model::environment::interface::{InterfaceFacts, Interrupt, ReceiveQueue};
use capbench_sys::host::ethtool::{Moderation, Queues, Rings, Sharing};

use super::*;
use crate::check::Check;
use crate::facts::GOVERNOR;
use crate::setting::{OffloadName, Setting, value_of};

/// A card of four queues on node 0 of a host with eight CPUs, as a driver sets it up that nobody tuned.
fn untuned() -> Facts {
    let interrupt = |queue: u32, cpu: &str| Interrupt {
        number: 40 + queue,
        name: Some(format!("eth0-TxRx-{queue}")),
        allowed_cpus: Some("0-7".into()),
        effective_cpus: Some(cpu.into()),
        numa_node: Some(0),
    };
    let node = |node, cpus: &str| NumaNode { node, cpus: Some(cpus.into()), distances: None };
    let state = |name: &str, latency| IdleState {
        name: name.into(),
        exit_latency_us: Some(latency),
        disabled: Some(false),
    };
    let mut facts = Facts {
        interface: "eth0".into(),
        card: InterfaceFacts {
            driver: Some("ixgbe".into()),
            numa_node: Some(0),
            rings: Some(Rings {
                receive_descriptors: 512,
                most_receive_descriptors: 8192,
                transmit_descriptors: 512,
                most_transmit_descriptors: 8192,
            }),
            queues: Some(Queues {
                receive: 0,
                transmit: 0,
                combined: 4,
                most_receive: 0,
                most_transmit: 0,
                most_combined: 8,
            }),
            moderation: Some(Moderation {
                receive_us: 50,
                receive_frames: 0,
                receive_adaptive: false,
                transmit_us: 50,
                transmit_frames: 0,
                transmit_adaptive: false,
            }),
            sharing: Some(Sharing {
                function: "toeplitz".into(),
                table_entries: 8,
                queues_in_table: 2,
                entries_by_queue: Some(vec![4, 4]),
                symmetric_key: Some(false),
                udp4_by_addresses: Some(true),
                udp4_by_ports: Some(true),
            }),
            receive_queues: Some(
                (0..4)
                    .map(|queue| ReceiveQueue { queue, rps_cpus: Some("0-3".into()), rps_flows: Some(0) })
                    .collect(),
            ),
            interrupts: Some(vec![
                interrupt(0, "1"),
                interrupt(1, "1"),
                interrupt(2, "0"),
                interrupt(3, "5"),
            ]),
            ..InterfaceFacts::default()
        },
        cpu: Some(Cpu {
            core_threads: Some(vec!["0-1".into(), "2-3".into()]),
            idle: Some(Idle {
                driver: None,
                governor: None,
                states: vec![state("POLL", 0), state("C6", 133)],
            }),
            ..Cpu::default()
        }),
        memory: Some(Memory { numa_nodes: Some(vec![node(0, "0-3"), node(1, "4-7")]), ..Memory::default() }),
        irqbalance: Some(true),
        online: (0..8).collect(),
        squeezes: Some(17),
        settings: Default::default(),
    };
    let mut set = |setting: Setting, value: &str| facts.settings.insert(setting, value.into());
    set(Setting::Channels, "0 0 1 4");
    set(Setting::Rings, "512 0 0 512");
    set(Setting::Sharing, "1 8 0 0 1 0 1 0 1 0 1");
    set(Setting::Offload(OffloadName::Gro), "1");
    set(Setting::Offload(OffloadName::Lro), "0");
    set(Setting::Offload(OffloadName::ReceiveVlan), "1");
    for queue in 0..4 {
        set(Setting::Queue(format!("rx-{queue}/rps_cpus")), "f");
        set(Setting::Interrupt(format!("eth0-TxRx-{queue}")), "0-7");
    }
    for (name, value) in [
        ("netdev_max_backlog", "1000"),
        ("netdev_budget", "300"),
        ("netdev_budget_usecs", "8000"),
        ("rmem_max", "212992"),
    ] {
        set(Setting::Sysctl(format!("net.core.{name}")), value);
    }
    for cpu in 0..8 {
        set(Setting::Cpu { cpu, file: GOVERNOR.into() }, "powersave");
        set(Setting::Cpu { cpu, file: "cpuidle/state0/disable".into() }, "0");
        set(Setting::Cpu { cpu, file: "cpuidle/state1/disable".into() }, "0");
    }
    facts
}

fn with_cpus(cpus: &[u32]) -> Wishes {
    Wishes { cpus: cpus.to_vec(), only: Vec::new() }
}

fn of(facts: &Facts, wishes: &Wishes, item: ItemName) -> Judgement {
    let all = judge(facts, wishes);
    all.into_iter().find(|finding| finding.item == item).unwrap().judgement
}

/// The facts after these changes, as far as items read them.
fn changed(mut facts: Facts, wishes: &Wishes) -> Facts {
    let proposals: Vec<_> =
        judge(&facts, wishes).into_iter().flat_map(|one| one.judgement.proposals).collect();
    for Proposal { setting, value } in proposals {
        let card = &mut facts.card;
        match &setting {
            Setting::Rings => {
                let rings = card.rings.as_mut().unwrap();
                rings.receive_descriptors = value.split(' ').next().unwrap().parse().unwrap();
            }
            Setting::Channels => {
                card.queues.as_mut().unwrap().combined = value.rsplit(' ').next().unwrap().parse().unwrap();
            }
            Setting::Sharing => {
                let sharing = card.sharing.as_mut().unwrap();
                (sharing.queues_in_table, sharing.entries_by_queue) = (4, Some(vec![2; 4]));
            }
            Setting::Queue(file) => {
                let queue: usize =
                    file.trim_start_matches("rx-").trim_end_matches("/rps_cpus").parse().unwrap();
                let cpus = if value == "0" { "" } else { "some" };
                card.receive_queues.as_mut().unwrap()[queue].rps_cpus = Some(cpus.into());
            }
            Setting::Interrupt(name) => {
                let all = card.interrupts.as_mut().unwrap();
                let one = all.iter_mut().find(|one| one.name.as_ref() == Some(name)).unwrap();
                (one.allowed_cpus, one.effective_cpus) = (Some(value.clone()), Some(value.clone()));
            }
            _ => {}
        }
        facts.settings.insert(setting, value);
    }
    facts
}

#[test]
fn an_untuned_card_is_judged_item_by_item() {
    let facts = untuned();
    let none = Wishes::default();
    let check = Check::new(&facts, &judge(&facts, &none));
    assert_eq!(
        check.verdict,
        "11 settings stand against capture on eth0: rings, interrupts, rss, rps, offloads, backlog, budget, buffers, \
         governor, idle, irqbalance"
    );
    let said = |item| of(&facts, &none, item).is;
    assert_eq!(said(ItemName::Rings), "the receive ring has 512 of 8192 descriptors");
    assert_eq!(
        said(ItemName::Interrupts),
        "2 of 4 queues interrupt the same CPU 1: queues 0 and 1; 3 of 4 queues interrupt the same core: CPUs 0 and 1 are \
         threads of one core; queue 3 interrupts CPU 5 on NUMA node 1, and the card is on node 0"
    );
    assert_eq!(said(ItemName::Rss), "the RSS table distributes frames to 2 of 4 queues");
    assert_eq!(said(ItemName::Rps), "RPS is on for 4 of 4 queues");
    assert_eq!(said(ItemName::Offloads), "gro join received segments");
    assert_eq!(said(ItemName::Governor), "powersave on 4 of 4 capture CPUs");
    assert_eq!(said(ItemName::Idle), "capture CPUs sleep as deep as C6, 133 µs to leave");
    let plan = Check::plan(&facts, &judge(&facts, &none));
    let lines: Vec<&str> = plan.lines().collect();
    assert_eq!(lines[0], "ethtool -G eth0 rx 4096");
    assert!(lines.contains(&"ethtool -X eth0 equal 4"), "{plan}");
    // One CPU of each core of the near node first, then the other threads.
    for line in [
        "echo 0 > /proc/irq/40/smp_affinity_list   # eth0-TxRx-0",
        "echo 2 > /proc/irq/41/smp_affinity_list   # eth0-TxRx-1",
        "echo 1 > /proc/irq/42/smp_affinity_list   # eth0-TxRx-2",
        "echo 3 > /proc/irq/43/smp_affinity_list   # eth0-TxRx-3",
        "echo 0 > /sys/class/net/eth0/queues/rx-3/rps_cpus",
        "sysctl -w net.core.netdev_max_backlog=10000",
    ] {
        assert!(lines.contains(&line), "{line} is missing in\n{plan}");
    }
    assert!(!plan.contains("net.core.netdev_budget_usecs"), "it is long enough: {plan}");
    assert!(!plan.contains("cpu4"), "no CPU of another node: {plan}");
}

#[test]
fn what_was_proposed_is_fine_afterwards() {
    for cpus in [&[][..], &[0, 2], &[2], &[4, 5, 6, 7]] {
        let wishes = with_cpus(cpus);
        let once = changed(untuned(), &wishes);
        let twice = changed(once.clone(), &wishes);
        assert_eq!(twice, changed(twice.clone(), &wishes), "{cpus:?}");
        let left: Vec<_> = judge(&twice, &wishes)
            .into_iter()
            .filter(|finding| finding.judgement.stands == Stands::Against)
            .map(|finding| finding.item)
            .collect();
        let by_hand: &[ItemName] = match cpus {
            // The user chose a node far from the card.
            [4, ..] => &[ItemName::Irqbalance],
            _ => &[ItemName::Irqbalance],
        };
        assert_eq!(left, by_hand, "{cpus:?}");
    }
}

#[test]
fn capture_cpus_decide_the_number_of_queues_and_their_interrupts() {
    let facts = untuned();
    let channels = of(&facts, &with_cpus(&[0, 2]), ItemName::Queues);
    assert_eq!(
        (channels.is.as_str(), channels.better.as_deref()),
        ("4 of 8 receive queues", Some("2, one for each capture CPU"))
    );
    assert_eq!(channels.proposals, [Proposal { setting: Setting::Channels, value: "0 0 1 2".into() }]);
    let interrupts = of(&facts, &with_cpus(&[6, 7]), ItemName::Interrupts);
    assert_eq!(
        interrupts.better.as_deref(),
        Some("queue 0 CPU 6, queue 1 CPU 7"),
        "of the queues that remain"
    );
    assert_eq!(of(&facts, &with_cpus(&[0, 1]), ItemName::Threads).is, "CPU 0 and 1 are threads of one core");
    let several = |rps: Option<&str>, cpus: &[u32]| {
        let mut facts = untuned();
        let rps_cpus = Some(rps.unwrap_or_default().into());
        facts.card.receive_queues = Some(vec![ReceiveQueue { queue: 0, rps_cpus, rps_flows: None }]);
        of(&facts, &with_cpus(cpus), ItemName::Rps)
    };
    assert_eq!(several(None, &[0]).stands, Stands::Fine);
    assert_eq!(several(None, &[0, 2]).proposals[0].value, "5");
    assert_eq!(several(Some("0,2"), &[0, 2]).stands, Stands::Fine);
}

#[test]
fn what_the_host_does_not_have_is_absent_and_not_fine() {
    let bare = Facts { interface: "veth0".into(), online: vec![0, 1], ..Facts::default() };
    let all = judge(&bare, &Wishes::default());
    assert!(all.iter().all(|finding| finding.judgement.stands == Stands::Absent), "{all:?}");
    let check = Check::new(&bare, &all);
    assert_eq!(check.verdict, "Nothing stands against capture on veth0");
    assert!(check.text().contains("the driver reports no RSS table"), "{}", check.text());
    assert_eq!(Check::plan(&bare, &all), "Nothing to change on veth0\n");
}

#[test]
fn only_the_named_items_are_judged_and_a_cost_has_a_source() {
    let only = Wishes { only: vec![ItemName::Backlog, ItemName::Rings], ..Wishes::default() };
    let facts = untuned();
    let check = Check::new(&facts, &judge(&facts, &only));
    assert_eq!(
        check.items.iter().map(|item| item.item).collect::<Vec<_>>(),
        [ItemName::Rings, ItemName::Backlog]
    );
    assert_eq!(check.items[0].cost, None);
    assert_eq!(check.items[1].cost.unwrap().source, "docs/guards.md");
    let text = check.text();
    assert!(text.contains("not measured") && text.contains("2.3 ms"), "{text}");
    for (item, key, _) in ITEMS {
        assert_eq!(key.parse(), Ok(item));
    }
    assert!("ring".parse::<ItemName>().unwrap_err().contains("queues, rings"));
}

#[test]
fn a_driver_that_grants_a_shorter_ring_than_asked_for_is_asked_once() {
    let mut facts = untuned();
    facts.card.rings.as_mut().unwrap().most_receive_descriptors = 512;
    let rings = of(&facts, &Wishes::default(), ItemName::Rings);
    assert_eq!((rings.stands, rings.proposals), (Stands::Fine, vec![]));
    assert_eq!(value_of(&[1, 2]), "1 2");
}
