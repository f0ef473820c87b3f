use std::time::Duration;

use capbench_frames::LatenessSummary;
use capbench_frames::stamp::StreamId;
use capbench_host::accounts::cpu::{CpuSnapshot, CpuWindow};
use capbench_host::accounts::kernel_work::KernelReceive;
use capbench_host::accounts::softnet::SoftnetDelta;
use capbench_host::accounts::threads::ThreadTimes;
use capbench_host::drivers::NicSnapshot;
use capbench_host::links::LinkStats;
use capbench_host::tracer::cost::TracerCost;
use capbench_host::tracer::{DropKind, InterfaceTrace, NetRxTime};
use capbench_model::arrivals::Arrivals;
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::disturbance::{ClockDrift, CoreSpeed, Stall};
use capbench_model::disturbers::{CpuUser, Disturbers};
use capbench_model::for_tests::profile;
use capbench_model::generator::GeneratorFacts;
use capbench_model::members::Member;
use capbench_model::places::Place;
use capbench_model::running::{CaptureFacts, Engine, RingGeometry};
use capbench_model::trial::{CpuAccount, Departed, Emptying, KernelClock, Load, Phase, Verdict};
use capbench_sys::host::CpuId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::live::halves::{GeneratorCpu, ReceiverCpus};
use crate::live::interface_counts::InterfaceCounts;
use crate::live::messages::HostCpus;
use crate::live::nic::{Circumstances, NicAccount};
use crate::receiver::Received;
use capbench_frames::SentFrames;

const MS: u64 = 1_000_000;
pub(super) const VIRTUAL: LinkFacts = LinkFacts { is_virtual: true, line_rate_pps: None, clocks: None };

/// Times of CPUs since nothing, in ticks of 10 ms: user, system, idle, softirq and steal.
fn window(cpus: &[(u32, [u64; 5])]) -> CpuWindow {
    let text = |cpus: &[(u32, [u64; 5])]| -> String {
        let line = |(cpu, [user, system, idle, softirq, steal]): &(u32, [u64; 5])| {
            format!("cpu{cpu} {user} 0 {system} {idle} 0 0 {softirq} {steal}\n")
        };
        cpus.iter().map(line).collect()
    };
    let nothing: Vec<_> = cpus.iter().map(|(cpu, _)| (*cpu, [0; 5])).collect();
    let snapshot = |cpus: &[(u32, [u64; 5])]| CpuSnapshot::parse(&text(cpus), 10 * MS).unwrap();
    snapshot(cpus).since(&snapshot(&nothing))
}

fn dropped(reason: &str, count: u64) -> InterfaceTrace {
    let kind = DropKind { reason: Some(reason.into()), function: None };
    InterfaceTrace { drops: vec![(kind, count)], ..InterfaceTrace::default() }
}

/// 1000 frames in a second from CPU 0. The qdisc drops 3, and a veth counts what the backlog refused as dropped.
pub(super) fn transmit() -> TransmitHalf {
    TransmitHalf {
        stream: StreamId(0),
        frames: SentFrames { intended: 1000, sent: 1000, accepted: 1000, ..SentFrames::default() },
        unverified_because: None,
        elapsed: Duration::from_millis(999),
        sending: Duration::from_secs(1),
        lateness: Some(LatenessSummary { p50_ns: 1, p99_ns: 2, max_ns: 3 }),
        departed: Some(Departed { after_s: 1.001, under_way: 3 }),
        generator: vec![GeneratorFacts::Otg { version: None, api: None }],
        outruns: true,
        needs_far_napi: false,
        cpus: vec![GeneratorCpu {
            cpu: CpuId::new(0),
            own_ns: 950 * MS,
            window_ns: 1002 * MS,
            times: window(&[(0, [97, 0, 0, 0, 3])]).of(CpuId::new(0)),
            stalls: Some(vec![Stall { until_ns: 5 * MS, at_least_ns: MS, at_most_ns: 2 * MS }]),
        }],
        interface: InterfaceCounts {
            stats: Some(LinkStats { tx_packets: 995, tx_dropped: 2, ..LinkStats::default() }),
            traced: Some(dropped("QDISC_DROP", 3)),
            ..InterfaceCounts::default()
        },
        counts_each_frame: false,
        driver_counters: [("tx_queue_0_packets".to_string(), 997)].into(),
        notes: vec![Noise::Steal],
        interruption: None,
        disturbers: None,
        clock: None,
    }
}

