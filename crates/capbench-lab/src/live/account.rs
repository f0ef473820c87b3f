//! Combines the counts around a trial: evidence for the ledger, the CPU account, and reasons for care.

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_model::direction::Direction;
use capbench_model::options::CaptureOptions;
use capbench_sys::host::CpuId;
use capbench_traffic::SendReport;

use super::disturbance::wakeups;
use super::far_end;
use crate::Result;
use crate::receiver::{Outcome, Received};
use capbench_host::accounts::clocks::ClockSnapshot;
use capbench_host::accounts::cpu::CpuWindow;
use capbench_host::accounts::irqtime::IrqAccounting;
use capbench_host::accounts::kernel_work::{KernelReceive, KernelWorkSnapshot, application_time, foreign_ns};
use capbench_host::accounts::softnet::{SoftnetDelta, SoftnetSnapshot, kernel_cpu_bounds};
use capbench_host::bed::{Bed, Placement, Side};
use capbench_host::drivers::NicSnapshot;
use capbench_host::links::{Link, LinkStats, XdpAttachment};
use capbench_host::tracer::cost::TracerCost;
use capbench_host::tracer::losses;
use capbench_host::tracer::{InterfaceTrace, Tracer};
use capbench_model::evidence::{Evidence, PeerQueue};
use capbench_model::traced_losses::TracedLosses;
use capbench_model::trial::{CpuAccount, Departed, Measured};

use super::nic::{self, Circumstances, NicReport};

/// Below this share on the chosen CPU, the kernel's receive work did not follow the placement.
const PLACED: f64 = 0.9;

/// Share of a CPU's busy time that foreign work may take without spoiling the CPU's account.
const FOREIGN: f64 = 0.05;

/// Counters read at one moment.
pub(super) struct Snapshot {
    transmit: Link,
    receive: Link,
    transmit_nic: NicSnapshot,
    receive_nic: NicSnapshot,
    softnet: SoftnetSnapshot,
    pub(super) clocks: ClockSnapshot,
    /// Transmitting and receiving side; absent without a tracer.
    traced: Option<Vec<InterfaceTrace>>,
}

impl Snapshot {
    pub(super) fn take(bed: &Bed, tracer: Option<&Tracer>) -> Result<Self> {
        let (transmit_nic, receive_nic) = (nic::look(bed.transmit_side())?, nic::look(bed.receive_side())?);
        let look = |side: &Side| side.links().by_index(side.index());
        let (transmit, receive) = (look(bed.transmit_side())?, look(bed.receive_side())?);
        let traced = tracer.map(Tracer::snapshot).transpose()?;
        let (softnet, clocks) = (SoftnetSnapshot::read()?, ClockSnapshot::read());
        Ok(Self { transmit, receive, transmit_nic, receive_nic, softnet, clocks, traced })
    }

    /// How long the drivers need until their counters are up to date.
    pub(super) fn settling(&self) -> Duration {
        nic::settling(&self.transmit_nic).max(nic::settling(&self.receive_nic))
    }
}

/// All counts around one trial.
pub(super) struct Account<'t> {
    pub(super) bed: &'t Bed,
    pub(super) placement: &'t Placement,
    pub(super) capture: &'t CaptureOptions,
    pub(super) transmit: &'t str,
    /// Whether frames reach the method without passing a backlog.
    pub(super) past_backlog: bool,
    /// Whether the method attaches its own XDP program while it is open.
    pub(super) own_xdp: bool,
    pub(super) irq: IrqAccounting,
    /// Why there is no tracer, if there is none.
    pub(super) untraced: Option<&'t str>,
    pub(super) tracer: Option<&'t Tracer>,
    /// The measured cost of the tracer.
    pub(super) tracer_cost: Option<TracerCost>,
    pub(super) before: Snapshot,
    /// CPU time of the generator's thread while it sent.
    pub(super) generator_ns: u64,
    /// Highest frame rate of the link in frames per second.
    pub(super) line_rate_pps: Option<f64>,
    /// When the generator's frames had left.
    pub(super) departed: Option<Departed>,
    /// When the first frame was due, in nanoseconds of CLOCK_MONOTONIC.
    pub(super) began_ns: u64,
    /// When both sides were ready.
    pub(super) start: KernelWorkSnapshot,
    /// When the generator had stopped.
    pub(super) sending_over: KernelWorkSnapshot,
    pub(super) after: Snapshot,
}

