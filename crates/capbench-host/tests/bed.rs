//! The test bed on this host: what it makes, where the kernel works for it, and that nothing of it is left.
//!
//! Tests named `root_` need privilege and say why where they are skipped. Those of the unprivileged way and of `kill -9`
//! run the example `bed_probe`, because only a process without threads can enter a user namespace.

use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use capbench_host::HostError;
use capbench_host::accounts::kernel_work::KernelWorkProbe;
use capbench_host::accounts::softnet::SoftnetSnapshot;
use capbench_host::accounts::softnet::kernel_cpu_bounds;
use capbench_host::bed::{Bed, BedOptions, Guarded, KernelWork, Placement, PortLock, Side};
use capbench_host::drivers::{Meaning, NicSnapshot, nic_losses};
use capbench_host::links::Links;
use capbench_sys::host::affinity::{allowed_cpus, pin_current_thread};
use capbench_sys::host::ethtool::Offload;
use capbench_sys::host::{CpuId, NetNamespace, SysfsView};
use capbench_sys::packet::{PacketSocket, Protocol};
use capbench_sys::xdp::{Transmitter, TransmitterConfig, Wake};
use capbench_testing::network::{privileges, user_namespaces_of_nobody};
use capbench_testing::{HostLimit, Scratch, cannot_have, missing};

const NOBODY: u32 = 65_534;

fn bed(kernel_work: KernelWork) -> Bed {
    Bed::virtual_pair(&BedOptions { kernel_work, ..BedOptions::default() }).unwrap()
}

/// A file whose every write is a frame on the transmitting side.
fn wire(side: &Side) -> File {
    let socket = PacketSocket::open().unwrap();
    socket.bind(side.index(), Protocol::Nothing).unwrap();
    socket.as_fd().try_clone_to_owned().unwrap().into()
}

fn frame(bed: &Bed) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&bed.receive_side().mac().unwrap());
    frame[6..12].copy_from_slice(&bed.transmit_side().mac().unwrap());
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    frame[26..42].copy_from_slice(&[198, 18, 0, 1, 198, 19, 0, 1, 16, 0, 16, 0, 0, 26, 0, 0]);
    frame
}

fn received(bed: &Bed) -> u64 {
    bed.receive_side().stats().unwrap().unwrap().rx_packets
}