/// The application on CPU 1 with the kernel. Of 997 frames the backlog refuses 2, and the ring loses 5.
pub(super) fn receive() -> ReceiveHalf {
    let counters = Counters::of_ring(Some(995), Some(5), "tp_drops", vec![("tp_packets".into(), 995)]);
    let arrivals = Arrivals { read: 990, delivered: 990, ..Arrivals::default() };
    let stats = LinkStats { rx_packets: 997, rx_dropped: 2, ..LinkStats::default() };
    let traced = dropped("OTHERHOST", 993).plus(&dropped("CPU_BACKLOG", 2));
    let circumstances =
        Circumstances { foreign: 0, method: &counters, foreign_program: false, failed_redirects: 0 };
    let nic = NicSnapshot::default();
    let (kernel, application) = (CpuId::new(1), CpuId::new(1));
    let row = |cpu, processed, dropped| SoftnetDelta {
        cpu: CpuId::new(cpu),
        processed,
        dropped,
        time_squeeze: 0,
        received_rps: Some(7),
        flow_limit: None,
    };
    ReceiveHalf {
        nic: NicAccount::new(
            &nic,
            &nic,
            &InterfaceCounts { stats: Some(stats), ..InterfaceCounts::default() },
            2,
            &circumstances,
        ),
        received: Received {
            members: Vec::new(),
            flow_sharing: None,
            arrivals,
            streams: vec![StreamArrivals { delivered: 990, reached: 1000, ..StreamArrivals::default() }],
            queue: None,
            counters,
            batches: 33,
            waits: WaitCounts { waits: 20, empty: 1, spun: 0 },
            cpu_ns: 400 * MS,
            switches: Some(ThreadTimes {
                run_ns: Some(400 * MS),
                wait_ns: Some(0),
                voluntary_switches: Some(18),
                involuntary_switches: Some(2),
            }),
            drain: Duration::from_secs(2),
            emptying: Some(Emptying { after_s: 0.001, holds_s: 0.008 }),
            cut_short: false,
            unread: None,
            capture: CaptureFacts {
                engine: Engine::new("TPACKET_V3", []),
                ring: RingGeometry::Slots { slots: 64, slot_bytes: 2048, bytes: 131_072 },
                time_source: None,
                moderation: None,
                shortfalls: Vec::new(),
            },
            unverified_because: None,
            latency: None,
            report: None,
            filtered: false,
            notes: vec![Noise::MissedByTracer],
            verify_ns: 100.0,
            call_ns: None,
            iteration_ns: None,
        },
        loss_patterns: Vec::new(),
        interface: InterfaceCounts {
            stats: Some(stats),
            pause: Some(PauseCounts { sent: 4, received: 0 }),
            traced: Some(traced),
            xdp_before: Some(XdpAttachment::Detached),
            xdp_after: Some(XdpAttachment::Detached),
        },
        softnet: vec![row(0, 0, 0), row(1, 997, 2)],
        longest_backlog: Some(1000),
        past_backlog: false,
        queues: None,
        own_xdp: false,
        filters: false,
        cpus: ReceiverCpus {
            placement: HostCpus { generators: vec![CpuId::new(0)], kernels: vec![kernel], application },
            sending: window(&[(0, [97, 0, 0, 0, 3]), (1, [20, 10, 50, 20, 0])]),
            receiving: window(&[(0, [97, 0, 200, 0, 3]), (1, [20, 10, 250, 20, 0])]),
            receiving_ns: 3003 * MS,
            kernel: Some(KernelReceive {
                cpus: vec![kernel],
                softirq_ns: 200 * MS,
                irq_ns: 0,
                ksoftirqd_ns: Some(0),
                napi_threads_ns: 0,
                resolution_ns: 10 * MS,
                traced: Some(NetRxTime {
                    total_ns: 150 * MS,
                    in_processes_ns: 100 * MS,
                    in_capture_ns: None,
                    in_napi_ns: 0,
                    runs: 500,
                    resolution_ns: MS,
                }),
                net_rx_runs: Some(501),
            }),
            kernel_busy_ns: Some(503 * MS),
            interrupts_excluded: Some(false),
            softirqs_timed: Some(true),
            tick_ns: 10 * MS,
            stalls: vec![(kernel, vec![Stall { until_ns: 1003 * MS, ..Stall::default() }])],
            paces: vec![(CpuId::new(0), PACE), (kernel, PACE)],
            disturbers: None,
        },
        clocks: ClockDrift { slew_ppm: 1.25, ..ClockDrift::default() },
        tracer_cost: Some(TracerCost {
            drop_ns: 20.0,
            drops: 1000,
            softirq_ns: 80.0,
            softirqs: 500,
            measuring_ns: 10.0,
            dispatch_ns: None,
            frame_ns: None,
        }),
        untraced: None,
        one_way: None,
        clock: None,
    }
}

