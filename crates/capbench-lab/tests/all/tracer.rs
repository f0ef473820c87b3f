//! The tracer against faults of known number, one place at a time, and against traffic that is not its matter.

use std::path::Path;
use std::time::Duration;

use crate::faults::host::{Host, ends_unseen};
use capbench_frames::Pps;
use capbench_host::HostError;
use capbench_host::tracer::cost::LARGEST_SHARE;
use capbench_host::tracer::{InterfaceTrace, Scope, Tracer};
use capbench_lab::for_tests::{live, virtual_link};
use capbench_lab::live::{self, LiveLaboratory};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::ledger::Entry;
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::places::Place as Lost;
use capbench_model::softirqs::SoftirqTiming;
use capbench_model::sources::Source;
use capbench_model::statement::{FrameEnds, Statement, Traced, TracedCost};
use capbench_model::trial::{CpuAccount, KernelClock, Load, TrialResult};
use capbench_sys::host::{NetNamespace, interface};
use capbench_testing::Scratch;
use capbench_testing::network::{self, Place, eventually, privileges, program};

fn scope(place: &Place, name: &str) -> Scope {
    place.inside(|| Scope {
        interface: interface::index_of(name).unwrap(),
        namespace: NetNamespace::current().unwrap().inode(),
    })
}

fn drops(trace: &InterfaceTrace, name: &str) -> u64 {
    trace.drops.iter().filter(|(kind, _)| kind.to_string() == name).map(|(_, count)| *count).sum()
}

/// Sends frames from `left`, which arrive at `right`.
fn send(place: &Place, frames: u32) {
    let config = "{ eth(da=02:00:00:00:00:09, sa=02:00:00:00:00:01, proto=0x0800), fill(0, 50) }";
    let folder = Scratch::new();
    let file = folder.file("trafgen.cfg");
    std::fs::write(&file, config).unwrap();
    let count = frames.to_string();
    let mut trafgen = program("trafgen");
    trafgen.args(["--dev", "left", "--num", &count, "--cpus", "1", "--qdisc-path", "--in"]).arg(&file);
    let output = place.output(&mut trafgen);
    assert!(output.status.success(), "{}", network::lossy(&output.stderr));
}

fn tc(place: &Place, arguments: &[&str]) {
    let output = place.output(program("tc").args(arguments));
    assert!(output.status.success(), "tc {arguments:?}: {}", network::lossy(&output.stderr));
}

/// Drops all that `right` receives: a classic BPF program of one instruction that returns TC_ACT_SHOT.
fn drop_at_ingress(place: &Place) {
    tc(place, &["qdisc", "add", "dev", "right", "clsact"]);
    tc(place, &["filter", "add", "dev", "right", "ingress", "bpf", "bytecode", "1,6 0 0 2,", "da"]);
}

fn laboratory(path: live::Path) -> LiveLaboratory {
    untraced(path).with_tracer().tracing_always()
}

fn untraced(path: live::Path) -> LiveLaboratory {
    live(path)
}

/// Between the ends of a pair.
fn pair() -> live::Path {
    live::Path::Interfaces { transmit: "left".into(), receive: "right".into(), isolated: true }
}

fn small_load() -> Load {
    Load::Rate(Pps::new(20_000.0).unwrap())
}

fn run(mut laboratory: LiveLaboratory, load: Load, duration: Duration) -> TrialResult {
    laboratory.prepare(&setup()).unwrap().run(load, duration).unwrap()
}

/// Runs a trial, and again while an entry of the ledger says that frames ended unseen and the process ran during which some
/// kernels run no BPF program. (Readings of `/proc/softirqs` and of the tracer are too far apart to show one softirq.)
fn seen(mut run: impl FnMut() -> TrialResult) -> TrialResult {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let before = Host::look();
        let trial = run();
        if !(ends_unseen(&trial) && Host::look().may_have_kept_out_the_tracer(&before)) {
            return trial;
        }
        eprintln!("again, the kernel kept softirqs from the tracer: {:?}", trial.noise);
    }
    panic!("the kernel kept softirqs from the tracer in each of {ATTEMPTS} trials")
}

