//! Watches one interface: differences of counters, sockets and drop reasons between two moments.

use std::path::Path;
use std::time::{Duration, Instant};

use capbench_sys::bpf::XdpAttachment;
use capbench_sys::host::clock;
use capbench_sys::host::ethtool::{self, Rings};
use capbench_sys::host::{InterfaceIndex, NetNamespace};

use capbench_host::accounts::softnet::{SoftnetDelta, SoftnetSnapshot, longest_backlog};
use capbench_host::drivers::{self, CounterDelta, NicSnapshot, taken_by_xdp};
use capbench_host::links::{Link, LinkDeltas, LinkStats, Links};
use capbench_host::tracer::{InterfaceTrace, Scope as Watched, Tracer};
use capbench_host::xdp::XdpProgram;
use capbench_host::{HostError, Result};

use crate::facts::Facts;
use crate::look::{Look, NicRing, SCHEMA_VERSION};
use crate::places::Lost;
use crate::places::veth_queue::Queue;
use crate::scheduling::Snapshot;
use crate::traced::{Traced, Tracing};
use crate::{advice, fidelity, places, sockets};

mod metered;

/// All values read at one moment.
#[derive(Debug, Clone)]
struct Moment {
    at: Instant,
    namespace: u64,
    link: Link,
    stats: LinkStats,
    nic: NicSnapshot,
    /// The traces since the watch began, or why there are none.
    traces: std::result::Result<Traces, String>,
    rings: Option<Rings>,
    softnet: SoftnetSnapshot,
    program: Option<XdpProgram>,
    max_backlog: Option<u64>,
    offloads: fidelity::Offloads,
    queues: Option<u32>,
    /// For a veth: frames that its peer could not pass on; the inner `None` means that the peer cannot be read.
    peer: Option<Option<u64>>,
}

impl Moment {
    /// Whether only the driver runs an XDP program: only then its counters have all that the program takes.
    fn has_program_in_driver(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.attached.mode == XdpAttachment::Driver)
    }
}

/// The tracer's counts before and after the counters of the link were read: the counts of a frame that arrives meanwhile can be
/// compared with those of the link.
#[derive(Debug, Clone)]
struct Traces {
    before: InterfaceTrace,
    after: InterfaceTrace,
}

/// Watches one interface of a network namespace.
#[derive(Debug)]
pub struct Watch {
    links: Links,
    index: InterfaceIndex,
    name: String,
    source: sockets::Source,
    tracer: std::result::Result<Tracer, String>,
    first: Moment,
    last: Moment,
    tally: sockets::Tally,
    /// The link's counts over all looks. If a counter went backwards in one look, its sum is unknown. Absent before the first
    /// look.
    counted: Option<LinkDeltas>,
    /// When to read the sockets next between looks.
    next_reading: Instant,
    metered: Option<metered::Metered>,
    threads: Threads,
}

/// Snapshots of the host's threads.
#[derive(Debug)]
struct Threads {
    first: Snapshot,
    before: Snapshot,
    last: Snapshot,
    /// Duration of the last one.
    cost: Duration,
}

impl Threads {
    /// Takes another snapshot if frames are lost. While nothing is, it rests after each: reading all threads takes longer than all
    /// counters. The look in which the first frames are lost needs the snapshot at its beginning.
    fn follow(&mut self, sockets: &sockets::Sockets, is_lossy: bool) {
        if is_lossy || self.last.age() > REST * self.cost {
            let begin = Instant::now();
            self.before = std::mem::replace(&mut self.last, Snapshot::take(sockets));
            self.cost = begin.elapsed();
        }
    }
}

/// Shortest time between two socket reads.
const READING: Duration = Duration::from_millis(100);

/// Pause after a read of the sockets or of all threads, as a multiple of its duration: this limits the CPU use to the inverse of it.
const REST: u32 = 30;

impl Watch {
    /// Begins to watch an interface of the calling thread's network namespace; later calls must also be made in that namespace.
    ///
    /// # Errors
    /// [`HostError::NoInterface`] if there is none of that name.
    pub fn new(interface: &str, tracing: Tracing) -> Result<Self> {
        Self::with_types(interface, tracing, Path::new(sockets::records::KERNEL_TYPES))
    }

