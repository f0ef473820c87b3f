//! Joins the halves of a trial's account: evidence for the ledger, the CPU account, and reasons for care. It reads nothing of
//! the host.

mod clocks;
mod cpu;
mod disturbance;
#[cfg(test)]
mod tests;
mod together;

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_frames::stamp::StreamId;
use capbench_host::accounts::kernel_work::KernelReceive;
use capbench_host::accounts::softnet::kernel_cpu_bounds;
use capbench_host::links::{LinkStats, PauseCounts, XdpAttachment};
use capbench_host::tracer::losses;
use capbench_model::arrivals::StreamArrivals;
use capbench_model::evidence::cards::{Between, DriverFrames};
use capbench_model::evidence::{Evidence, PeerQueue};
use capbench_model::noise::{Noise, NoiseOfTrial};
use capbench_model::sources::BacklogOfCpu;
use capbench_model::thresholds::PLACED_RECEIVE_WORK;
use capbench_model::traced_losses::TracedLosses;
use capbench_model::trial::{Measured, TrialResult};

use super::halves::{ReceiveHalf, TransmitHalf};
use super::interface_counts::InterfaceCounts;
pub(super) use together::departed as departed_together;
use together::together;

/// The clocks of ends in two processes, which may be on two hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeparateClocks {
    /// Error of one-way times that the user accepts; `None`: a tenth of the median.
    pub accepted_error: Option<Duration>,
}

/// The link between the sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkFacts {
    /// Whether the sides are the two ends of a veth pair.
    pub(super) is_virtual: bool,
    /// Highest frame rate in frames per second; `None` if it has no speed.
    pub(super) line_rate_pps: Option<f64>,
    /// The clocks of its ends; `None`: one clock.
    pub(super) clocks: Option<SeparateClocks>,
}

/// What the sides of a trial reported.
#[derive(Clone, Copy)]
pub(super) struct Sides<'h> {
    pub(super) link: LinkFacts,
    /// Whether the load is in step with the timer tick ([`capbench_model::trial::Load::is_in_step_with_a_tick`]).
    pub(super) is_in_step: bool,
    /// The halves of the generators that reported: one or more.
    pub(super) transmit: &'h [TransmitHalf],
    /// First streams of the generators that run on the receiver's host.
    pub(super) on_its_host: &'h [StreamId],
    /// All streams whose generators ended while they sent.
    pub(super) unreported: &'h [StreamId],
    pub(super) receive: &'h ReceiveHalf,
}

/// The measurements of a trial.
pub(super) fn join(sides: &Sides<'_>) -> Measured {
    let Sides { link, receive, .. } = *sides;
    let transmit = transmitted(sides);
    let traced = traced(&transmit, receive);
    let halves = Halves {
        link,
        is_in_step: sides.is_in_step,
        each: sides.transmit,
        on_its_host: sides.on_its_host,
        transmit,
        receive,
        traced,
    };
    halves.measured()
}

/// All generators as one. What those that did not report sent at least is known by their frames that came; nothing else of them.
fn transmitted(sides: &Sides<'_>) -> TransmitHalf {
    let all = together(sides.transmit, |half| sides.on_its_host.contains(&half.stream));
    let arrivals = |stream: &StreamId| sides.receive.received.streams.get(usize::from(stream.0));
    let unreported = sides.unreported.iter().filter_map(arrivals);
    let unknown = |all: TransmitHalf, arrivals: &StreamArrivals| TransmitHalf {
        frames: together::with_unreported(all.frames, arrivals),
        interface: InterfaceCounts::default(),
        departed: None,
        ..all
    };
    unreported.fold(all, unknown)
}

/// The load while all of several generators sent, in frames per second. `None` if at no moment all did, or that is unknown.
fn offered_together(each: &[TransmitHalf], streams: &[StreamArrivals]) -> Option<f64> {
    let [_, _, ..] = each else { return None };
    let (mut last_start_s, mut first_end_s, mut together) = (0.0_f64, f64::INFINITY, 0.0);
    for half in each {
        let start_s = streams.get(usize::from(half.stream.0))?.start_ns? as f64 / 1e9;
        let sending_s = half.sending.as_secs_f64().max(1e-9);
        last_start_s = last_start_s.max(start_s);
        first_end_s = first_end_s.min(start_s + sending_s);
        together += half.frames.sent as f64 / sending_s;
    }
    (last_start_s < first_end_s).then_some(together)
}

/// Losses that the tracer saw on both sides.
fn traced(transmit: &TransmitHalf, receive: &ReceiveHalf) -> Option<TracedLosses> {
    let counts = &receive.interface;
    let is_generic = counts.xdp_after == Some(XdpAttachment::Generic);
    Some(losses::by_place(transmit.interface.traced.as_ref()?, counts.traced.as_ref()?, is_generic))
}

