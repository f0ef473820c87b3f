//! `capbench why` against captures whose own reports are known: it names the same number, and changes nothing.

use crate::support::why::{look, number_before, socket_of};
use crate::support::{
    Namespaces, Place, Running, Scratch, capbench, lossy, privileges, program, run, send, send_and_count,
    test_bed,
};
use serde_json::Value;

/// What `ss -0` says that sockets of the namespace dropped: the `d` of their memory.
fn dropped_by_ss(place: &Place) -> Option<u64> {
    let mut command = std::process::Command::new("ss");
    let Ok(output) = place.inside(|| command.args(["-0", "-m", "-n"]).output()) else {
        eprintln!("ss is not installed: what it shows is not compared");
        return None;
    };
    let text = lossy(&output.stdout);
    let drops = text.split(",d").skip(1).filter_map(|rest| rest.split(')').next()?.parse::<u64>().ok());
    Some(drops.sum())
}

/// What a tool that watches `skb:kfree_skb` sees of the drops at the interface of a place, as dropwatch does.
#[cfg(feature = "bpf")]
struct Traced(capbench_host::tracer::Tracer);

#[cfg(feature = "bpf")]
impl Traced {
    fn start(place: &Place) -> Self {
        use capbench_host::tracer::{Scope, Tracer};
        use capbench_sys::host::{NetNamespace, interface};
        let scope = place.inside(|| Scope {
            interface: interface::index_of(place.interface).unwrap(),
            namespace: NetNamespace::current().unwrap().inode(),
        });
        Self(Tracer::start(&[scope]).unwrap())
    }

    /// Events by the kernel's reason, where that depends on the ring: the stack's own copies are dropped, each one,
    /// because they are for another host, captured or not.
    fn count(self) -> Option<u64> {
        let all = &self.0.snapshot().unwrap()[0].drops;
        println!("skb:kfree_skb: {all:?}");
        let of_ring = all.iter().filter(|(kind, _)| !kind.to_string().contains("OTHERHOST"));
        Some(of_ring.map(|(_, count)| count).sum())
    }
}

#[cfg(not(feature = "bpf"))]
struct Traced;

#[cfg(not(feature = "bpf"))]
impl Traced {
    fn start(_: &Place) -> Self {
        eprintln!("built without the feature bpf: what a tracer of drops shows is not compared");
        Self
    }

    fn count(self) -> Option<u64> {
        None
    }
}

#[test]
fn root_why_without_an_interface_watches_those_that_somebody_captures_on() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut tcpdump = Running::start(&spaces.right, program("tcpdump -i right -Z root -w /dev/null"));
    tcpdump.wait_for("listening on right");
    let looked = |place: &Place, name: &str| {
        run(place, capbench("why --once --for 100ms --json").args(name.split_whitespace())).success()
    };
    for name in ["", "any", "right"] {
        let look = looked(&spaces.right, name).json();
        assert_eq!(look["interface"], "right", "{name}: {look}");
    }
    let nobody = looked(&spaces.left, "");
    assert!(nobody.out.is_empty() && nobody.errors.contains("nobody captures"), "{nobody:#?}");
    tcpdump.signal("INT");
    tcpdump.end().success();
    let mut on_all = Running::start(&spaces.right, program("tcpdump -i any -Z root -w /dev/null"));
    on_all.wait_for("listening on any");
    let look = looked(&spaces.right, "").json();
    assert_eq!(look["interface"], "right", "lo is down: {look}");
    on_all.signal("INT");
    on_all.end().success();
}

#[test]
fn root_why_names_the_ring_of_a_stopped_tcpdump_with_tcpdumps_number() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut tcpdump = Running::start(&spaces.right, program("tcpdump -B 64 -Z root -i right -w /dev/null"));
    tcpdump.wait_for("listening on right");
    tcpdump.signal("STOP");

    let mut why = Running::start(&spaces.right, capbench("why -i right"));
    why.wait_for("nothing arrives on right");
    let traced = Traced::start(&spaces.right);
    let arrived = send_and_count(&spaces, "--rate 50000 -c 20000");
    let traced = traced.count();
    why.wait_for(&format!("TPACKET_V3 ring of tcpdump {} loses", tcpdump.pid()));
    why.signal("INT");
    let watched = why.end().success().out;
    let ends = format!("tcpdump {} is stopped (state T)", tcpdump.pid());
    let as_one_line = watched.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        as_one_line.contains(&ends) && watched.contains(&format!("do:     kill -CONT {}\n", tcpdump.pid())),
        "{watched}"
    );

    let seen = look(&spaces.right);
    let socket = socket_of(&seen, "here", tcpdump.pid());
    let told = socket["dropped_in_all"].as_u64().unwrap();
    assert_eq!((&socket["method"], &socket["dropped"]), (&"packet-v3".into(), &0.into()), "{seen:#}");
    let by_ss = dropped_by_ss(&spaces.right);

    tcpdump.signal("CONT");
    tcpdump.signal("INT");
    let report = tcpdump.end().errors;
    println!("why: {told}; ss: {by_ss:?}; skb:kfree_skb: {traced:?}; tcpdump: {report}");
    assert_eq!(number_before(&report, "packets received by filter"), arrived, "{report}");
    assert_eq!(told, number_before(&report, "packets dropped by kernel"), "{report}");
    assert!(told > 0 && by_ss.is_none_or(|dropped| dropped == 0), "{by_ss:?}: {report}");
    // The frame that finds the ring full first is freed as a drop, all others are consumed.
    assert!(traced.is_none_or(|events| events <= 1), "{traced:?}");
}