const PACE: CoreSpeed =
    CoreSpeed { before_ns: 1.0, after_ns: 1.5, fastest_ns: 1.0, clock: None, taken_share: None };

/// The trial of one generator, on the receiver's host if the receive side says so.
pub(super) fn join(link: LinkFacts, transmit: &TransmitHalf, receive: &ReceiveHalf) -> Measured {
    let on_its_host = receive.cpus.placement.generators.first().map(|_| transmit.stream);
    let sides = Sides {
        link,
        is_in_step: true,
        transmit: std::slice::from_ref(transmit),
        on_its_host: on_its_host.as_slice(),
        unreported: &[],
        receive,
    };
    super::join(&sides)
}

fn through_json<T: Serialize + DeserializeOwned>(half: &T) -> T {
    serde_json::from_str(&serde_json::to_string(half).unwrap()).unwrap()
}

#[test]
fn a_half_survives_json_unchanged() {
    assert_eq!(through_json(&transmit()), transmit());
    assert_eq!(through_json(&receive()), receive());
}

#[test]
fn every_frame_of_both_halves_is_booked_once() {
    let measured = join(VIRTUAL, &transmit(), &receive());
    assert_eq!(measured.trial.counters["transmit.tx_dropped"], 2);
    assert_eq!(measured.trial.counters["receive.rx_packets"], 997);
    assert_eq!(
        (measured.trial.counters["receive.pause_sent"], measured.trial.counters["receive.pause_received"]),
        (4, 0)
    );
    assert!(!measured.trial.counters.contains_key("transmit.pause_sent"), "unknown there");
    assert_eq!(measured.trial.counters["softnet.cpu1.dropped"], 2);
    assert!(!measured.trial.counters.contains_key("softnet.cpu0.dropped"), "an idle CPU is not listed");
    assert_eq!(measured.trial.counters["trace.transmit.drop.QDISC_DROP"], 3);
    assert_eq!(measured.trial.counters["nic.transmit.tx_queue_0_packets"], 997);
    assert_eq!(measured.trial.counters["kernel.softirqs_net_rx"], 501);
    assert_eq!(measured.trial.counters["method.tp_packets"], 995);
    assert_eq!((measured.sending, measured.drain), (Duration::from_secs(1), Duration::from_secs(2)));
    assert_eq!(measured.trial.departed, None, "a link without speed");
    assert_eq!(measured.trial.noise.reasons, [Noise::MissedByTracer, Noise::Steal]);
    let load = Load::Rate(capbench_frames::rates::Pps::new(1000.0).unwrap());
    let result = measured.result(1, Phase::FixedLoad, &profile("packet-v3"), load, Duration::from_secs(1));
    let booked = |place| result.ledger.iter().find(|entry| entry.place == place).unwrap().count;
    assert_eq!(booked(Place::Unsent), Some(0));
    assert_eq!(booked(Place::Transmit), Some(3));
    assert_eq!(booked(Place::Backlog), Some(2));
    assert_eq!(booked(Place::Ring), Some(5));
    assert_eq!((result.unexplained, result.verdict), (0, Verdict::Lossy));
}