fn setup() -> Setup {
    Setup {
        method: "packet-v2".parse().unwrap(),
        placement: PlacementChoice::Same,
        transmit: "packet-tx".parse().unwrap(),
        quiet: Duration::from_millis(100),
        capture: CaptureOptions::default(),
        ..capbench_model::for_tests::setup(64)
    }
}

fn entry(trial: &TrialResult, place: Lost) -> &Entry {
    trial.ledger.iter().find(|entry| entry.place == place).unwrap()
}

#[test]
fn root_drops_are_counted_by_reason_on_the_watched_interfaces_only() {
    let Some(()) = privileges() else { return };
    let (watched, other) = (Place::with_pair(), Place::with_pair());
    let tracer = Tracer::start(&[scope(&watched, "left"), scope(&watched, "right")]).unwrap();
    // The same number of an interface in another namespace is another interface.
    assert_eq!(scope(&watched, "right").interface, scope(&other, "right").interface);
    let look = || tracer.snapshot().unwrap();
    let begun = look();
    send(&other, 500);
    let quiet = look();
    for side in [0, 1] {
        assert_eq!(quiet[side].since(&begun[side]).drops, [], "another pair is not looked at");
    }
    send(&watched, 300);
    eventually("the frames are gone", || drops(&look()[1].since(&begun[1]), "OTHERHOST") == 300);
    drop_at_ingress(&watched);
    send(&watched, 200);
    eventually("tc drops", || drops(&look()[1].since(&begun[1]), "TC_INGRESS") == 200);
    assert_eq!(drops(&look()[1].since(&begun[1]), "OTHERHOST"), 300, "each frame once");
    // From now on the other pair.
    tracer.watch(&[scope(&other, "right")]).unwrap();
    let before = look();
    send(&watched, 100);
    send(&other, 50);
    eventually("the frames are gone", || drops(&look()[0].since(&before[0]), "OTHERHOST") == 50);
    assert!(tracer.watch(&[scope(&other, "right"); 5]).is_err());
    // On the way out.
    tracer.watch(&[scope(&watched, "left")]).unwrap();
    let before = look();
    tc(&watched, &["qdisc", "replace", "dev", "left", "root", "blackhole"]);
    send(&watched, 40);
    assert_eq!(drops(&look()[0].since(&before[0]), "QDISC_DROP"), 40);
}

/// How many of this process's programs are attached to softirqs, as the kernel says of its descriptors (proc_pid_fdinfo(5)).
fn programs_at_softirqs() -> usize {
    let mut programs = 0;
    for entry in std::fs::read_dir("/proc/self/fdinfo").unwrap().flatten() {
        // The descriptor of the folder itself is gone by now.
        let facts = std::fs::read_to_string(entry.path()).unwrap_or_default();
        programs += usize::from(facts.contains("softirq_"));
    }
    programs
}

#[test]
fn root_alone_a_trial_times_every_softirq_or_has_no_program_at_them() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory(virtual_link());
    let mut run = |softirqs: SoftirqTiming, load: Load| {
        let setup = Setup { softirqs, method: "recv".parse().unwrap(), ..setup() };
        let trial = laboratory.prepare(&setup).unwrap().run(load, Duration::from_millis(50)).unwrap();
        (trial, programs_at_softirqs())
    };
    for (softirqs, load, is_timed) in [
        (SoftirqTiming::default(), small_load(), true),
        (SoftirqTiming::NoTrial, small_load(), false),
        (SoftirqTiming::EveryTrial, small_load(), true),
        (SoftirqTiming::default(), Load::Maximum, false),
    ] {
        let (trial, programs) = run(softirqs, load);
        let cpu = &trial.cpu;
        assert_eq!(
            (cpu.softirqs_timed, programs),
            (Some(is_timed), 2 * usize::from(is_timed)),
            "{softirqs:?}"
        );
        let is_exact = cpu.kernel_source_fact.is_some_and(|source| source.clock == KernelClock::EverySoftirq);
        assert_eq!((is_exact, !cpu.split_is_sampled), (is_timed, is_timed), "{softirqs:?} {cpu:?}");
        for counter in ["kernel.net_rx_ns", "kernel.net_rx_runs", "kernel.softirqs_net_rx"] {
            assert_eq!(trial.counters.contains_key(counter), is_timed, "{softirqs:?} {counter}");
        }
        // Each frame took a system call, which takes longer than verifying.
        let least_ns = cpu.app_ns.unwrap() as f64 / trial.delivered.max(1) as f64;
        assert!(least_ns > cpu.verify_ns_per_packet + 20.0, "{softirqs:?} {cpu:?}");
    }
}