/// Both halves of an account.
struct Halves<'h> {
    link: LinkFacts,
    is_in_step: bool,
    /// Of each generator.
    each: &'h [TransmitHalf],
    /// First streams of those on the receiver's host.
    on_its_host: &'h [StreamId],
    /// Of all generators together.
    transmit: TransmitHalf,
    receive: &'h ReceiveHalf,
    traced: Option<TracedLosses>,
}

impl Halves<'_> {
    fn measured(&self) -> Measured {
        let Self { transmit, receive, .. } = self;
        let received = &receive.received;
        let share =
            kernel_cpu_bounds(&receive.softnet, &receive.cpus.placement.kernels, transmit.frames.sent)
                .map(|bounds| *bounds.start());
        let mut noise = self.noise(share);
        let cpu = self.cpu(&mut noise);
        let clocks = self.clocks();
        Measured {
            evidence: self.evidence(),
            arrivals: received.arrivals,
            sending: transmit.sending,
            offered_pps: offered_together(self.each, &received.streams),
            drain: received.drain,
            trial: TrialResult {
                intended: transmit.frames.intended,
                members: received.members.clone(),
                flow_sharing: received.flow_sharing,
                emptying: received.emptying,
                cpu,
                lateness: transmit.lateness,
                capture: Some(received.capture.clone()),
                unverified_because: received.unverified_because.clone(),
                report: received.report,
                generator_facts: transmit.generator.clone(),
                kernel_work_share: share,
                loss_pattern: match &receive.loss_patterns[..] {
                    [only] => Some(only.clone()),
                    _ => None,
                },
                latency: clocks.latency,
                clock_class: clocks.class,
                clock_error_ns: clocks.error_ns,
                noise: NoiseOfTrial::new(noise),
                disturbance: self.disturbance(),
                line_rate_pps: self.link.line_rate_pps,
                departed: transmit.departed.filter(|_| self.link.line_rate_pps.is_some()),
                counters: self.counters(),
                ..TrialResult::default()
            },
        }
    }

    fn evidence(&self) -> Evidence {
        let Self { transmit, receive, .. } = self;
        let (received, frames) = (&receive.received, &transmit.frames);
        let stats = receive.interface.stats;
        let mut backlog_cpus = Vec::new();
        for cpu in &receive.softnet {
            if cpu.dropped > 0 {
                backlog_cpus.push(BacklogOfCpu { cpu: cpu.cpu, dropped: cpu.dropped });
            }
        }
        Evidence {
            sent: frames.sent,
            unsent: frames.unsent,
            repeated: frames.refused_repeated,
            refused: frames.refused_lost,
            transmit_drops: transmit.interface.stats.map(|stats| stats.tx_dropped + stats.tx_errors),
            link_drops: None,
            nic: receive.nic.evidence(self.between()),
            backlog_drops: Some(backlog_cpus.iter().map(|cpu| cpu.dropped).sum()),
            backlog_cpus,
            receive_drops: stats.map(|stats| stats.rx_dropped),
            driver_receive_drops: receive.nic.in_receive_drops,
            virtual_pair: self.link.is_virtual,
            peer_queue: self.peer_queue(),
            peer_queues: receive.queues,
            past_backlog: receive.past_backlog,
            xdp_attached: (receive.interface.xdp_after)
                .map(|xdp| xdp != XdpAttachment::Detached && !receive.own_xdp),
            traced: self.traced.clone(),
            untraced: receive.untraced.clone(),
            filter_drops: receive.filters,
            received: stats.map(|stats| stats.rx_packets),
            method: received.counters.clone(),
            queue: received.queue,
            read: received.arrivals.read,
            delivered: received.arrivals.delivered,
            truncated: received.arrivals.truncated,
            corrupt: received.arrivals.corrupt,
            cut_short: received.cut_short,
            unread: received.unread.clone(),
            unverified: received.unverified_because.clone(),
        }
    }

    /// The frame counts of the drivers at both ends. `None` on a veth pair.
    fn between(&self) -> Option<Between> {
        if self.link.is_virtual {
            return None;
        }
        let received = &self.receive.received;
        let stats = self.transmit.interface.stats.zip(self.receive.interface.stats);
        let frames = stats.map(|(sending, receiving)| DriverFrames {
            sent: self.transmit.frames.sent,
            transmitted: sending.tx_packets,
            received: receiving.rx_packets,
            seen: received.arrivals.read + received.counters.dropped().unwrap_or(0),
        });
        Some(Between { frames, counts_each: self.transmit.counts_each_frame })
    }

    /// A veth polls by NAPI for XDP programs in the driver, for threads, and for senders of XDP frames.
    fn peer_queue(&self) -> PeerQueue {
        if self.transmit.needs_far_napi {
            PeerQueue::OfFrames
        } else if self.receive.past_backlog || self.receive.interface.had_native_xdp() {
            PeerQueue::OfBuffers
        } else {
            PeerQueue::None
        }
    }

    fn noise(&self, share: Option<f64>) -> Vec<Noise> {
        let mut noise = Vec::new();
        if share.is_some_and(|share| share < PLACED_RECEIVE_WORK) {
            noise.push(Noise::KernelElsewhere);
        }
        noise.extend(self.receive.received.notes.iter().cloned());
        if self.transmit.frames.in_flight > 0 {
            noise.push(Noise::LeftInTransmitRing);
        }
        noise.extend(self.receive.nic.notes.iter().chain(&self.transmit.notes).cloned());
        noise
    }

    /// The counter differences behind the account, by name, so that readers can check it.
    fn counters(&self) -> BTreeMap<String, u64> {
        let Self { transmit, receive, .. } = self;
        let (frames, received) = (&transmit.frames, &receive.received);
        let softnet = receive.softnet.iter().filter(|cpu| cpu.processed + cpu.dropped > 0);
        let of_cpus = softnet.flat_map(|cpu| {
            [
                ("processed", Some(cpu.processed)),
                ("dropped", Some(cpu.dropped)),
                ("time_squeeze", Some(cpu.time_squeeze)),
                ("received_rps", cpu.received_rps),
            ]
            .map(|(name, count)| (format!("softnet.cpu{}.{name}", cpu.cpu), count))
        });
        let known = [
            ("generator.accepted", Some(frames.accepted)),
            ("generator.refused_lost", Some(frames.refused_lost)),
            ("generator.refused_repeated", Some(frames.refused_repeated)),
            ("generator.in_flight", Some(frames.in_flight)),
            ("method.accepted", received.counters.accepted),
            ("method.dropped", received.counters.dropped()),
        ]
        .map(|(name, count)| (name.to_string(), count));
        let of_drivers = [("nic", &receive.nic.counters), ("nic.transmit", &transmit.driver_counters)];
        let mut counters: BTreeMap<String, u64> = of_cpus
            .chain(known)
            .filter_map(|(name, count)| Some((name, count?)))
            .chain(received.counters.raw.iter().map(|(name, count)| (format!("method.{name}"), *count)))
            .chain(of_link("transmit", transmit.interface.stats))
            .chain(of_link("receive", receive.interface.stats))
            .chain(of_pause("transmit", transmit.interface.pause))
            .chain(of_pause("receive", receive.interface.pause))
            .chain([("method.read".to_string(), received.arrivals.read)])
            .chain(of_kernel(receive.cpus.kernel.as_ref()))
            .collect();
        counters.extend(self.traced.iter().flat_map(|traced| traced.counters.clone()));
        for (prefix, of_driver) in of_drivers {
            counters.extend(of_driver.iter().map(|(name, count)| (format!("{prefix}.{name}"), *count)));
        }
        counters
    }
}