#[test]
fn the_cpu_account_is_that_of_the_receive_side() {
    let cpu = join(VIRTUAL, &transmit(), &receive()).trial.cpu;
    // The tracer measured 100 ms of softirqs in the application's 400 ms.
    assert_eq!((cpu.app_ns, cpu.app_charged_ns), (Some(300 * MS), Some(400 * MS)));
    assert!(!cpu.split_is_sampled);
    assert_eq!((cpu.kernel_ns, cpu.total_ns), (Some(150 * MS), Some(503 * MS)));
    // 998 drops and 500 softirqs.
    assert_eq!(cpu.tracer_ns, Some(998 * 20 + 500 * 80));
    assert_eq!(cpu.busy_cores, Some(0.97 + 0.5));
    assert_eq!(cpu.steal_ratio, Some(0.03), "of the generator");
}

/// Other work had 40 ticks of the receiver's CPU.
fn with_foreign_work(in_capture_ns: Option<u64>) -> CpuAccount {
    let mut receive = receive();
    receive.cpus.receiving = window(&[(0, [97, 0, 200, 0, 3]), (1, [70, 10, 200, 20, 0])]);
    let traced = receive.cpus.kernel.as_mut().and_then(|kernel| kernel.traced.as_mut()).unwrap();
    traced.in_capture_ns = in_capture_ns;
    join(VIRTUAL, &transmit(), &receive).trial.cpu
}

#[test]
fn work_of_others_on_the_cpu_hides_no_cost_if_the_tracer_knows_which_threads_capture() {
    let known = with_foreign_work(Some(60 * MS));
    assert_eq!((known.app_ns, known.split_is_sampled), (Some(340 * MS), false));
    assert_eq!(known.total_ns, Some((340 + 150) * MS), "without the other work");
    let unknown = with_foreign_work(None);
    assert_eq!((unknown.app_ns, unknown.split_is_sampled, unknown.total_ns), (Some(300 * MS), true, None));
}

#[test]
fn receive_work_of_which_more_than_a_tenth_is_on_other_cpus_did_not_follow_the_placement() {
    for (elsewhere, did_follow) in [(99, true), (101, false)] {
        let mut receive = receive();
        receive.softnet[0].processed = elsewhere;
        let trial = join(VIRTUAL, &transmit(), &receive).trial;
        let is_elsewhere = trial.noise.reasons.contains(&Noise::KernelElsewhere);
        assert_eq!(is_elsewhere, !did_follow, "{elsewhere} of 1000 frames");
    }
}

#[test]
fn the_total_of_a_shared_cpu_is_unknown_if_others_worked_for_more_than_a_twentieth_of_its_busy_time() {
    // The CPU was busy for 503 ms. Threads ran for 100 ms in the system, too: 420 ms, with two ticks, can be the application's.
    for (user_ticks, total_ns) in [(34, Some(503 * MS)), (35, None)] {
        let mut receive = receive();
        receive.cpus.receiving = window(&[(0, [97, 0, 200, 0, 3]), (1, [user_ticks, 10, 250, 20, 0])]);
        let trial = join(VIRTUAL, &transmit(), &receive).trial;
        assert_eq!(trial.cpu.total_ns, total_ns, "{user_ticks} ticks");
        let is_foreign = trial.noise.reasons.contains(&Noise::ForeignLoadOnSharedCpu);
        assert_eq!(is_foreign, total_ns.is_none(), "{user_ticks} ticks");
    }
}