/// What the tracer measures at the ends of the softirq, and what the timer tick samples of the same work, agree as far as
/// ticks can: that is a sanity check, and no claim about either.
#[test]
fn root_alone_the_tracer_measures_kernel_time_on_a_shared_cpu_and_says_what_it_costs() {
    let Some(()) = privileges() else { return };
    let mut traced_by = laboratory(virtual_link());
    let setup = setup();
    let small = traced_by.prepare(&setup).unwrap().run(small_load(), Duration::from_millis(100)).unwrap();
    assert_eq!((small.number, small.foreign, small.unexplained), (1, 0, 0), "{:?}", small.ledger);
    let statements = traced_by.statements();
    let Some(Statement::Traced(Traced { cost: TracedCost::Measured { times }, .. })) = statements.last()
    else {
        panic!("{statements:?}")
    };
    assert!(times.contains("ns for each frame that the kernel drops"), "{times}");

    // At a load at which the capture thread never sleeps long: else every softirq may interrupt an idle CPU, and none the thread.
    let timed = Setup { softirqs: SoftirqTiming::EveryTrial, ..setup.clone() };
    let trial = traced_by.prepare(&timed).unwrap().run(Load::Maximum, Duration::from_millis(600)).unwrap();
    let traced = &trial.cpu;
    let (kernel_ns, own_ns) = (traced.kernel_ns.unwrap(), traced.app_ns.unwrap());
    let clock = |cpu: &CpuAccount| cpu.kernel_source_fact.map(|source| source.clock);
    assert_eq!(clock(traced), Some(KernelClock::EverySoftirq), "{traced:?}");
    // Also where other processes run on that CPU.
    assert!(!traced.split_is_sampled && kernel_ns > 0 && traced.total_ns.is_some(), "{traced:?}");
    assert!(!kernel_ns.is_multiple_of(10_000_000), "no multiple of a tick: {traced:?}");
    assert!(own_ns < traced.app_charged_ns.unwrap(), "what interrupted it is taken off: {traced:?}");
    let sampled_ns = trial.counters["kernel.softirq_ns"];
    let either_ns = kernel_ns.max(sampled_ns);
    // Other work of the host on that CPU is in both; hard interrupts within a softirq are in the traced time only.
    assert!(kernel_ns.abs_diff(sampled_ns) <= either_ns / 2 + 50_000_000, "{kernel_ns} and {sampled_ns}");
    assert!(traced.tracer_ns_per_packet.is_some_and(|ns| ns > 0.0), "{traced:?}");
    assert!(traced.tracer_ns.unwrap() < kernel_ns, "part of it: {traced:?}");

    let untraced = run(untraced(virtual_link()), Load::Maximum, Duration::from_millis(100)).cpu;
    assert_eq!(clock(&untraced), Some(KernelClock::Ticks), "{untraced:?}");
    assert!(
        untraced.split_is_sampled && untraced.kernel_ns.unwrap().is_multiple_of(10_000_000),
        "{untraced:?}"
    );
}

#[test]
fn root_tc_consumes_frames_behind_a_method_and_no_drop_is_traced_for_them() {
    let Some(()) = privileges() else { return };
    let mut laboratory = untraced(virtual_link()).with_tracer();
    let trial = seen(|| {
        let mut prepared = laboratory.prepare(&setup()).unwrap();
        prepared.run(small_load(), Duration::from_millis(100)).unwrap()
    });
    let count = |name: &str| trial.counters.get(name).copied().unwrap_or(0);
    let refused = entry(&trial, Lost::Backlog).count.unwrap();
    assert_eq!(count("trace.receive.consumed"), trial.sent - refused, "{trial:#?}");
    assert_eq!(count("trace.receive.drop.OTHERHOST"), 0);
    assert_eq!((entry(&trial, Lost::Stack).count, trial.unexplained), (Some(0), 0), "{trial:#?}");
    let statements = laboratory.statements();
    let Some(Statement::Traced(traced)) = statements.last() else { panic!("{statements:?}") };
    assert_eq!(traced.frame_ends, FrameEnds::Consumed);
}