fn host_links() -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir("/sys/class/net").unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names.into_iter().map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Whether any process that can be looked at has a thread in the network namespace or a descriptor of it.
fn namespace_exists(inode: u64) -> bool {
    let is = |path: PathBuf| {
        std::fs::metadata(path).is_ok_and(|data| data.ino() == inode && data.dev() == net_device())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(|path| path.join("ns").is_dir()).any(|process| {
        let descriptors = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        is(process.join("ns/net")) || descriptors.map(|entry| entry.path()).any(is)
    })
}

fn net_device() -> u64 {
    std::fs::metadata("/proc/self/ns/net").unwrap().dev()
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}: not within 10 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn root_a_pair_is_up_and_carries_frames() {
    let Some(()) = privileges() else { return };
    let options = BedOptions { mtu: 9000, ..BedOptions::default() };
    let bed = Bed::virtual_pair(&options).unwrap();
    for side in [bed.transmit_side(), bed.receive_side()] {
        let link = side.links().by_index(side.index()).unwrap();
        assert!(link.up && link.carrier && link.no_arp && !link.promiscuous);
        assert_eq!((link.mtu, side.mtu(), link.name.as_str()), (9000, 9000, side.name()));
        assert_eq!(side.links().addresses(side.index()).unwrap(), [] as [std::net::IpAddr; 0]);
        assert!(side.links().by_name("lo").is_ok());
    }
    assert_ne!(bed.transmit_side().namespace().inode(), bed.receive_side().namespace().inode());
    let mut received_socket = vec![0; 100];
    let listener = bed.receive_side().run(|| {
        let socket = PacketSocket::open().unwrap();
        socket.set_receive_timeout(Duration::from_secs(5)).unwrap();
        socket.bind(bed.receive_side().index(), Protocol::All).unwrap();
        socket
    });
    let listener = listener.unwrap();
    let sent = frame(&bed);
    bed.transmit_side().run(|| wire(bed.transmit_side()).write_all(&sent).unwrap()).unwrap();
    let mut listener: File = listener.as_fd().try_clone_to_owned().unwrap().into();
    let length = std::io::Read::read(&mut listener, &mut received_socket).unwrap();
    assert_eq!(received_socket[..length], sent);
    assert_eq!(received(&bed), 1);
}

#[test]
fn root_a_pair_is_silent() {
    let Some(()) = privileges() else { return };
    let bed = bed(KernelWork::SenderContext);
    // Duplicate address detection and router solicitations of IPv6 would come within the first second.
    std::thread::sleep(Duration::from_millis(1500));
    for side in [bed.transmit_side(), bed.receive_side()] {
        let stats = side.stats().unwrap().unwrap();
        assert_eq!((stats.rx_packets, stats.tx_packets), (0, 0), "{}", side.name());
    }
}

#[test]
fn root_an_impossible_mtu_is_refused() {
    let Some(()) = privileges() else { return };
    let error =
        Bed::virtual_pair(&BedOptions { mtu: 70_000, ..BedOptions::default() }).unwrap_err().to_string();
    assert!(error.contains("MTU 70000") && error.lines().count() == 1, "{error}");
}

/// Sends 50,000 frames: between which shares of them `expected` processed.
fn flood(bed: &Bed, generator: CpuId, expected: CpuId) -> RangeInclusive<f64> {
    let sent = frame(bed);
    let (before, count) = (SoftnetSnapshot::read().unwrap(), received(bed));
    let send = || {
        pin_current_thread(generator).unwrap();
        let mut wire = wire(bed.transmit_side());
        // With threaded NAPI a full ring refuses frames.
        (0..50_000).filter(|_| wire.write_all(&sent).is_ok()).count() as u64
    };
    let sent = bed.transmit_side().run(send).unwrap();
    eventually("every frame that was sent arrives", || received(bed) - count >= sent);
    kernel_cpu_bounds(&SoftnetSnapshot::read().unwrap().since(&before), &[expected], sent).unwrap()
}

#[test]
fn root_alone_receive_work_is_done_where_it_was_asked_for() {
    let Some(()) = privileges() else { return };
    let placement = Placement::same().unwrap();
    let (generator, kernel) = (placement.generator, placement.kernel);
    let kinds = [
        (KernelWork::SenderContext, generator, Vec::new()),
        (KernelWork::Rps(vec![kernel]), kernel, vec![kernel]),
        (KernelWork::ThreadedNapi(vec![kernel]), kernel, vec![kernel]),
    ];
    for (kernel_work, expected, read_back) in kinds {
        let options = BedOptions { kernel_work: kernel_work.clone(), ..BedOptions::default() };
        let bed = match Bed::virtual_pair(&options) {
            Err(error @ HostError::Unsupported { .. }) => {
                cannot_have(HostLimit::Kernel, error);
                continue;
            }
            bed => bed.unwrap(),
        };
        assert_eq!(bed.kernel_work().unwrap().read_back.as_deref(), Some(read_back.as_slice()));
        let bounds = flood(&bed, generator, expected);
        // Other programs of the host receive too, so that only the upper bound is certain.
        assert!(*bounds.end() > 0.99, "{kernel_work:?}: {bounds:?} of the packets on CPU {expected}");
    }
}

/// A link with queues spreads the flows over CPUs.
#[test]
fn root_alone_receive_work_of_several_queues_is_spread_by_flow() {
    let Some(()) = privileges() else { return };
    let cpus = allowed_cpus().unwrap();
    let options = BedOptions {
        queues: NonZeroU16::new(3).unwrap(),
        kernel_work: KernelWork::Rps(cpus.clone()),
        ..BedOptions::default()
    };
    let bed = match Bed::virtual_pair(&options) {
        Err(HostError::Unsupported { reason, .. }) => return cannot_have(HostLimit::Kernel, reason),
        made => made.unwrap(),
    };
    assert_eq!(bed.kernel_work().unwrap().read_back.as_deref(), Some(cpus.as_slice()));
    let queues = |side: &Side| {
        let view =
            || SysfsView::of_current_namespace().unwrap().list(&format!("class/net/{}/queues", side.name()));
        side.run(view).unwrap().unwrap().len()
    };
    assert_eq!((queues(bed.transmit_side()), queues(bed.receive_side())), (6, 6));
}

/// The threads of a link's queues are distinguished: each runs on the CPU of its queue.
#[test]
fn root_alone_each_queue_is_polled_on_its_cpu() {
    const FRAMES: u64 = 2000;
    let Some(()) = privileges() else { return };
    let cpus = allowed_cpus().unwrap();
    let (Some(&first), Some(&last)) = (cpus.first(), cpus.last()) else { panic!("no CPU") };
    let options = BedOptions {
        queues: NonZeroU16::new(3).unwrap(),
        kernel_work: KernelWork::ThreadedNapi(vec![first, last]),
        ..BedOptions::default()
    };
    let bed = match Bed::virtual_pair(&options) {
        Err(HostError::Unsupported { reason, .. }) => return cannot_have(HostLimit::Kernel, reason),
        made => made.unwrap(),
    };
    let sent = frame(&bed);
    // The queues have the CPUs in turn.
    for (queue, cpu) in [(0, first), (1, last), (2, first)] {
        let (before, count) = (SoftnetSnapshot::read().unwrap(), received(&bed));
        let send = || {
            let mut transmitter = Transmitter::open(&TransmitterConfig {
                interface: bed.transmit_side().index(),
                queue,
                chunk_size: 2048,
                frames: 64,
                send_buffer_bytes: 1 << 20,
                budget: 32,
            })
            .unwrap();
            for _ in 0..FRAMES {
                eventually("a free chunk", || {
                    transmitter.queue().take_count();
                    transmitter.queue().room(1) == 1
                });
                transmitter.queue().slot(0)[..sent.len()].copy_from_slice(&sent);
                transmitter.queue().request(&[sent.len() as u16]).unwrap();
                while transmitter.queue().pending() > 0 {
                    let wake = transmitter.wake().unwrap();
                    transmitter.queue().take_count();
                    assert!(wake != Wake::Dropped || transmitter.repeat_dropped());
                }
            }
        };
        bed.transmit_side().run(send).unwrap();
        eventually("every frame arrives", || received(&bed) - count >= FRAMES);
        let after = SoftnetSnapshot::read().unwrap();
        let bounds = kernel_cpu_bounds(&after.since(&before), &[cpu], FRAMES).unwrap();
        assert!(*bounds.end() > 0.99, "queue {queue}: {bounds:?} of the packets on CPU {cpu}");
    }
}

#[test]
fn root_alone_the_napi_threads_time_is_accounted() {
    let Some(()) = privileges() else { return };
    let cpu = *allowed_cpus().unwrap().last().unwrap();
    let bed = match Bed::virtual_pair(&BedOptions {
        kernel_work: KernelWork::ThreadedNapi(vec![cpu]),
        ..BedOptions::default()
    }) {
        Ok(bed) => bed,
        Err(error @ HostError::Unsupported { .. }) => return cannot_have(HostLimit::Kernel, error),
        Err(error) => panic!("{error}"),
    };
    let probe = KernelWorkProbe::new(&[cpu], Some(bed.receive_side().name()));
    let before = probe.snapshot().unwrap();
    flood(&bed, allowed_cpus().unwrap()[0], cpu);
    let work = probe.snapshot().unwrap().since(&before).unwrap().unwrap();
    assert!(work.napi_threads_ns > 0 && work.total_ns() >= work.napi_threads_ns, "{work:?}");
}

#[test]
fn root_nothing_is_left_of_a_dropped_bed() {
    let Some(()) = privileges() else { return };
    let (links, home) = (host_links(), NetNamespace::current().unwrap().inode());
    let bed = bed(KernelWork::SenderContext);
    let inodes = [bed.transmit_side(), bed.receive_side()].map(|side| side.namespace().inode());
    assert!(inodes.iter().all(|inode| namespace_exists(*inode)));
    assert!(!host_links().contains(&bed.receive_side().name().to_owned()));
    let kept = bed.receive_side().clone();
    drop(bed);
    assert!(kept.stats().is_err(), "the pair is deleted with the bed, not later");
    drop(kept);
    // A program that another test starts has all files of this process until it runs.
    eventually("the namespaces are gone", || !inodes.iter().any(|inode| namespace_exists(*inode)));
    assert_eq!((host_links(), NetNamespace::current().unwrap().inode()), (links, home));
}

#[test]
fn root_real_interfaces_are_guarded() {
    let Some(()) = privileges() else { return };
    // The interfaces are real to the bed. They are a pair in a separate namespace, so the host is not touched.
    let bed = bed(KernelWork::SenderContext);
    let name = bed.transmit_side().name().to_owned();
    let refused = |isolated| {
        let outcome = bed.transmit_side().run(|| Bed::real(&name, &name, isolated));
        outcome.unwrap().err().map(|error| error.to_string())
    };
    assert_eq!(refused(false), None);
    let ip = |arguments: &str| {
        let run =
            || Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success());
        bed.transmit_side().run(run).unwrap()
    };
    if !ip(&format!("address add 198.18.0.1/24 dev {name}")) {
        return missing("the program ip (package iproute2)");
    }
    assert!(refused(false).unwrap().contains("has the address 198.18.0.1"));
    assert!(ip(&format!("route add default dev {name}")));
    let message = refused(false).unwrap();
    assert!(message.contains("default route") && message.contains("--isolated"), "{message}");
    assert_eq!(message.lines().count(), 1);
    assert_eq!(refused(true), None);
    assert!(ip(&format!("link set {name} down")));
    assert!(refused(true).unwrap().contains("is down"));
    assert!(Bed::real("no-such-if", "no-such-if", true).unwrap_err().to_string().contains("does not exist"));
}

