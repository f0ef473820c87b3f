//! `capbench tune` on interfaces of namespaces: `apply` and `restore` are exact, also when they are killed.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use std::time::Duration;

use capbench_model::environment::Environment;
use capbench_model::environment::interface::{PathInterface, Role};
use capbench_model::for_tests::{card_with_queues, cores_and_nodes, measured, profile, rss_table};
use capbench_model::trial::{Load, Phase};
use capbench_results::for_tests::results;
use capbench_results::{Results, RunDirectory};
use capbench_sys::host::SysfsView;
use capbench_testing::{HostLimit, cannot_have};
use capbench_tune::Setting as Change;
use serde_json::Value;

use crate::support::{
    Ended, HOST, Namespaces, Place, Scratch, Setting, capbench, lossy, program, results_file, run,
    scratch_of_root,
};

/// Everything of an interface that `apply` changes or that such a change resets, as other programs see it.
fn settings(place: &Place, interface: &str) -> String {
    let mut text = String::new();
    for question in ["-l", "-g", "-k", "-x", "-c"] {
        let output = place.output(program("ethtool").args([question, interface]));
        text += &format!("ethtool {question}\n{}", lossy(&output.stdout));
    }
    let view = place.inside(|| SysfsView::of_current_namespace().unwrap());
    let queues = format!("class/net/{interface}/queues");
    for queue in view.list(&queues).unwrap() {
        for file in view.list(&format!("{queues}/{queue}")).unwrap() {
            // The kernel refuses to read some.
            let value = view.read(&format!("{queues}/{queue}/{file}")).unwrap_or_default();
            // Statistics, not a setting.
            if file != "byte_queue_limits" && file != "traffic_class" {
                text += &format!("{queue}/{file}: {value}\n");
            }
        }
    }
    text
}

/// Two receive queues with receive packet steering, and GRO: `apply` on one CPU takes a queue and GRO away, and with the queue
/// goes its steering.
fn prepared() -> Option<(Scratch, Namespaces)> {
    let bed = scratch_of_root().map(|scratch| (scratch, Namespaces::with_queues(2)))?;
    let right = &bed.1.right;
    for change in ["-L right rx 2", "-K right gro on"] {
        let output = right.output(program("ethtool").args(change.split(' ')));
        assert!(output.status.success(), "{change}: {}", lossy(&output.stderr));
    }
    let view = right.inside(|| SysfsView::of_current_namespace().unwrap());
    for (queue, mask) in [("rx-0", "1"), ("rx-1", "2")] {
        view.write(&format!("class/net/right/queues/{queue}/rps_cpus"), mask).unwrap();
    }
    Some(bed)
}

fn tune(action: &str, folder: &Path, more: &str) -> Command {
    let mut command = capbench(&format!("tune {action} -i right --only queues,offloads --cpus 0"));
    command.arg("--state").arg(folder).args(more.split_whitespace());
    command
}

#[test]
fn root_apply_is_idempotent_and_restore_gives_back_what_was() {
    let Some((scratch, spaces)) = prepared() else { return };
    let (right, folder) = (&spaces.right, scratch.file("states"));
    let before = settings(right, "right");
    let check = run(right, capbench("tune check -i right --only queues,offloads --cpus 0 --json"))
        .ended_with(3)
        .json();
    results_file::assert_valid_output("tune", &check);
    assert_eq!(check["verdict"], "2 settings stand against capture on right: queues, offloads");
    let commands: Vec<&Value> =
        check["items"].as_array().unwrap().iter().map(|item| &item["commands"][0]).collect();
    assert_eq!(commands, ["ethtool -L right rx 1", "ethtool -K right gro off"]);
    assert!(run(right, tune("plan", &folder, "")).success().out.starts_with("ethtool -L right rx 1"));
    assert_eq!(settings(right, "right"), before, "check and plan change nothing");

    let applied = run(right, tune("apply", &folder, "")).success().out;
    assert!(applied.contains("2 settings changed on right"), "{applied}");
    let after = settings(right, "right");
    assert!(after.contains("generic-receive-offload: off") && !after.contains("rx-1/"), "{after}");
    run(right, tune("check", &folder, "")).success();
    assert_eq!(run(right, tune("apply", &folder, "")).success().out, "Nothing changed on right\n");

    run(right, tune("restore", &folder, "")).success();
    assert_eq!(settings(right, "right"), before);
    let again = run(right, tune("restore", &folder, "")).success().out;
    assert!(again.starts_with("Nothing to restore on right"), "{again}");
}

