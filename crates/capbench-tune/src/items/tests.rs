use std::time::Duration;

use capbench_model::environment::hardware::{Cpu, Frequency, Idle, IdleState};
use capbench_model::environment::interface::{InterfaceFacts, PathInterface, ReceiveQueue, Role};
use capbench_model::environment::others::Others;
use capbench_model::environment::topology::Topology;
use capbench_model::environment::{Environment, queues};
use capbench_model::for_tests::{card_with_queues, cores_and_nodes, measured, profile, rss_table};
use capbench_model::trial::{Load, Phase, TrialResult};
use capbench_sys::host::ethtool::{Moderation, Rings, Sharing};

use super::*;
use crate::check::Check;
use crate::facts::GOVERNOR;
use crate::setting::OffloadName;

/// A host with eight CPUs, as nobody tuned it.
fn host() -> Environment {
    let state = |name: &str, latency| IdleState {
        name: name.into(),
        exit_latency_us: Some(latency),
        disabled: Some(false),
    };
    let (cpu, memory) = cores_and_nodes(&["0-1", "2-3"], &["0-3", "4-7"]);
    let states = vec![state("POLL", 0), state("C6", 133)];
    Environment {
        cpu: Some(Cpu { idle: Some(Idle { states, ..Idle::default() }), ..cpu }),
        memory: Some(memory),
        ..Environment::default()
    }
}

/// A card of four queues on node 0 of that host, as its driver sets it up.
fn card() -> InterfaceFacts {
    InterfaceFacts {
        driver: Some("ixgbe".into()),
        rings: Some(Rings {
            receive_descriptors: 512,
            most_receive_descriptors: 8192,
            transmit_descriptors: 512,
            most_transmit_descriptors: 8192,
        }),
        moderation: Some(Moderation {
            receive_us: 50,
            receive_frames: 0,
            receive_adaptive: false,
            transmit_us: 50,
            transmit_frames: 0,
            transmit_adaptive: false,
        }),
        receive_queues: Some(
            (0..4)
                .map(|queue| ReceiveQueue { queue, rps_cpus: Some("0-3".into()), rps_flows: Some(0) })
                .collect(),
        ),
        ..card_with_queues(
            ["1", "1", "0", "5"],
            Sharing { symmetric_key: Some(false), ..rss_table(vec![4, 4]) },
        )
    }
}