#[test]
fn the_total_of_a_short_trial_is_the_sum_of_its_exact_parts() {
    // Two ticks of 10 ms are a twentieth of 400 ms.
    for (busy_ms, total_ns) in [(400, 400 * MS), (399, (300 + 150) * MS)] {
        let mut receive = receive();
        receive.cpus.kernel_busy_ns = Some(busy_ms * MS);
        receive.cpus.kernel.as_mut().unwrap().resolution_ns = 10 * MS;
        let cpu = join(VIRTUAL, &transmit(), &receive).trial.cpu;
        assert_eq!((cpu.total_ns, cpu.kernel_ns), (Some(total_ns), Some(150 * MS)), "busy for {busy_ms} ms");
    }
}

#[test]
fn receive_work_that_interrupts_several_members_is_counted_once() {
    let mut receive = receive();
    let cpus = [1, 2].map(CpuId::new);
    receive.cpus.placement.kernels = cpus.to_vec();
    receive.cpus.kernel.as_mut().unwrap().cpus = cpus.to_vec();
    let member = |cpu: CpuId| Member { cpu: cpu.number(), cpu_ns: 200 * MS, ..Member::default() };
    receive.received.members = cpus.map(member).to_vec();
    let cpu = join(VIRTUAL, &transmit(), &receive).trial.cpu;
    assert_eq!((cpu.app_ns, cpu.app_charged_ns), (Some(300 * MS), Some(400 * MS)));
    // 150 ms of the kernel's, of which the members were charged 100 ms.
    assert_eq!((cpu.kernel_ns, cpu.total_ns), (Some(150 * MS), Some(450 * MS)));
}

#[test]
fn what_a_tick_samples_of_a_load_in_step_with_it_is_unknown() {
    // `join` says that the load is in step.
    let cpu = |placed: CpuId, excluded, call_ns| {
        let mut receive = receive();
        let kernel = receive.cpus.kernel.map(|kernel| KernelReceive { traced: None, ..kernel });
        receive.cpus.kernel = kernel;
        receive.cpus.placement.application = placed;
        receive.cpus.interrupts_excluded = Some(excluded);
        receive.received.batches = 200;
        receive.received.call_ns = call_ns;
        join(VIRTUAL, &transmit(), &receive).trial.cpu
    };
    let kernel = receive().cpus.placement.kernels[0];
    let shared = cpu(kernel, false, None);
    assert_eq!((shared.kernel_ns, shared.total_ns), (None, Some(503 * MS)), "idle time is not sampled");
    // 990 frames were verified in 100 ns each: all that is certain of 400 ms.
    assert_eq!(
        (shared.app_ns, shared.app_charged_ns, shared.split_is_sampled),
        (Some(99_000), Some(400 * MS), true)
    );
    let calling = cpu(kernel, false, Some(250.0)).app_ns;
    assert_eq!(calling, Some(99_000 + 200 * 250), "and 200 system calls");
    let apart = cpu(CpuId::new(2), false, None);
    assert_eq!((apart.app_ns, apart.kernel_ns, apart.total_ns), (Some(400 * MS), None, None));
    let measured = cpu(CpuId::new(2), true, None);
    assert_eq!(measured.kernel_ns, Some(200 * MS), "this kernel times its interrupts");
    let clock = measured.kernel_source_fact.map(|source| source.clock);
    assert_eq!(clock, Some(KernelClock::MeasuredInterrupts));
}

#[test]
fn a_generator_on_another_host_is_not_taken_for_a_thread_of_the_receiver() {
    let mut transmit = transmit();
    transmit.cpus[0].cpu = CpuId::new(1);
    let mut receive = receive();
    receive.cpus.placement.generators.clear();
    receive.cpus.paces.remove(0);
    let measured = join(VIRTUAL, &transmit, &receive);
    let [cpu] = measured.trial.disturbance.cpus.as_slice() else { panic!("the receive side's CPU alone") };
    assert_eq!((cpu.cpu, cpu.window_ns, cpu.steal_ns), (1, 3003 * MS, 0));
    assert_eq!(measured.trial.cpu.total_ns, Some(503 * MS));
}