/// A copy of the example that any user may run, in a temporary folder. `None` if it was not built (`cargo test --test bed`
/// does not).
fn probe() -> Option<(Scratch, PathBuf)> {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent)?.join("examples/bed_probe");
    let folder = Scratch::new();
    let copied = folder.file("bed_probe");
    // Not in this process: what another test starts meanwhile has its open files until it runs its program, and a file that
    // somebody writes cannot be run.
    let is_copied = Command::new("cp").args([&built, &copied]).stderr(Stdio::null()).status();
    if !is_copied.is_ok_and(|status| status.success()) {
        missing(format_args!("{}, which `cargo build --examples` builds", built.display()));
        return None;
    }
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    Some((folder, copied))
}

#[test]
fn root_an_ordinary_user_gets_a_bed() {
    let Some(()) = privileges() else { return };
    let Some((_folder, program)) = probe() else { return };
    let output = Command::new(&program).uid(NOBODY).gid(NOBODY).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if user_namespaces_of_nobody().is_none() {
        assert!(errors.contains("user namespace") && errors.lines().count() == 1, "{errors}");
        return;
    }
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("privilege UserNamespace"), "{text}");
    assert!(text.contains("SenderContext: "), "{text}");
    assert!(text.contains("threaded NAPI cannot run here: only root"), "{text}");
}