/// Whether that is so on this host, its own measurement says.
#[test]
fn root_drops_are_not_traced_where_every_frame_is_one_and_that_costs_too_much() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    let tracer = Tracer::start(&[scope(&place, "left"), scope(&place, "right")]).unwrap();
    let load = || {
        send(&place, 500);
        Ok::<(), HostError>(())
    };
    tracer.measure_cost(load).unwrap();
    let cost = tracer.cost().unwrap();
    assert!(cost.share_of_drops().is_some_and(|share| share >= 0.0), "{cost:?}");
    let costs_too_much = cost.share_of_drops().unwrap() > LARGEST_SHARE;
    let count = || drops(&tracer.snapshot().unwrap()[1], "OTHERHOST");
    tracer.limit_cost(true).unwrap();
    let reason = tracer.no_drops_because();
    assert_eq!(reason.is_some(), costs_too_much, "{cost:?}");
    assert!(reason.is_none_or(|reason| reason.contains("--trace")));
    let before = count();
    send(&place, 100);
    if costs_too_much {
        assert_eq!(count(), before);
    }
    tracer.limit_cost(false).unwrap();
    assert_eq!(tracer.no_drops_because(), None);
    let before = count();
    send(&place, 100);
    eventually("the frames are gone", || count() == before + 100);
}

#[test]
fn root_softirqs_are_timed_while_that_is_wanted() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    let tracer = Tracer::start(&[scope(&place, "left"), scope(&place, "right")]).unwrap();
    let cpu = capbench_sys::host::CpuId::new(0);
    tracer.time_softirqs(true).unwrap();
    assert!(tracer.no_softirqs_because().is_none() && tracer.net_rx(cpu).is_some());
    tracer.time_softirqs(false).unwrap();
    assert!(tracer.net_rx(cpu).is_none(), "nobody times them");
    tracer.time_softirqs(true).unwrap();
    assert!(tracer.net_rx(cpu).is_some());
    let load = || {
        send(&place, 500);
        Ok::<(), HostError>(())
    };
    tracer.measure_cost(load).unwrap();
    tracer.limit_cost(false).unwrap();
    let slow = tracer.cost().unwrap().no_softirqs_because();
    assert_eq!((tracer.no_softirqs_because(), tracer.net_rx(cpu).is_none()), (slow.clone(), slow.is_some()));
}

/// What an XDP program does that the kernel cannot obey.
#[derive(Clone, Copy, Debug, PartialEq)]
enum XdpFault {
    Aborted,
    NoVerdict,
    RedirectToNoInterface,
    RedirectToNoSocket,
    RedirectToInterfaceThatIsDown,
}

impl XdpFault {
    const ALL: [Self; 5] = [
        Self::Aborted,
        Self::NoVerdict,
        Self::RedirectToNoInterface,
        Self::RedirectToNoSocket,
        Self::RedirectToInterfaceThatIsDown,
    ];

    fn program(self, down: u32) -> capbench_sys::bpf::object::Loaded {
        use capbench_sys::bpf::object::{ObjectFile, Opened};
        static FAULT: &ObjectFile<[u8]> =
            &ObjectFile(*include_bytes!(concat!(env!("OUT_DIR"), "/xdp_fault.bpf.o")));
        let mut opened = Opened::read("xdp_fault", &FAULT.0).unwrap();
        // `chosen` of xdp_fault.bpf.c.
        let chosen = [self as u32, 0x7fff_ffff].map(u32::to_ne_bytes);
        opened.set_constants(chosen.as_flattened()).unwrap();
        let loaded = opened.load().unwrap();
        loaded.update_number("devices", 0, down).unwrap();
        loaded
    }
}