#[test]
fn the_generators_cpu_is_examined_while_it_sends_and_the_others_until_the_last_frame() {
    let disturbance = join(VIRTUAL, &transmit(), &receive()).trial.disturbance;
    let [generator, receiver] = disturbance.cpus.as_slice() else { panic!("two CPUs") };
    assert_eq!((generator.cpu, generator.window_ns, generator.steal_ns), (0, 1002 * MS, 30 * MS));
    assert_eq!(generator.foreign_ns, 20 * MS, "970 ms of threads, 950 ms its own");
    assert_eq!(generator.stalls.as_ref().map(Vec::len), Some(1));
    assert_eq!((receiver.cpu, receiver.window_ns), (1, 3003 * MS));
    assert_eq!(receiver.stalls, Some(Vec::new()), "it stalled when sending was over");
    assert_eq!((generator.core_speed, receiver.core_speed), (Some(PACE), Some(PACE)));
    assert_eq!((disturbance.sending_ns, disturbance.clocks.slew_ppm), (1002 * MS, 1.25));
    // 1000 frames in 999 ms, and a backlog of 1000.
    assert_eq!(disturbance.backlog_lasts_ns, Some(999 * MS));
}

#[test]
fn a_generator_on_the_applications_cpu_is_examined_with_it() {
    let (mut transmit, mut receive) = (transmit(), receive());
    transmit.cpus[0].cpu = CpuId::new(1);
    receive.cpus.placement.generators = vec![CpuId::new(1)];
    let measured = join(VIRTUAL, &transmit, &receive);
    let [cpu] = measured.trial.disturbance.cpus.as_slice() else { panic!("one CPU") };
    assert_eq!((cpu.cpu, cpu.window_ns), (1, 3003 * MS));
    assert_eq!(
        measured.trial.cpu.total_ns,
        Some(550 * MS),
        "the busy time of the CPU is the generator's, too"
    );
}

/// The numbers of the processes that disturbed a trial.
fn disturbing(transmit: &TransmitHalf, receive: &ReceiveHalf) -> Vec<u32> {
    let disturbers = join(VIRTUAL, transmit, receive).trial.disturbance.disturbers.unwrap();
    disturbers.processes.iter().map(|process| process.pid).collect()
}

#[test]
fn an_agent_that_sends_from_the_receivers_host_does_not_disturb_the_trial() {
    let (mut transmit, mut receive) = (transmit(), receive());
    assert_eq!(join(VIRTUAL, &transmit, &receive).trial.disturbance.disturbers, None);
    let process = |pid| CpuUser { pid, cpu: 1, ..CpuUser::default() };
    let processes = vec![process(7), process(8)];
    receive.cpus.disturbers = Some(Disturbers { processes, ..Disturbers::default() });
    assert_eq!(disturbing(&transmit, &receive), [7, 8]);
    transmit.disturbers = Some(Disturbers { reader_pid: 7, ..Disturbers::default() });
    assert_eq!(disturbing(&transmit, &receive), [8]);
    // Numbers of processes of another host mean nothing here.
    receive.cpus.placement.generators = Vec::new();
    assert_eq!(disturbing(&transmit, &receive), [7, 8]);
}

#[test]
fn frames_gone_between_two_drivers_are_known_on_a_real_link_only() {
    let mut transmit = transmit();
    transmit.interface.stats = Some(LinkStats { tx_packets: 1000, ..LinkStats::default() });
    let real = LinkFacts { is_virtual: false, line_rate_pps: Some(1e6), ..VIRTUAL };
    let link = |facts| join(facts, &transmit, &receive()).evidence.nic.link.unwrap();
    assert_eq!(link(real).count, Some(3));
    assert_eq!(link(VIRTUAL).count, Some(0));
    let measured = join(real, &transmit, &receive());
    assert_eq!((measured.trial.line_rate_pps, measured.trial.departed), (Some(1e6), transmit.departed));
}