impl Account<'_> {
    /// The measurements of the trial.
    pub(super) fn join(&self, sent: &SendReport, outcome: &Outcome) -> Result<Measured> {
        let received = &outcome.received;
        let transmit = link_delta(self.before.transmit.stats, self.after.transmit.stats);
        let receive = link_delta(self.before.receive.stats, self.after.receive.stats);
        let softnet = self.after.softnet.since(&self.before.softnet);
        let backlog_cpus: Vec<_> =
            softnet.iter().filter(|cpu| cpu.dropped > 0).map(|cpu| (cpu.cpu, cpu.dropped)).collect();
        let backlog = backlog_cpus.iter().map(|(_, dropped)| dropped).sum();
        let nic = NicReport::new(&self.before.receive_nic, self.after.receive_nic.clone(), receive, backlog);
        let (transmit_raw, transmit_notes) =
            nic::transmit(&self.before.transmit_nic, &self.after.transmit_nic);
        let window = self.sending_over.cpus_since(&self.start);
        let share =
            kernel_cpu_bounds(&self.before.softnet, &self.after.softnet, self.placement.kernel, sent.sent)
                .map(|bounds| *bounds.start());
        let mut noise = self.noise(share, sent, received);
        noise.extend(nic.notes().into_iter().chain(transmit_notes));
        let cpu = self.cpu(&window, outcome, &mut noise)?;
        let mut counters = counters(transmit, receive, &softnet, sent, received);
        counters.extend(kernel_counters(received.kernel.since(&self.start)?.as_ref()));
        counters.extend(self.traced().into_iter().flat_map(|traced| traced.counters));
        counters.extend(nic.raw().into_iter().map(|(name, count)| (format!("nic.{name}"), count)));
        let transmit_raw = transmit_raw.into_iter();
        counters.extend(transmit_raw.map(|(name, count)| (format!("nic.transmit.{name}"), count)));
        Ok(Measured {
            intended: sent.intended,
            evidence: Evidence {
                backlog_drops: Some(backlog),
                backlog_cpus,
                ..self.evidence(sent, received, transmit, receive, &nic)
            },
            arrivals: received.arrivals,
            sending: sent.elapsed,
            drain: received.drain,
            emptying: received.emptying,
            cpu,
            lateness: sent.lateness.summary(),
            capture: Some(received.capture.clone()),
            unverified_because: received.unverified_because.clone(),
            report: received.report,
            kernel_work_share: share,
            noise,
            disturbance: self.disturbance(&window, sent, received)?,
            line_rate_pps: self.line_rate_pps,
            departed: self.departed.filter(|_| self.line_rate_pps.is_some()),
            counters,
            ..Measured::default()
        })
    }

    fn evidence(
        &self,
        sent: &SendReport,
        received: &Received,
        transmit: Option<LinkStats>,
        receive: Option<LinkStats>,
        nic: &NicReport,
    ) -> Evidence {
        let seen = received.arrivals.read + received.counters.dropped().unwrap_or(0);
        let gone_between = transmit
            .zip(receive)
            .filter(|_| !self.bed.is_virtual())
            .and_then(|(tx, rx)| nic::gone_between(sent.sent, tx.tx_packets, rx.rx_packets, seen));
        let circumstances = Circumstances {
            foreign: received.arrivals.foreign,
            method: &received.counters,
            foreign_program: !self.own_xdp
                && is_native(&self.before.receive)
                && is_native(&self.after.receive),
            gone_between,
            failed_redirects: self.traced().map_or(0, |traced| traced.failed_redirects),
        };
        Evidence {
            sent: sent.sent,
            unsent: sent.unsent,
            repeated: sent.refused_repeated,
            refused: sent.refused_lost,
            transmit_drops: transmit.map(|stats| stats.tx_dropped + stats.tx_errors),
            link_drops: None,
            nic: nic.evidence(&circumstances),
            receive_drops: receive.as_ref().map(|stats| stats.rx_dropped),
            driver_receive_drops: nic.in_receive_drops,
            virtual_pair: self.bed.is_virtual(),
            peer_queue: self.peer_queue(),
            past_backlog: self.past_backlog,
            xdp_attached: self.after.receive.xdp.map(|xdp| xdp != XdpAttachment::Detached && !self.own_xdp),
            traced: self.traced(),
            untraced: self.untraced.map(String::from),
            filter_drops: received.filtered
                && (self.capture.filter.is_some() || self.capture.direction == Direction::Out),
            received: receive.as_ref().map(|stats| stats.rx_packets),
            method: received.counters.clone(),
            queue: received.queue,
            read: received.arrivals.read,
            delivered: received.arrivals.delivered,
            truncated: received.arrivals.truncated,
            corrupt: received.arrivals.corrupt,
            cut_short: received.cut_short,
            unverified: received.unverified_because.clone(),
            ..Evidence::default()
        }
    }

    /// A veth polls by NAPI for XDP programs in the driver, for threads, and for senders of XDP frames.
    fn peer_queue(&self) -> PeerQueue {
        if far_end::is_queued(self.transmit) {
            PeerQueue::OfFrames
        } else if self.past_backlog || is_native(&self.before.receive) || is_native(&self.after.receive) {
            PeerQueue::OfBuffers
        } else {
            PeerQueue::None
        }
    }

    /// Losses that the tracer saw on both sides.
    fn traced(&self) -> Option<TracedLosses> {
        let (before, after) = (self.before.traced.as_ref()?, self.after.traced.as_ref()?);
        let window = |side: usize| Some(after.get(side)?.since(before.get(side)?));
        let is_generic = self.after.receive.xdp == Some(XdpAttachment::Generic);
        Some(losses::by_place(&window(0)?, &window(1)?, is_generic))
    }

    /// Time of the tracer's own programs.
    fn tracer_ns(&self, kernel: Option<&KernelReceive>) -> Option<u64> {
        let (cost, softirqs) = (self.tracer_cost?, kernel?.traced?.runs);
        Some(cost.of(self.traced()?.drops, softirqs))
    }

    pub(super) fn cpus(&self) -> [CpuId; 3] {
        [self.placement.generator, self.placement.kernel, self.placement.application]
    }

    fn noise(&self, share: Option<f64>, sent: &SendReport, received: &Received) -> Vec<String> {
        let mut noise = Vec::new();
        if share.is_some_and(|share| share < PLACED) {
            noise.push(
                "another CPU than the placement's received packets, of this trial or of the host".to_string(),
            );
        }
        noise.extend(received.notes.iter().cloned());
        if sent.in_flight > 0 {
            noise.push("frames were left in the transmit ring at its end".to_string());
        }
        noise
    }

    /// Whether foreign work kept the application's CPU busy, on which the kernel also receives.
    fn is_foreign(&self, received: &Received, kernel: Option<&KernelReceive>, busy_ns: u64) -> bool {
        let times = received.kernel.cpus_since(&self.start).of(self.placement.application);
        let (Some(times), Some(kernel)) = (times, kernel) else { return false };
        let own_ns = received.cpu_ns + kernel.napi_threads_ns + 2 * kernel.resolution_ns;
        let window_ns = received.kernel.monotonic_ns().saturating_sub(self.start.monotonic_ns());
        foreign_ns(&times, window_ns, own_ns, wakeups(received), Some(kernel)) as f64
            > busy_ns as f64 * FOREIGN
    }

    fn cpu(&self, window: &CpuWindow, outcome: &Outcome, noise: &mut Vec<String>) -> Result<CpuAccount> {
        let received = &outcome.received;
        let kernel = received.kernel.since(&self.start)?;
        if kernel.and_then(|kernel| kernel.unseen_runs()).is_some() {
            // Without numbers, so that equal texts of several trials can be grouped: the counters have the numbers.
            noise.push(
                "the kernel kept some receive softirqs of its CPU from the tracer (kernel.softirqs_net_rx less \
                 kernel.net_rx_runs), so that the kernel's time is too low, and drops in them were not seen"
                    .into(),
            );
        }
        let is_shared = self.placement.kernel == self.placement.application;
        let own = application_time(
            received.cpu_ns,
            kernel.as_ref().filter(|_| is_shared),
            self.irq.excluded_from_threads,
        );
        if own.is_none() {
            noise.push(
                "its application time includes receive work of the kernel, which cannot be told apart here"
                    .into(),
            );
        }
        // The generator's CPU is always busy: if it also does the kernel's work, only the kind of work distinguishes the two.
        let mut is_foreign = false;
        let total_ns = if is_shared && self.placement.kernel != self.placement.generator {
            let busy_ns = received.kernel.busy_ns_since(&self.start);
            is_foreign = self.is_foreign(received, kernel.as_ref(), busy_ns.unwrap_or_default());
            if is_foreign {
                noise.push("other work than the trial's kept its CPU busy, so its cost is unknown".into());
            }
            busy_ns.filter(|_| !is_foreign)
        } else {
            kernel.as_ref().map(|kernel| received.cpu_ns + kernel.total_ns())
        };
        // Independent of tick sampling: every frame was verified unless a queue refused it.
        let unverified = received.queue.map_or(0, |queue| queue.refused + queue.left);
        let verified_ns =
            (received.arrivals.read.saturating_sub(unverified) as f64 * outcome.verify_ns) as u64;
        let own_ns = own.map_or(received.cpu_ns, |time| time.own_ns.max(verified_ns.min(time.charged_ns)));
        // A method that counts in the kernel does no work per packet: its thread reads a map from time to time.
        let per_packet = !(received.unverified_because.is_some() && outcome.verify_ns > 0.0);
        Ok(CpuAccount {
            app_ns: per_packet.then_some(own_ns),
            app_charged_ns: per_packet.then_some(received.cpu_ns),
            total_ns,
            // Softirqs also interrupt other work; the application was not charged for that part.
            split_is_sampled: is_foreign || !own.is_some_and(|time| time.exact),
            kernel_ns: kernel.as_ref().map(|kernel| kernel.total_ns()),
            kernel_source: kernel.as_ref().map(KernelReceive::source).unwrap_or_default(),
            // The certain part of both together on a shared CPU comes in ticks, traced or not.
            kernel_resolution_ns: kernel.as_ref().map(|kernel| match is_shared {
                true => kernel.resolution_ns,
                false => kernel.total_resolution_ns(),
            }),
            tracer_ns: self.tracer_ns(kernel.as_ref()),
            busy_cores: window.busy_cores(),
            verify_ns_per_packet: outcome.verify_ns,
            wait_ns_per_iteration: outcome.iteration_ns,
            voluntary_switches: received.switches.and_then(|times| times.voluntary_switches),
            involuntary_switches: received.switches.and_then(|times| times.involuntary_switches),
            waits: received.waits.waits,
            empty_waits: received.waits.empty,
            batches: received.batches,
            steal_ratio: window.largest_steal_share(&self.cpus()),
            ..CpuAccount::default()
        })
    }
}