    pub(crate) fn with_types(interface: &str, tracing: Tracing, types: &Path) -> Result<Self> {
        let links = Links::of_current_namespace()?;
        let link = links.by_name(interface)?;
        let namespace = NetNamespace::current()?.inode();
        let source = sockets::Source::new(types, namespace, link.index);
        let tracer = match tracing {
            Tracing::Wanted => {
                Tracer::start_on(types, &[Watched { interface: link.index, namespace }], false)
                    .map_err(|unavailable| unavailable.to_string())
            }
            Tracing::LeftOut => Err("it was left out (--no-trace)".into()),
        };
        let first = read(&links, link.index, &tracer, None)?;
        let last = first.clone();
        let now = source.read();
        let begin = Instant::now();
        let threads = Snapshot::take(&now);
        let cost = begin.elapsed();
        let threads = Threads { first: threads.clone(), before: threads.clone(), last: threads, cost };
        let tally = sockets::Tally::new(now);
        let (index, name, next_reading) = (link.index, interface.into(), Instant::now() + READING);
        Ok(Self {
            links,
            index,
            name,
            source,
            tracer,
            first,
            last,
            tally,
            counted: None,
            next_reading,
            metered: None,
            threads,
        })
    }

    /// Whether it reads maps of BPF programs.
    pub fn reads_maps(&self) -> bool {
        self.tracer.is_ok() || self.source.has_program()
    }

    /// Whether it traces why the kernel drops frames.
    pub fn traces(&self) -> bool {
        self.tracer.is_ok()
    }

    /// Whether it must look into processes: for their sockets, or because `/proc` hides their names.
    pub fn searches_processes(&self) -> bool {
        !self.source.has_program() || sockets::are_processes_hidden()
    }

    /// Time since the watch began.
    pub fn elapsed(&self) -> Duration {
        self.first.at.elapsed()
    }

    /// Reads the sockets if it is time to. Call it often between looks: frequent reads miss less of the counts that owners reset
    /// by their own reads. `watches` is how many watches share the CPU time for it.
    pub fn attend(&mut self, watches: usize) {
        self.attend_by(watches, |watch| watch.source.read());
    }

    /// The same, with a reading of all sockets that was just made.
    pub(crate) fn attend_to(&mut self, sockets: &sockets::Sockets, watches: usize) {
        self.attend_by(watches, |watch| watch.view(sockets));
    }

    fn attend_by(&mut self, watches: usize, read: impl FnOnce(&Self) -> sockets::Sockets) {
        let begin = Instant::now();
        if begin >= self.next_reading {
            self.tally.add(read(self));
            let share = u32::try_from(watches).unwrap_or(u32::MAX).max(1);
            self.next_reading = Instant::now() + READING.max(REST.saturating_mul(share) * begin.elapsed());
        }
    }

    /// All sockets as this interface sees them.
    fn view(&self, sockets: &sockets::Sockets) -> sockets::Sockets {
        sockets.seen_from(&self.name, self.last.namespace)
    }

    /// The interface that it watches.
    pub fn interface(&self) -> &str {
        &self.name
    }

    /// The results since the last look.
    ///
    /// # Errors
    /// If the interface has disappeared; the counts of its sockets until then are part of [`Self::overall`].
    pub fn look(&mut self) -> Result<Look> {
        self.look_by(|watch| watch.source.read())
    }

    /// The same, with a reading of all sockets that was just made.
    pub(crate) fn look_at(&mut self, sockets: &sockets::Sockets) -> Result<Look> {
        self.look_by(|watch| watch.view(sockets))
    }

    fn look_by(&mut self, read_sockets: impl FnOnce(&Self) -> sockets::Sockets) -> Result<Look> {
        let now = match read(&self.links, self.index, &self.tracer, self.last.program.as_ref()) {
            Ok(now) => now,
            Err(error) => return Err(self.gone().unwrap_or(error)),
        };
        let read = read_sockets(self);
        let refused = now.softnet.since(&self.first.softnet).iter().any(|cpu| cpu.dropped > 0);
        let is_lossy = refused || self.tally.has_lost();
        self.threads.follow(&read, is_lossy);
        self.tally.add(read);
        let sockets = self.tally.take();
        self.name.clone_from(&now.link.name);
        let before = std::mem::replace(&mut self.last, now);
        let stats = self.last.stats.each_since(&before.stats);
        self.counted = Some(self.counted.map_or(stats, |counted| counted.plus(&stats)));
        let scheduled = self.threads.last.since(&self.threads.before);
        let facts = Facts::of(&self.links, &self.last.link, scheduled);
        Ok(compare(&before, &self.last, Some(&stats), sockets, self.last.at - self.first.at, facts))
    }