#[test]
fn root_nothing_is_left_after_kill_9() {
    let Some(()) = privileges() else { return };
    let links = host_links();
    for uid in [0, NOBODY] {
        let Some((_folder, program)) = probe() else { return };
        if uid == NOBODY && user_namespaces_of_nobody().is_none() {
            continue;
        }
        let started = Command::new(&program).arg("hold").uid(uid).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let holding =
            lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("holding ")?.to_owned()));
        let holding = holding.expect("the probe makes a bed");
        let inodes: Vec<u64> = holding.split(' ').map(|inode| inode.parse().unwrap()).collect();
        assert!(inodes.iter().all(|inode| namespace_exists(*inode)));
        // SIGKILL: no destructor runs.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!inodes.iter().any(|inode| namespace_exists(*inode)), "user {uid}");
        assert_eq!(host_links(), links);
    }
}

#[test]
fn a_missing_interface_is_named() {
    let error = Side::existing("no-such-if").unwrap_err().to_string();
    assert!(error.starts_with("interface no-such-if: does not exist"), "{error}");
    assert!(Links::of_current_namespace().unwrap().by_name("lo").is_ok());
}

/// The counters of a veth contain the frames that it polls, under the kernel's name.
#[test]
fn root_a_veth_s_own_counters_are_read() {
    let Some(()) = privileges() else { return };
    let bed = match Bed::virtual_pair(&BedOptions {
        kernel_work: KernelWork::ThreadedNapi(vec![allowed_cpus().unwrap()[0]]),
        ..BedOptions::default()
    }) {
        Err(HostError::Unsupported { reason, .. }) => return cannot_have(HostLimit::Kernel, reason),
        made => made.unwrap(),
    };
    let look = || {
        let side = bed.receive_side();
        side.run(|| NicSnapshot::take(side.name())).unwrap().unwrap()
    };
    let before = look();
    assert_eq!(before.driver_name(), Some("veth"));
    let frame = frame(&bed);
    bed.transmit_side()
        .run(|| (0..50).for_each(|_| wire(bed.transmit_side()).write_all(&frame).unwrap()))
        .unwrap();
    let start = Instant::now();
    while received(&bed) < 50 && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    let after = look();
    let deltas = after.since(&before);
    let count = |name: &str| deltas.iter().find(|delta| delta.name == name).map(|delta| delta.count);
    assert_eq!(count("rx_queue_0_xdp_packets"), Some(50), "{deltas:?}");
    assert_eq!(count("rx_queue_0_drops"), Some(0));
    let losses = nic_losses(after.driver(), None, &deltas);
    assert!(losses.iter().any(|loss| loss.meaning == Meaning::Driver), "the table knows them: {losses:?}");
    assert!(losses.iter().all(|loss| loss.count == 0), "{losses:?}");
    assert_eq!(capbench_host::drivers::raw(after.driver(), &deltas)["rx_queue_0_xdp_packets"], 50);
}

/// An interface without a driver is no error, and one that is gone is.
#[test]
fn interfaces_without_separate_counters() {
    let lo = NicSnapshot::take("lo").unwrap();
    assert!(lo.since(&lo).is_empty() && lo.driver().is_none());
    assert!(NicSnapshot::take("no-such-if").unwrap_err().to_string().contains("no-such-if"));
}

/// Alone: until its guardian has closed them, it has the files that other tests write, and these cannot be started.
#[test]
fn root_alone_an_interface_is_in_use_until_its_setting_is_restored() {
    let Some(()) = privileges() else { return };
    let bed = bed(KernelWork::SenderContext);
    let side = bed.receive_side();
    let take = || side.run(|| PortLock::take(side)).unwrap();
    let lock = take().unwrap();
    let guarded = Guarded::offload(side, Offload::Gro, true).unwrap().expect("a veth has it off");
    // As when its process is killed: the guardian is left.
    drop(lock);
    assert!(take().unwrap_err().to_string().contains("another controller uses it"));
    assert!(!side.run(|| PortLock::is_free(side.index())).unwrap());
    assert!(Guarded::offload(side, Offload::Gro, false).is_err(), "what it would restore is not the user's");
    drop(guarded);
    take().unwrap();
}