#[test]
fn root_killed_at_any_moment_and_restored_everything_is_as_before() {
    let Some((scratch, spaces)) = prepared() else { return };
    let (right, folder) = (&spaces.right, scratch.file("states"));
    let before = settings(right, "right");
    // It prints a line for each change: it is killed before the first one, and after each one, as soon as it is read.
    for (action, lines) in
        [("apply", 0), ("apply", 1), ("apply", 2), ("restore", 0), ("restore", 1), ("restore", 2)]
    {
        if action == "restore" {
            run(right, tune("apply", &folder, "")).success();
        }
        let mut child = right.spawn(tune(action, &folder, "").stdout(Stdio::piped()));
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..lines {
            reader.read_line(&mut String::new()).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        run(right, tune("restore", &folder, "")).success();
        assert_eq!(settings(right, "right"), before, "{action} killed after {lines} lines");
    }
}

#[test]
fn root_what_somebody_else_changed_stays_and_is_named() {
    let Some((scratch, spaces)) = prepared() else { return };
    let (right, folder) = (&spaces.right, scratch.file("states"));
    // Steering is off with two queues.
    let tune = |action: &str| {
        let mut command = capbench(&format!("tune {action} -i right --only rps"));
        command.arg("--state").arg(&folder);
        command
    };
    run(right, tune("apply")).success();
    let view = right.inside(|| SysfsView::of_current_namespace().unwrap());
    view.write("class/net/right/queues/rx-0/rps_cpus", "3").unwrap();
    let named = "queue file rx-0/rps_cpus: left at 3: somebody else changed it";
    let again = run(right, tune("apply")).ended_with(1).out;
    assert!(again.contains(named), "{again}");
    let restored = run(right, tune("restore")).success().out;
    assert!(restored.contains(named), "{restored}");
    let now = settings(right, "right");
    assert!(now.contains("rx-0/rps_cpus: 3") && now.contains("rx-1/rps_cpus: 2"), "{now}");
}

#[test]
fn root_an_interface_in_use_and_a_damaged_file_are_refused() {
    let Some((scratch, spaces)) = prepared() else { return };
    let (right, folder) = (&spaces.right, scratch.file("states"));
    right.ip("address add 10.9.0.2/24 dev right");
    let before = settings(right, "right");
    let refused = run(right, tune("apply", &folder, "")).ended_with(2).errors;
    assert!(refused.contains("has the address 10.9.0.2") && refused.contains("--isolated"), "{refused}");
    assert_eq!(settings(right, "right"), before);
    run(right, tune("apply", &folder, "--isolated")).success();
    let file = folder.join("right.json");
    let intact = std::fs::read(&file).unwrap();
    std::fs::write(&file, &intact[..intact.len() / 2]).unwrap();
    for action in ["apply --isolated", "restore"] {
        let (action, more) = action.split_once(' ').unwrap_or((action, ""));
        let refused = run(right, tune(action, &folder, more)).ended_with(1).errors;
        assert!(refused.contains("right.json") && refused.contains("left as it is"), "{refused}");
    }
    std::fs::write(&file, intact).unwrap();
    run(right, tune("restore", &folder, "")).success();
    assert_eq!(settings(right, "right"), before);
    for name in ["../right", "no-such-if"] {
        let mut restore = capbench("tune restore --state");
        let refused = run(right, restore.arg(&folder).args(["-i", name]));
        assert!(refused.code != Some(0) && refused.errors.contains(name), "{refused:#?}");
    }
}

#[test]
fn root_a_renamed_interface_with_another_address_is_restored_and_a_lost_one_is_named() {
    let Some((scratch, spaces)) = prepared() else { return };
    let (right, folder) = (&spaces.right, scratch.file("states"));
    let before = settings(right, "right");
    run(right, tune("apply", &folder, "")).success();
    // As a bond does with its members.
    right.ip("link set dev right address 02:00:00:00:00:77");
    right.ip("link set dev right name renamed");
    let at = |action: &str, more: &str| {
        let mut command = capbench("tune");
        command.arg(action).arg("--state").arg(&folder).args(more.split_whitespace());
        run(right, &mut command)
    };
    let listed = at("restore", "--list").success().out;
    assert!(listed.contains("right  present as renamed  2 settings changed, applied"), "{listed}");
    // `apply` knows it, too: what was before is what was before the first one.
    let again = at("apply", "-i renamed --only queues,offloads --cpus 0").success().out;
    assert_eq!(again, "Nothing changed on renamed\n");
    right.ip("link set dev renamed name right");
    let restored = at("restore", "-i right").success().out;
    assert!(restored.starts_with("renamed is right now\n"), "{restored}");
    assert_eq!(settings(right, "right"), before);
    let none = at("restore", "--list").success().out;
    assert!(none.starts_with("No settings are saved"), "{none}");

    run(right, tune("apply", &folder, "")).success();
    right.ip("link del dev right");
    right.ip("link add right type veth peer name other");
    let gone = at("restore", "-i right").ended_with(1).out;
    assert!(gone.contains("right (address 02:00:00:00:00:77) is not in this network namespace"), "{gone}");
    assert!(gone.contains("offload gro: left, because the interface is gone"), "{gone}");
    // Another interface has got the name meanwhile.
    let refused = run(right, tune("apply", &folder, "")).ended_with(1).errors;
    assert!(refused.contains("settings of another interface that had this name"), "{refused}");
    let forced = at("restore", "-i right --force").ended_with(1).out;
    assert!(forced.contains("What could not be restored of right is forgotten"), "{forced}");
    let nothing = at("restore", "-i right").success().out;
    assert!(nothing.starts_with("Nothing to restore on right"), "{nothing}");
}

#[test]
fn root_virtual_interfaces_of_one_driver_are_different_interfaces() {
    let Some((scratch, spaces)) = prepared() else { return };
    let right = &spaces.right;
    right.ip("tuntap add dev tap0 mode tap");
    right.ip("tuntap add dev tap1 mode tap");
    right.ip("link add br0 type bridge");
    right.ip("link add br1 type bridge");
    for (one, other) in [("tap0", "tap1"), ("br0", "br1")] {
        for interface in [one, other] {
            let set = right.output(program("ethtool").args(["-K", interface, "gro", "on"]));
            assert!(set.status.success(), "{interface}: {}", lossy(&set.stderr));
        }
        let folder = scratch.file(one);
        let at = |action: &str, interface: &str| {
            let mut command = capbench(&format!("tune {action} -i {interface} --only offloads"));
            run(right, command.arg("--state").arg(&folder)).success().out
        };
        let before = settings(right, one);
        let applied = at("apply", one);
        assert!(applied.contains(&format!("settings changed on {one}")), "{applied}");
        let after = settings(right, one);
        assert_ne!(after, before);
        let nothing = at("restore", other);
        assert!(nothing.starts_with(&format!("Nothing to restore on {other}")), "{nothing}");
        let applied = at("apply", other);
        assert!(applied.contains(&format!("settings changed on {other}")), "{applied}");
        assert!(folder.join(format!("{one}.json")).exists(), "its state is kept");
        at("restore", other);
        assert_eq!(settings(right, one), after);
        at("restore", one);
        assert_eq!(settings(right, one), before);
    }
}

/// Runs what `plan` prints as it is printed, by a shell of root in the namespace, whose sysfs shows its interfaces.
fn run_plan(place: &Place, commands: &str) {
    let script = "mount -t sysfs sysfs /sys && exec sh -e -c \"$0\"";
    let output = place.output(program("unshare -m sh -e -c").args([script, commands]));
    assert!(output.status.success(), "{commands}: {}", lossy(&output.stderr));
}

/// Where the command of each kind of setting is run as it is printed; else why not, and then it is only understood.
fn is_run_on_a_veth(setting: &Change) -> bool {
    match setting {
        Change::Channels | Change::Offload(_) | Change::Queue(_) | Change::Sysctl(_) => true,
        // A veth has no descriptors, moderation, table or interrupts, and a virtual machine no governors or idle states.
        Change::Rings | Change::Moderation | Change::Sharing | Change::Interrupt(_) | Change::Cpu { .. } => {
            false
        }
    }
}

#[test]
fn root_the_commands_of_plan_are_run_as_they_are_printed_and_nothing_is_left_to_plan() {
    let Some((_, spaces)) = prepared() else { return };
    let right = &spaces.right;
    let view = right.inside(|| SysfsView::of_current_namespace().unwrap());
    view.write("class/net/right/queues/rx-0/rps_cpus", "0").unwrap();
    for (wanted, expected) in [
        ("--only queues,offloads --cpus 0", "ethtool -L right rx 1\nethtool -K right gro off\n"),
        ("--only rps --cpus 0,1", "echo 3 > /sys/class/net/right/queues/rx-0/rps_cpus\n"),
    ] {
        if wanted.contains("0,1") && std::thread::available_parallelism().unwrap().get() < 2 {
            return cannot_have(HostLimit::Cpus, "receive work is spread over two");
        }
        let plan = || run(right, capbench(&format!("tune plan -i right {wanted}"))).success().out;
        let printed = plan();
        assert!(printed.starts_with(expected), "{printed}");
        run_plan(right, &printed);
        assert_eq!(plan(), "Nothing to change on right\n");
    }
    let file = "cpuidle/state1/disable".into();
    for (setting, before, value) in [
        (Change::Rings, "256 0 0 256", "512 0 0 256"),
        (Change::Moderation, "", "50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"),
        (Change::Sharing, "1 4 0 0 1 0 1", "1 4 0 0 0 0 0"),
        (Change::Interrupt("right-rx-0".into()), "0", "1"),
        (Change::Cpu { cpu: 0, file }, "0", "1"),
    ] {
        assert!(!is_run_on_a_veth(&setting));
        let command = setting.command("right", before, value, Some(1));
        match command.starts_with("ethtool") {
            true => {
                let refused = run(right, program("sh -c").arg(&command)).errors;
                assert!(
                    refused.contains("not supported") && !refused.contains("bad"),
                    "{command}: {refused}"
                );
            }
            false => drop(run(right, program("sh -n -c").arg(&command)).success()),
        }
    }
}

#[test]
fn root_alone_settings_of_the_host_are_restored_though_the_interface_is_gone() {
    let Some(scratch) = scratch_of_root() else { return };
    // The host's own settings exist in its first network namespace only.
    const FILE: &str = "/proc/sys/net/core/netdev_max_backlog";
    let _restored = Setting::change(FILE, "777");
    let folder = scratch.file("states");
    let host = |line: &str| {
        let mut command = capbench("tune");
        run(HOST, command.args(line.split_whitespace()).arg("--state").arg(&folder))
    };
    program("ip link del dev cbtune0").output().unwrap();
    let ip = |line: &str| run(HOST, program("ip").args(line.split_whitespace())).success();
    ip("link add cbtune0 type veth peer name cbtune1");
    // What `plan` prints is run as it is printed.
    let plan = || run(HOST, capbench("tune plan -i cbtune0 --only backlog")).success().out;
    let printed = plan();
    let ran = run(HOST, program("sh -e -c").arg(&printed));
    let (left, is_set) = (plan(), std::fs::read_to_string(FILE).unwrap());
    std::fs::write(FILE, "777").unwrap();
    let applied = host("apply -i cbtune0 --only backlog,offloads");
    ip("link del dev cbtune0");
    assert_eq!(printed, "sysctl -w net.core.netdev_max_backlog=10000\n");
    assert_eq!((left.as_str(), is_set.trim()), ("Nothing to change on cbtune0\n", "10000"), "{ran:#?}");
    assert!(applied.success().out.contains("netdev_max_backlog: 777 -> 10000"));
    let restored = host("restore -i cbtune0");
    let now = std::fs::read_to_string(FILE).unwrap();
    assert_eq!(now.trim(), "777", "{restored:#?}");
    assert!(restored.out.contains("netdev_max_backlog: 10000 -> 777"), "{restored:#?}");
}

/// What `tune check --run` says of a run with these interfaces, whose trial lost 3 of 1000 frames in the backlog.
fn check_of_run(interfaces: Vec<PathInterface>, more: &str) -> Ended {
    let folder = Scratch::new();
    let mut measured = measured(1000, 1000, 997, 0);
    (measured.evidence.backlog_drops, measured.evidence.transmit_drops) = (Some(3), Some(3));
    let second = Duration::from_secs(1);
    let trial = measured.result(1, Phase::BestEffort, &profile("recv"), Load::Maximum, second);
    let (cpu, memory) = cores_and_nodes(&["2-3"], &["0-7"]);
    let environment = Environment {
        cpu: Some(cpu),
        memory: Some(memory),
        netdev_max_backlog: Some(1000),
        interfaces: Some(interfaces),
        ..Environment::default()
    };
    RunDirectory::create(&folder.file("run"))
        .unwrap()
        .save(&Results { environment, ..results(vec![trial]) })
        .unwrap();
    let mut command = capbench("tune check --run");
    run(HOST, command.arg(folder.file("run")).args(more.split_whitespace()))
}

fn captured(name: &str, placement: &str, cpus: [&str; 4]) -> PathInterface {
    let mut facts = card_with_queues(cpus, rss_table(vec![32; 4]));
    facts.driver = Some("veth".into());
    PathInterface {
        role: Role::Receive,
        name: name.into(),
        made_by_capbench: false,
        placements: vec![placement.into()],
        facts,
    }
}

#[test]
fn what_stood_against_capture_in_a_run_is_read_from_it() {
    let crowded = captured("eth7", "same", ["0", "0", "1", "4"]);
    let check = check_of_run(vec![crowded.clone()], "--json").ended_with(3).json();
    results_file::assert_valid_output("tune", &check);
    let verdict = check["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("2 settings stood against capture on eth7 in "), "{verdict}");
    assert!(verdict.ends_with("not recorded: rps, budget, buffers, irqbalance"), "{verdict}");
    let text = check_of_run(vec![crowded.clone()], "").ended_with(3).out;
    for words in [
        "2 of 4 queues interrupt the same CPU 0: queues 0 and 1",
        "3 of 1,000 sent frames were lost in the softirq backlog in 1 trial",
        "Not recorded:",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
    check_of_run(vec![crowded], "--only queues").ended_with(0);
}

#[test]
fn a_run_with_several_interfaces_is_asked_about_one() {
    let [one, other] = [("eth7", "same"), ("eth8", "other")]
        .map(|(name, placement)| captured(name, placement, ["0", "1", "2", "4"]));
    for more in ["", "-i eth9"] {
        let refused = check_of_run(vec![one.clone(), other.clone()], more).ended_with(2).errors;
        assert!(refused.contains("-i") && refused.contains("eth8 (placement other)"), "{refused}");
    }
    let named = check_of_run(vec![one.clone(), other], "-i eth8 --only backlog").ended_with(3).out;
    assert!(
        named.contains("on eth8") && named.contains("not measured"),
        "no trial had that placement: {named}"
    );
    // Its settings changed between placements.
    let changed = captured("eth7", "other", ["0", "0", "1", "4"]);
    let both = check_of_run(vec![one, changed], "--only interrupts").ended_with(3).out;
    assert!(both.contains("Nothing stood") && both.contains(", placement other: interrupts"), "{both}");
    assert!(check_of_run(Vec::new(), "").ended_with(2).errors.contains("recorded no interface"));
    for wrong in ["tune plan --run x", "tune apply -i eth0 --run x"] {
        assert!(run(HOST, &mut capbench(wrong)).ended_with(2).errors.contains("only check"), "{wrong}");
    }
}