#[test]
fn root_why_reads_the_drops_of_every_method_and_leaves_them_to_their_owner() {
    let Some(()) = privileges() else { return };
    for method in ["recv", "packet-v1", "packet-v2", "packet-v3", "libpcap", "af-xdp"] {
        let spaces = Namespaces::make();
        let arguments = ["count", "-i", "right", "--method", method, "--ring", "256KiB"];
        let mut count = Running::start(&spaces.right, capbench("").args(arguments));
        count.wait_for(&format!("{method} on right"));
        count.signal("STOP");
        let mut why = Running::start(&spaces.right, capbench("why -i right"));
        why.wait_for("nothing arrives on right");
        send(&spaces, "--rate 50000 -c 20000");
        why.wait_for(&format!("of capbench {} loses", count.pid()));
        why.signal("INT");
        let watched = why.end().success().out;
        assert!(!watched.contains("stack ("), "booked at its socket alone: {watched}");
        let (first, again) = (look(&spaces.right), look(&spaces.right));
        let told = |look: &Value| socket_of(look, "here", count.pid())["dropped_in_all"].as_u64().unwrap();
        let (told, unchanged) = (told(&first), told(&again));
        assert_eq!(socket_of(&first, "here", count.pid())["processes"][0]["state"], "T", "{first:#}");
        count.signal("CONT");
        count.signal("INT");
        let report = count.end().success().out;
        println!("{method}: why {told}, count {}", number_before(&report, "packets dropped by kernel"));
        assert_eq!(
            (told, unchanged),
            (number_before(&report, "packets dropped by kernel"), told),
            "{report}"
        );
        assert!(told > 0, "{method}: {report}");
    }
}

#[test]
fn root_why_on_an_interface_without_traffic_and_on_one_that_goes() {
    let Some((_, spaces)) = test_bed() else { return };
    let idle = run(&spaces.right, capbench("why -i right --once --for 50ms"));
    let idle = idle.success().out;
    assert!(idle.contains("\nnothing arrives on right and nothing is lost\n"), "{idle}");
    assert!(idle.contains("no socket that captures here is known"), "{idle}");

    let mut why = Running::start(&spaces.right, capbench("why -i right"));
    why.wait_for("nothing arrives");
    spaces.right.ip("link del dev right");
    let ended = why.end();
    assert_eq!((ended.code, ended.errors.lines().count()), (Some(1), 1), "{ended:#?}");
    assert!(ended.errors.contains("right: has gone after"), "{ended:#?}");
}

#[test]
fn root_why_as_nobody_says_what_is_unknown() {
    let Some((_, spaces)) = test_bed() else { return };
    let mut count = Running::start(&spaces.right, capbench("count -i right"));
    count.wait_for("packet-v3 on right");
    let (folder, home) = (Scratch::new(), Scratch::of_nobody());
    let mut command = folder.capbench_of_nobody(&home);
    command.args(["why", "-i", "right", "--once", "--for", "50ms", "--json"]);
    let seen = run(&spaces.right, &mut command).success().json();
    let unknown = seen["sockets"]["unknown"].as_str().unwrap();
    assert!(unknown.contains("CAP_BPF") && unknown.contains("AF_XDP"), "{unknown}");
    let socket = &seen["sockets"]["here"][0];
    assert_eq!((&socket["method"], &socket["dropped"]), (&"packet-v3".into(), &Value::Null), "{seen:#}");
    assert!(seen["verdict"].as_str().unwrap().contains("as far as known"), "{seen:#}");
}

#[test]
fn root_why_is_json_line_by_line_and_ends_in_time() {
    let Some((_, spaces)) = test_bed() else { return };
    let ended = run(&spaces.right, capbench("why -i right --json --for 1200ms"));
    let lines: Vec<Value> =
        ended.success().out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["schema_version"] == 3 && line["interface"] == "right"));
    let total: f64 = lines.iter().map(|line| line["seconds"].as_f64().unwrap()).sum();
    assert!((total - lines[1]["time_s"].as_f64().unwrap()).abs() < 1e-6, "{lines:#?}");
}
