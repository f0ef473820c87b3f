use super::*;
use capbench_why::{InterfaceWindow, Method, Process, SocketWindow};
use proptest::prelude::*;

fn socket(inode: u64, interface: &str, program: &str, lost: u64) -> SocketWindow {
    let process = Process { pid: 7, name: Some(program.into()), state: None, cpu_s: None };
    let is_any = interface == ANY;
    SocketWindow {
        socket: Socket {
            inode,
            processes: vec![process],
            method: Method::PacketV3,
            interface: (!is_any).then(|| interface.into()),
            every_interface: is_any,
            receives: true,
            accepted: Some(10),
            dropped: Some(lost),
            ..Socket::default()
        },
        was_reset: false,
    }
}

fn interface(name: &str, stack: u64) -> InterfaceWindow {
    let lost = vec![
        (Place::Link, Some(0)),
        (Place::Nic, None),
        (Place::Backlog, Some(0)),
        (Place::Stack, Some(stack)),
        (Place::Transmit, Some(0)),
    ];
    InterfaceWindow { interface: name.into(), received: Some(100), lost }
}

fn watching() -> (Metrics, Watching) {
    let metrics = Metrics::new("1.0.0");
    (metrics.clone(), Watching::new(metrics, false))
}

fn text(metrics: &Metrics) -> String {
    metrics.text(crate::Form::Prometheus)
}

#[test]
fn a_window_becomes_counters() {
    let (metrics, mut watching) = watching();
    let window = Window {
        interfaces: vec![interface("eth0", 3)],
        sockets: vec![socket(1, "eth0", "tcpdump", 5), socket(2, ANY, "any", 2)],
        unknown: None,
    };
    watching.note(&window);
    watching.note(&Window { interfaces: vec![interface("eth0", 0)], ..Window::default() });
    let text = metrics.text(crate::Form::OpenMetrics);
    let lines: Vec<_> = text.lines().filter(|line| !line.contains("scrape_duration")).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(metrics.total(Family::Lost, None), 10, "the known loss: each frame at one place");
    assert_eq!(metrics.total(Family::Lost, Some(("place", "ring"))), metrics.total(Family::SocketLost, None));
}

#[test]
fn a_place_that_nothing_counts_is_absent_and_named() {
    let (metrics, mut watching) = watching();
    let known = Window { interfaces: vec![interface("eth0", 4)], ..Window::default() };
    watching.note(&known);
    let mut unknown = known.clone();
    unknown.interfaces[0].lost[3].1 = None;
    unknown.unknown = Some("without CAP_BPF".into());
    watching.note(&unknown);
    let seen = text(&metrics);
    for place in ["nic", "stack", "ring"] {
        let labels = format!("{{interface=\"eth0\",place=\"{place}\"}}");
        assert!(seen.contains(&format!("capbench_place_unknown{labels} 1.0\n")), "{place}: {seen}");
        assert!(!seen.contains(&format!("capbench_lost_frames_total{labels}")), "{place}: {seen}");
    }
    watching.note(&known);
    let seen = text(&metrics);
    assert!(seen.contains("capbench_lost_frames_total{interface=\"eth0\",place=\"stack\"} 8\n"), "{seen}");
    assert!(!seen.contains("capbench_place_unknown{interface=\"eth0\",place=\"stack\"}"), "{seen}");
}

#[test]
fn two_hundred_sockets_on_forty_interfaces_stay_within_the_budget() {
    for (interfaces, each) in [(1, 200), (2, 4), (3, 20), (5, 40), (10, 20), (40, 5)] {
        let (metrics, mut watching) = watching();
        let names: Vec<_> = (0..interfaces).map(|nth| format!("eth{nth}")).collect();
        let sockets = names
            .iter()
            .flat_map(|name| (0..each).map(move |nth| socket(nth, name, &format!("program{nth}"), 1)));
        let window = Window {
            interfaces: names.iter().map(|name| interface(name, 0)).collect(),
            sockets: sockets.collect(),
            unknown: None,
        };
        watching.note(&window);
        watching.note(&window);
        let most = 60 + 8 * interfaces as usize;
        let count = metrics.count();
        println!("{interfaces} interfaces with {each} sockets each: {count} of {most} series");
        assert!(
            count <= most,
            "{interfaces} interfaces, {each} sockets: {count} of {most}\n{}",
            text(&metrics)
        );
        let lost = 2 * interfaces as u64 * each;
        assert_eq!(metrics.total(Family::SocketLost, None), lost, "sockets that share a series count");
        assert_eq!(metrics.total(Family::Lost, Some(("place", "ring"))), lost);
    }
}