/// Both, with all settings.
fn untuned() -> Facts {
    let host = host();
    let mut facts = Facts {
        interface: "eth0".into(),
        card: card(),
        topology: Topology::of(&host),
        cpu: host.cpu,
        irqbalance: Some(true),
        squeezes: Some(17),
        is_of_run: false,
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

/// The reports have the words of these facts.
fn queue_words(finding: &queues::QueueFinding) -> String {
    format!("{finding:?}")
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
    let check = Check::new(&facts, &judge(&facts, &none), queue_words);
    assert_eq!(
        check.verdict,
        "11 settings stand against capture on eth0: rings, interrupts, rss, rps, offloads, backlog, budget, buffers, \
         governor, idle, irqbalance"
    );
    let said = |item| of(&facts, &none, item).is;
    assert_eq!(said(ItemName::Rings), Is::from("the receive ring has 512 of 8192 descriptors"));
    // The report of a run has the same facts.
    let mut against = queues::against_capture(&facts.card, &facts.topology);
    assert_eq!(against.len(), 4, "{against:?}");
    let first_of_rss = against.iter().position(|finding| !finding.is_about_interrupts()).unwrap();
    let rss = against.split_off(first_of_rss);
    assert_eq!(said(ItemName::Interrupts), Is::Queues(against));
    assert_eq!(said(ItemName::Rss), Is::Queues(rss));
    assert_eq!(said(ItemName::Rps), Is::from("RPS is on for 4 of 4 queues"));
    assert_eq!(said(ItemName::Offloads), Is::from("gro join received segments"));
    assert_eq!(said(ItemName::Governor), Is::from("powersave on 4 of 4 capture CPUs"));
    assert_eq!(said(ItemName::Idle), Is::from("capture CPUs sleep as deep as C6, 133 µs to leave"));
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
        (channels.is, channels.better.as_deref()),
        (Is::from("4 of 8 receive queues"), Some("2, one for each capture CPU"))
    );
    assert_eq!(channels.proposals, [Proposal { setting: Setting::Channels, value: "0 0 1 2".into() }]);
    let interrupts = of(&facts, &with_cpus(&[6, 7]), ItemName::Interrupts);
    assert_eq!(
        interrupts.better.as_deref(),
        Some("queue 0 CPU 6, queue 1 CPU 7"),
        "of the queues that remain"
    );
    let threads = of(&facts, &with_cpus(&[0, 1]), ItemName::Threads);
    assert_eq!(threads.is, Is::from("CPU 0 and 1 are threads of one core"));
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
fn what_the_host_does_not_have_is_absent_and_what_it_hides_is_unknown() {
    let bare = Facts { interface: "veth0".into(), ..Facts::default() };
    let all = judge(&bare, &Wishes::default());
    let is_open = |stands| matches!(stands, Stands::Absent | Stands::Unknown);
    assert!(all.iter().all(|finding| is_open(finding.judgement.stands)), "{all:?}");
    let check = Check::new(&bare, &all, queue_words);
    assert_eq!(
        check.verdict,
        "Nothing known stands against capture on veth0; unknown: queues, rps, backlog, budget, buffers, governor, idle, \
         threads, irqbalance"
    );
    let text = check.text();
    let sections: Vec<&str> = text.split("\n\n").map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(sections[1..], ["Unknown:", "Not here:"], "{text}");
    assert!(text.contains("the driver reports no RSS table"), "{text}");
    assert_eq!(Check::plan(&bare, &all), "Nothing to change on veth0\n");
}

#[test]
fn only_the_named_items_are_judged_and_a_cost_has_a_source() {
    let only = Wishes { only: vec![ItemName::Backlog, ItemName::Rings], ..Wishes::default() };
    let facts = untuned();
    let check = Check::new(&facts, &judge(&facts, &only), queue_words);
    assert_eq!(
        check.items.iter().map(|item| item.item).collect::<Vec<_>>(),
        [ItemName::Rings, ItemName::Backlog]
    );
    assert_eq!(check.items[0].cost, None);
    assert_eq!(check.items[1].cost.as_ref().unwrap().source, "docs/guards.md");
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

/// A trial that lost 3 of 1000 sent frames in the backlog. Nobody counted what the card lost.
fn trial() -> TrialResult {
    let mut measured = measured(1000, 1000, 997, 0);
    let evidence = &mut measured.evidence;
    (evidence.backlog_drops, evidence.transmit_drops, evidence.link_drops) = (Some(3), Some(3), None);
    let second = Duration::from_secs(1);
    let mut trial = measured.result(1, Phase::BestEffort, &profile("recv"), Load::Maximum, second);
    trial.counters.insert("softnet.cpu1.time_squeeze".into(), 2);
    trial
}

fn saved(facts: InterfaceFacts) -> PathInterface {
    PathInterface {
        role: Role::Receive,
        name: "eth0".into(),
        made_by_capbench: false,
        placements: vec!["same".into()],
        facts,
    }
}

#[test]
fn a_run_is_judged_as_its_host_was_and_has_the_figures_of_its_trials() {
    let now = untuned();
    let sysctls = now.settings.iter().filter_map(|(setting, value)| match setting {
        Setting::Sysctl(name) => Some((name.clone(), value.clone())),
        _ => None,
    });
    let governors = vec!["powersave".into()];
    let host = host();
    let environment = Environment {
        cpu: host
            .cpu
            .map(|cpu| Cpu { frequency: Some(Frequency { governors, ..Frequency::default() }), ..cpu }),
        sysctls: Some(sysctls.collect()),
        others: Some(Others { irqbalance_running: Some(true), ..Others::default() }),
        ..host
    };
    let offloads_on = Some(vec!["rx-gro".into(), "rx-vlan-hw-parse".into()]);
    let (interface, trial) = (saved(InterfaceFacts { offloads_on, ..card() }), trial());
    let facts = Facts::of_run(&environment, &interface, &[&trial]);
    let findings = judge(&facts, &Wishes::default());
    for (then, now) in findings.iter().zip(judge(&now, &Wishes::default())) {
        let (then, now) = (&then.judgement, now.judgement);
        assert_eq!(
            (then.stands, &then.better, then.proposals.len()),
            (now.stands, &now.better, 0),
            "{then:?}"
        );
    }
    let check = Check::of_run(&facts, &findings, queue_words, "run1", &[&trial]);
    assert!(
        check.verdict.starts_with("11 settings stood against capture on eth0 in run1: "),
        "{}",
        check.verdict
    );
    let cost = |item| {
        let item = check.items.iter().find(|one| one.item == item).unwrap();
        item.cost.as_ref().map(|cost| cost.figure.as_ref())
    };
    assert_eq!(
        cost(ItemName::Backlog),
        Some("3 of 1,000 sent frames were lost in the softirq backlog in 1 trial")
    );
    assert_eq!(cost(ItemName::Rings), None, "nobody counted it");
    assert!(check.text().contains("during its trials, work was left 2 times"), "{}", check.text());
    assert!(!check.text().contains("tune plan"), "{}", check.text());
}

#[test]
fn what_a_run_did_not_record_is_not_fine() {
    let interface = saved(InterfaceFacts::default());
    let early = Environment { netdev_max_backlog: Some(1000), ..Environment::default() };
    let check = |environment: &Environment| {
        let facts = Facts::of_run(environment, &interface, &[]);
        Check::of_run(&facts, &judge(&facts, &Wishes::default()), queue_words, "run1", &[])
    };
    assert_eq!(
        check(&early).verdict,
        "Nothing known stood against capture on eth0 in run1; not recorded: queues, rps, budget, buffers, governor, idle, \
         threads, irqbalance"
    );
    // CPUs of different governors, and the idle states of the first CPU, which is far from the card.
    let governors = vec!["performance".into(), "powersave".into()];
    let mut host = host();
    let cpu = host.cpu.as_mut().unwrap();
    cpu.frequency = Some(Frequency { governors, ..Frequency::default() });
    let far = saved(InterfaceFacts { numa_node: Some(1), ..InterfaceFacts::default() });
    let facts = Facts::of_run(&host, &far, &[]);
    for (item, is) in [
        (ItemName::Governor, "performance and powersave; which CPUs have which is unknown"),
        (ItemName::Idle, "the host has C6, 133 µs to leave; whether the capture CPUs used it is unknown"),
    ] {
        let found = of(&facts, &Wishes::default(), item);
        assert_eq!((found.stands, found.is), (Stands::Unknown, Is::from(is)));
    }
}