    /// The error if the interface has disappeared.
    fn gone(&self) -> Option<HostError> {
        let Err(HostError::NoInterface { .. }) = self.links.by_index(self.index) else { return None };
        Some(HostError::Interface {
            interface: self.name.clone(),
            reason: format!(
                "has gone after {:.1} s: deleted, or moved to another namespace; `ip link` lists those that are there",
                self.elapsed().as_secs_f64()
            ),
        })
    }

    /// The results from the beginning to the last look. Before the first look no link count is known.
    pub fn overall(&self) -> Look {
        let sockets = self.tally.total().clone();
        let scheduled = self.threads.last.since(&self.threads.first);
        let facts = Facts::of(&self.links, &self.last.link, scheduled);
        compare(&self.first, &self.last, self.counted.as_ref(), sockets, self.last.at - self.first.at, facts)
    }
}

/// Attempts to read an interface that is renamed meanwhile.
const ATTEMPTS: u32 = 4;

/// Reads the driver's counters, by name, and the link with its statistics, by number: both of the same interface, even during a
/// rename.
fn read_counters(links: &Links, index: InterfaceIndex) -> Result<(NicSnapshot, Link)> {
    let mut named = links.by_index(index)?;
    for _ in 0..ATTEMPTS {
        // With many drivers, reading the driver's counters updates the link statistics.
        let nic = NicSnapshot::take(&named.name);
        let link = links.by_index(index)?;
        if link.name == named.name {
            return Ok((nic?, link));
        }
        named = link;
    }
    Err(HostError::Interface {
        interface: named.name,
        reason: "its name changes all the time; try again when nobody renames it".into(),
    })
}

/// The tracer's counts for the interface, the only one that it watches.
fn trace(tracer: &std::result::Result<Tracer, String>) -> std::result::Result<InterfaceTrace, String> {
    let tracer = tracer.as_ref().map_err(Clone::clone)?;
    let traces = tracer.snapshot().map_err(|error| error.to_string())?;
    traces.into_iter().next().ok_or_else(|| "the tracer watches no interface".into())
}

/// The tracer's counts now, next to those of a moment ago.
fn traces(
    before: std::result::Result<InterfaceTrace, String>,
    tracer: &std::result::Result<Tracer, String>,
) -> std::result::Result<Traces, String> {
    Ok(Traces { before: before?, after: trace(tracer)? })
}

/// The counters of a link.
fn counters_of(link: &Link) -> Result<LinkStats> {
    link.stats.ok_or_else(|| HostError::Interface {
        interface: link.name.clone(),
        reason: "the kernel reports none of its counters, so nothing is known about it".into(),
    })
}

/// For a veth: frames that its peer could not pass on; the inner `None` means that the peer cannot be read.
fn peer(links: &Links, link: &Link) -> Option<Option<u64>> {
    link.kind.as_deref().filter(|kind| *kind == "veth").and(link.tied_to).map(|tie| {
        let peer = links.tied(tie).ok()?;
        peer.stats.map(|stats| stats.tx_dropped)
    })
}

/// What changed between two moments, besides the link's counters and sockets.
struct Differences {
    softnet: Vec<SoftnetDelta>,
    nic: Vec<CounterDelta>,
    queue: Option<Queue>,
    traced: std::result::Result<Traced, String>,
}