/// Whether an XDP program is attached to the driver.
fn is_native(link: &Link) -> bool {
    link.xdp == Some(XdpAttachment::Driver)
}

fn link_delta(before: Option<LinkStats>, after: Option<LinkStats>) -> Option<LinkStats> {
    after?.since(&before?)
}

/// The counter differences behind the account, by name, so that readers can check it.
fn counters(
    transmit: Option<LinkStats>,
    receive: Option<LinkStats>,
    softnet: &[SoftnetDelta],
    sent: &SendReport,
    received: &Received,
) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::new();
    let mut put = |name: String, value: Option<u64>| {
        if let Some(value) = value {
            counters.insert(name, value);
        }
    };
    for (side, stats) in [("transmit", transmit), ("receive", receive)] {
        let Some(stats) = stats else { continue };
        for (name, value) in [
            ("tx_packets", stats.tx_packets),
            ("tx_dropped", stats.tx_dropped),
            ("tx_errors", stats.tx_errors),
            ("rx_packets", stats.rx_packets),
            ("rx_dropped", stats.rx_dropped),
            ("rx_errors", stats.rx_errors),
            ("rx_missed_errors", stats.rx_missed_errors),
            ("rx_nohandler", stats.rx_nohandler),
        ] {
            put(format!("{side}.{name}"), Some(value));
        }
    }
    for cpu in softnet.iter().filter(|cpu| cpu.processed + cpu.dropped > 0) {
        put(format!("softnet.cpu{}.processed", cpu.cpu), Some(cpu.processed));
        put(format!("softnet.cpu{}.dropped", cpu.cpu), Some(cpu.dropped));
        put(format!("softnet.cpu{}.time_squeeze", cpu.cpu), Some(cpu.time_squeeze));
        put(format!("softnet.cpu{}.received_rps", cpu.cpu), cpu.received_rps);
    }
    put("generator.accepted".into(), Some(sent.accepted));
    put("generator.refused_lost".into(), Some(sent.refused_lost));
    put("generator.refused_repeated".into(), Some(sent.refused_repeated));
    put("generator.in_flight".into(), Some(sent.in_flight));
    put("method.accepted".into(), received.counters.accepted);
    put("method.dropped".into(), received.counters.dropped());
    for (name, value) in &received.counters.raw {
        put(format!("method.{name}"), Some(*value));
    }
    put("method.read".into(), Some(received.arrivals.read));
    counters
}

/// The sources of the kernel's CPU time.
fn kernel_counters(kernel: Option<&KernelReceive>) -> BTreeMap<String, u64> {
    let Some(kernel) = kernel else { return BTreeMap::new() };
    let traced = kernel.traced.into_iter().flat_map(|net_rx| {
        [
            ("net_rx_ns", net_rx.total_ns),
            ("net_rx_in_processes_ns", net_rx.in_processes_ns),
            ("net_rx_runs", net_rx.runs),
        ]
    });
    [
        ("softirq_ns", kernel.softirq_ns),
        ("irq_ns", kernel.irq_ns),
        ("napi_threads_ns", kernel.napi_threads_ns),
    ]
    .into_iter()
    .chain(traced)
    .chain(kernel.net_rx_runs.map(|runs| ("softirqs_net_rx", runs)))
    .map(|(name, ns)| (format!("kernel.{name}"), ns))
    .collect()
}