#[test]
fn sockets_come_and_go_and_their_counter_continues() {
    let (metrics, mut watching) = watching();
    for nth in 0..100 {
        let sockets = vec![socket(nth, "eth0", "tcpdump", 3)];
        watching.note(&Window { interfaces: vec![interface("eth0", 0)], sockets, unknown: None });
        watching.note(&Window { interfaces: vec![interface("eth0", 0)], ..Window::default() });
    }
    let labels = "{interface=\"eth0\",program=\"tcpdump\",method=\"packet-v3\",group=\"\"}";
    let seen = text(&metrics);
    assert!(seen.contains(&format!("capbench_socket_lost_frames_total{labels} 300\n")), "{seen}");
    assert_eq!(seen.matches("\ncapbench_socket_lost_frames_total").count(), 1, "{seen}");
}

#[test]
fn programs_that_ended_long_ago_make_room_for_new_ones() {
    let (metrics, mut watching) = watching();
    let window = |sockets| Window { interfaces: vec![interface("eth0", 0)], sockets, unknown: None };
    let old = (0..20).map(|nth| socket(nth, "eth0", &format!("old{nth}"), 1)).collect();
    watching.note(&window(old));
    for _ in 0..KEPT {
        watching.note(&window(Vec::new()));
    }
    watching.note(&window(vec![socket(99, "eth0", "suricata", 3)]));
    let labels = "{interface=\"eth0\",program=\"suricata\",method=\"packet-v3\",group=\"\"}";
    let seen = text(&metrics);
    assert!(seen.contains(&format!("capbench_socket_lost_frames_total{labels} 3\n")), "{seen}");
}

#[test]
fn each_socket_has_its_series_only_if_asked_for_and_loses_it_when_it_is_closed() {
    let metrics = Metrics::new("1.0.0");
    let mut watching = Watching::new(metrics.clone(), true);
    let window = |sockets| Window { interfaces: vec![interface("eth0", 0)], sockets, unknown: None };
    watching.note(&window(vec![socket(11, "eth0", "tcpdump", 3), socket(12, "eth0", "tcpdump", 4)]));
    let seen = text(&metrics);
    assert!(seen.contains("method=\"packet-v3\",group=\"\",pid=\"7\",inode=\"12\"} 4\n"), "{seen}");
    for _ in 0..KEPT {
        watching.note(&window(vec![socket(12, "eth0", "tcpdump", 0)]));
    }
    let seen = text(&metrics);
    assert!(!seen.contains("inode=\"11\"") && seen.contains("inode=\"12\""), "{seen}");
}

#[test]
fn an_interface_that_disappeared_loses_its_series_later() {
    let (metrics, mut watching) = watching();
    watching.note(&Window { interfaces: vec![interface("eth0", 1)], ..Window::default() });
    watching.note(&Window::default());
    let seen = text(&metrics);
    assert!(seen.contains("place=\"stack\"} 1\n") && !seen.contains("capbench_place_unknown{"), "{seen}");
    for _ in 0..KEPT {
        watching.note(&Window::default());
    }
    assert!(!text(&metrics).contains("eth0"), "{}", text(&metrics));
}

proptest! {
    #[test]
    fn sums_are_those_of_the_windows(
        windows in prop::collection::vec((0_u64..5, prop::collection::vec((0_u64..9, 0_u64..4, 0_u64..100), 0..30)), 1..20),
    ) {
        let (metrics, mut watching) = watching();
        let (mut stack, mut sockets, mut lossy) = (0, 0, 0);
        for (of_stack, of_sockets) in &windows {
            let names = ["eth0", "eth1", "eth2", ANY];
            let list: Vec<_> = of_sockets
                .iter()
                .enumerate()
                .map(|(nth, (program, on, lost))| {
                    socket(nth as u64, names[*on as usize], &format!("program{program}"), *lost)
                })
                .collect();
            stack += of_stack;
            sockets += of_sockets.iter().map(|(_, _, lost)| lost).sum::<u64>();
            let on_eth0: u64 = of_sockets.iter().filter(|(_, on, _)| *on == 0).map(|(_, _, lost)| lost).sum();
            lossy += u64::from(on_eth0 > 0);
            let interfaces = vec![interface("eth0", *of_stack), interface("eth1", 0), interface("eth2", 0)];
            watching.note(&Window { interfaces, sockets: list, unknown: None });
        }
        prop_assert_eq!(metrics.total(Family::Lost, None), stack + sockets);
        prop_assert_eq!(metrics.total(Family::SocketLost, None), sockets);
        prop_assert_eq!(metrics.total(Family::Lost, Some(("place", "stack"))), stack);
        let labels = vec![("interface", "eth0".to_string()), ("place", "ring".to_string())];
        prop_assert_eq!(metrics.get(Family::LossyWindows, &labels), Some(lossy));
        prop_assert_eq!(metrics.get(Family::Windows, &interface_label("eth0")), Some(windows.len() as u64));
    }
}