impl Differences {
    fn between(before: &Moment, after: &Moment) -> Self {
        let nic = after.nic.since(&before.nic);
        let in_driver = after.has_program_in_driver();
        // GRO is not enough: frames of a peer that can segment bypass NAPI and go to a backlog, which counts its refusals here.
        let driver = after.nic.driver();
        let is_polled =
            |name: &str| driver.and_then(|driver| driver.row_of(name)).is_some_and(|row| row.polled);
        let queue = after.peer.map(|now| Queue {
            refused: now.zip(before.peer.flatten()).and_then(|(now, then)| now.checked_sub(then)),
            can_be_used: in_driver || after.offloads.gro == Some(true),
            polled: nic.iter().any(|delta| delta.count > 0 && is_polled(&delta.name)),
        });
        let traced = match (&before.traces, &after.traces) {
            (Ok(then), Ok(now)) => {
                Ok(Traced::new(&now.after.since(&then.after), &now.after.since(&then.before)))
            }
            (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
        };
        Self { softnet: after.softnet.since(&before.softnet), nic, queue, traced }
    }

    /// The losses of each place.
    fn losses(
        &self,
        after: &Moment,
        stats: &LinkDeltas,
        sockets: &sockets::Sockets,
        seconds: f64,
    ) -> Vec<Lost> {
        let counted = places::Counted {
            link: stats,
            driver: after.nic.driver(),
            nic: &self.nic,
            softnet: &self.softnet,
            sockets,
            queue: self.queue.as_ref(),
            traced: self.traced.as_ref().ok(),
            keeps_damaged: after.offloads.receive_all == Some(true),
        };
        places::losses(counted, after.program.as_ref(), seconds)
    }
}

/// `known` is the XDP program of an earlier read: the kernel shows program names only with CAP_SYS_ADMIN, which a watch has only at its
/// beginning.
fn read(
    links: &Links,
    index: InterfaceIndex,
    tracer: &std::result::Result<Tracer, String>,
    known: Option<&XdpProgram>,
) -> Result<Moment> {
    let before = trace(tracer);
    let (nic, link) = read_counters(links, index)?;
    let stats = counters_of(&link)?;
    let softnet = SoftnetSnapshot::read()?;
    let peer = peer(links, &link);
    let traces = traces(before, tracer);
    let program = XdpProgram::on(index, known).ok().flatten();
    Ok(Moment {
        at: Instant::now(),
        namespace: NetNamespace::current()?.inode(),
        stats,
        nic,
        traces,
        rings: ethtool::rings(&link.name).ok().flatten(),
        softnet,
        program,
        max_backlog: longest_backlog(),
        offloads: fidelity::Offloads::read(&link.name),
        queues: ethtool::receive_queues(&link.name).ok(),
        peer,
        link,
    })
}

/// `counted` is the link's difference between the two moments; absent if it was read only once.
fn compare(
    before: &Moment,
    after: &Moment,
    counted: Option<&LinkDeltas>,
    sockets: sockets::Sockets,
    time: Duration,
    facts: Facts,
) -> Look {
    let stats = counted.copied().unwrap_or_default();
    let differences = Differences::between(before, after);
    let seconds = (after.at - before.at).as_secs_f64().max(1e-3);
    let lost = differences.losses(after, &stats, &sockets, seconds);
    let Differences { softnet, nic, traced, queue } = differences;
    let mut look = Look {
        schema_version: SCHEMA_VERSION,
        unix_ns: clock::realtime_ns(),
        monotonic_ns: clock::monotonic_ns(),
        interface: after.link.name.clone(),
        namespace: after.namespace,
        time_s: time.as_secs_f64(),
        seconds,
        up: after.link.up,
        carrier: after.link.carrier,
        received: stats.rx_packets,
        received_per_s: stats.rx_packets.map(|packets| packets as f64 / seconds),
        octets: stats.rx_bytes,
        max_backlog: after.max_backlog,
        xdp: after.program.as_ref().map(XdpProgram::to_string),
        xdp_taken: taken_by_xdp(after.nic.driver(), &nic).filter(|_| after.has_program_in_driver()),
        facts: Facts {
            mtu: after.link.mtu,
            refused_by_peer: queue.and_then(|queue| queue.refused),
            program: after.program.clone(),
            ..facts
        },
        lost,
        traced: traced.as_ref().ok().cloned(),
        driver: after.nic.driver_name().map(Into::into),
        driver_counters: drivers::raw(after.nic.driver(), &nic),
        receive_queues: after.queues,
        promiscuous: after.link.promiscuity.map(|uses| uses > 0),
        nic_ring: after.rings.map(|rings| NicRing {
            descriptors: rings.receive_descriptors,
            most: rings.most_receive_descriptors,
        }),
        sockets,
        softnet: softnet.into_iter().filter(|cpu| cpu.processed + cpu.dropped > 0).collect(),
        ..Look::default()
    };
    look.notes = fidelity::notes(&look, after.offloads, &after.link);
    look.notes.extend(places::no_loss::notes(&stats, traced.as_ref().ok()));
    match &traced {
        Err(reason) => look.notes.push(format!("why the kernel drops frames is not traced: {reason}")),
        Ok(traced) if traced.missed > 0 => look.notes.push(format!(
            "the tracer missed {} events of the host: there may be more drops than it counts",
            traced.missed
        )),
        Ok(_) => {}
    }
    let back = counted.map(LinkDeltas::went_back).unwrap_or_default();
    if !back.is_empty() {
        look.notes.push(format!(
            "{} went back, as after a reset of the driver: what they counted meanwhile is unknown",
            back.join(", ")
        ));
    }
    look.advice = advice::advise(&look);
    look.verdict = advice::verdict(&look);
    look
}