#[test]
fn the_queue_of_a_veth_follows_from_how_both_sides_work() {
    let queue =
        |transmit: &TransmitHalf, receive: &ReceiveHalf| join(VIRTUAL, transmit, receive).evidence.peer_queue;
    assert_eq!(queue(&transmit(), &receive()), PeerQueue::None);
    let xdp_sender = TransmitHalf { needs_far_napi: true, ..transmit() };
    assert_eq!(queue(&xdp_sender, &receive()), PeerQueue::OfFrames);
    assert_eq!(queue(&transmit(), &ReceiveHalf { past_backlog: true, ..receive() }), PeerQueue::OfBuffers);
    let mut with_program = receive();
    with_program.interface.xdp_after = Some(XdpAttachment::Driver);
    assert_eq!(queue(&transmit(), &with_program), PeerQueue::OfBuffers);
}

#[test]
fn several_generators_count_as_one_and_one_that_did_not_report_by_what_came_of_it() {
    let second = TransmitHalf {
        stream: StreamId(1),
        lateness: Some(LatenessSummary { p50_ns: 9, p99_ns: 9, max_ns: 9 }),
        sending: Duration::from_secs(2),
        ..transmit()
    };
    let mut receive = receive();
    receive.received.streams = vec![
        StreamArrivals { start_ns: Some(0), ..StreamArrivals::default() },
        StreamArrivals { start_ns: Some(20_000_000), ..StreamArrivals::default() },
        StreamArrivals { delivered: 40, reached: 50, ..StreamArrivals::default() },
    ];
    let both = [transmit(), second];
    let (on_its_host, third) = ([StreamId(0), StreamId(1)], [StreamId(2)]);
    let real = LinkFacts { is_virtual: false, line_rate_pps: None, clocks: None };
    let sides = Sides {
        link: real,
        is_in_step: false,
        transmit: &both,
        on_its_host: &on_its_host,
        unreported: &[],
        receive: &receive,
    };
    let measured = super::join(&sides);
    assert_eq!((measured.trial.intended, measured.evidence.sent), (2000, 2000));
    assert_eq!((measured.sending, measured.trial.lateness), (Duration::from_secs(2), both[1].lateness));
    assert_eq!(measured.trial.counters["transmit.tx_packets"], 2 * 995);
    assert_eq!(measured.trial.counters["trace.transmit.drop.QDISC_DROP"], 6);
    assert_eq!(measured.trial.generator_facts, transmit().generator, "once");
    // 20 ms of 1002 ms.
    assert_eq!(measured.trial.disturbance.start_spread_ns, Some(20_000_000));
    assert!(measured.trial.disturbance.reasons().contains(&Noise::UnevenStart));
    let with_a_lost_one = super::join(&Sides { unreported: &third, ..sides });
    assert_eq!((with_a_lost_one.trial.intended, with_a_lost_one.evidence.sent), (2050, 2050), "at least");
    assert_eq!(with_a_lost_one.evidence.transmit_drops, None, "its interface's counters are unknown");
}

#[test]
fn without_a_tracer_on_both_sides_there_are_no_traced_losses() {
    let mut receive = receive();
    receive.interface.traced = None;
    receive.untraced = Some("no BTF".into());
    let evidence = join(VIRTUAL, &transmit(), &receive).evidence;
    assert_eq!((evidence.traced, evidence.untraced.as_deref()), (None, Some("no BTF")));
}

#[test]
fn the_load_of_several_generators_is_that_while_all_send() {
    let start = |start_ns| StreamArrivals { start_ns, ..StreamArrivals::default() };
    let half = |stream, seconds| TransmitHalf {
        stream: StreamId(stream),
        sending: Duration::from_secs(seconds),
        ..transmit()
    };
    // The second one sends as many frames in twice the time.
    let each = [half(0, 1), half(1, 2)];
    let at_once = [start(Some(0)), start(Some(500 * MS))];
    assert_eq!(offered_together(&each, &at_once), Some(1500.0));
    for streams in [[start(Some(0)), start(Some(1500 * MS))], [start(Some(0)), start(None)]] {
        assert_eq!(offered_together(&each, &streams), None, "{streams:?}");
    }
    assert_eq!(offered_together(&each[..1], &at_once), None);
}