#[test]
fn root_what_xdp_fails_at_is_booked_to_xdp_and_nowhere_else() {
    use capbench_sys::bpf::XdpMode;
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.ip("link add name spare type veth peer name spare-end");
    place.inside(|| {
        let spare = interface::index_of("spare").unwrap().number();
        let right = interface::index_of("right").unwrap();
        let mut laboratory = laboratory(pair());
        let mut prepared = laboratory.prepare(&setup()).unwrap();
        for (mode, fault) in [XdpMode::Generic, XdpMode::Driver]
            .into_iter()
            .flat_map(|mode| XdpFault::ALL.map(|fault| (mode, fault)))
        {
            // It was not there when the path was looked at.
            let _attached = fault.program(spare).attach(right, mode).unwrap();
            let trial = seen(|| prepared.run(small_load(), Duration::from_millis(50)).unwrap());
            // The softirq backlog is the whole host's, and others may fill it.
            let is_lost = |entry: &&Entry| {
                !matches!(entry.place, Lost::Unsent | Lost::Backlog)
                    && entry.count.is_some_and(|count| count > 0)
            };
            let refused = entry(&trial, Lost::Backlog).count.unwrap();
            let booked: Vec<_> = trial.ledger.iter().filter(is_lost).collect();
            let what = format!("{mode:?} {fault:?}: {booked:?} {:?}", trial.counters);
            assert_eq!((trial.delivered, trial.unexplained), (0, 0), "{what}");
            assert_eq!(entry(&trial, Lost::Xdp).count, Some(trial.sent - refused), "{what}");
            assert_eq!(booked.len(), 1, "{what}");
        }
    });
}

#[test]
fn root_without_the_tracer_or_the_kernels_types_places_are_unknown_and_it_is_said_why() {
    let Some(()) = privileges() else { return };
    let without_types = || untraced(pair()).with_tracer_on(Path::new("/no/such/btf"));
    for (laboratory, why) in [
        ((|| untraced(pair())) as fn() -> LiveLaboratory, "not asked for"),
        (without_types, "CONFIG_DEBUG_INFO_BTF"),
    ] {
        let run = || run(laboratory(), small_load(), Duration::from_millis(100));
        let trial = Place::with_pair().inside(run);
        let stack = entry(&trial, Lost::Stack);
        assert_eq!((stack.count, trial.unexplained), (None, 0));
        let Some(Source::NotTraced { because: Some(because) }) = &stack.source_fact else {
            panic!("{stack:?}")
        };
        assert!(because.contains(why), "{because}");
        let clock = trial.cpu.kernel_source_fact.map(|source| source.clock);
        assert_eq!(trial.cpu.tracer_ns, None);
        assert!(matches!(clock, Some(KernelClock::Ticks | KernelClock::TicksInStep)), "{clock:?}");
    }
}

#[test]
fn a_kernel_that_does_not_describe_its_types_is_told_so() {
    let unavailable = Tracer::start_on(Path::new("/no/such/btf"), &[], true).unwrap_err();
    assert!(unavailable.reason.contains("CONFIG_DEBUG_INFO_BTF"), "{unavailable}");
    let unavailable = Tracer::start_on(Path::new("/dev/null"), &[], true).unwrap_err();
    assert!(unavailable.reason.contains("BTF"), "{unavailable}");
}

#[test]
fn root_without_privilege_there_is_no_tracer() {
    let Some(()) = privileges() else { return };
    // A thread in a user namespace of its own would have to be a process of its own: the program is one.
    let own = std::env::current_exe().unwrap();
    let test = "tracer::unprivileged_helper";
    let output = program("setpriv")
        .args(["--reuid", "65534", "--clear-groups", "--inh-caps", "-all", "--bounding-set", "-all"])
        .arg(own)
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = network::lossy(&output.stdout);
    assert!(output.status.success() && said.contains("CAP_BPF and CAP_PERFMON"), "{said}");
}

#[test]
#[ignore = "is run by another test as an ordinary user"]
fn unprivileged_helper() {
    println!("{}", Tracer::start(&[]).unwrap_err());
}