/// The link statistics of a side.
fn of_link(side: &str, stats: Option<LinkStats>) -> impl Iterator<Item = (String, u64)> {
    stats.into_iter().flat_map(move |stats| {
        [
            ("tx_packets", stats.tx_packets),
            ("tx_dropped", stats.tx_dropped),
            ("tx_errors", stats.tx_errors),
            ("rx_packets", stats.rx_packets),
            ("rx_dropped", stats.rx_dropped),
            ("rx_errors", stats.rx_errors),
            ("rx_missed_errors", stats.rx_missed_errors),
            ("rx_nohandler", stats.rx_nohandler),
        ]
        .map(|(name, count)| (format!("{side}.{name}"), count))
    })
}

/// The pause frames of a side.
fn of_pause(side: &str, pause: Option<PauseCounts>) -> impl Iterator<Item = (String, u64)> {
    pause.into_iter().flat_map(move |PauseCounts { sent, received }| {
        [("pause_sent", sent), ("pause_received", received)]
            .map(|(name, count)| (format!("{side}.{name}"), count))
    })
}

/// The sources of the kernel's CPU time.
fn of_kernel(kernel: Option<&KernelReceive>) -> impl Iterator<Item = (String, u64)> {
    kernel.into_iter().flat_map(|kernel| {
        let traced = kernel.traced;
        [
            ("softirq_ns", Some(kernel.softirq_ns)),
            ("irq_ns", Some(kernel.irq_ns)),
            ("napi_threads_ns", Some(kernel.napi_threads_ns)),
            ("net_rx_ns", traced.map(|net_rx| net_rx.total_ns)),
            ("net_rx_in_processes_ns", traced.map(|net_rx| net_rx.in_processes_ns)),
            ("net_rx_runs", traced.map(|net_rx| net_rx.runs)),
            ("softirqs_net_rx", kernel.net_rx_runs),
        ]
        .into_iter()
        .filter_map(|(name, count)| Some((format!("kernel.{name}"), count?)))
    })
}
