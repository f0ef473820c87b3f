//! Counts the flows of an interface with several worker threads, and prints what became of every frame.
//!
//! ```text
//! cargo run --release -p capbench-record --example flows -- eth0 --workers 4 --seconds 10
//! ```
//!
//! One thread takes batches from the interface. The workers read frames in place, by etherparse. The last one to drop a
//! batch returns its memory. Each worker has its own table. At the end the tables are merged.

use std::collections::HashMap;
use std::error::Error;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use capbench_capture::{Batch, Capture, Interface, OwnedBatch, Visitor, open_with};
use capbench_model::counters::Counters;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_record::worker_pool::{Job, Plan, WhenFull, WorkerCounts, WorkerPool};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};

/// The addresses and ports of a flow, the smaller end first so that both directions are one, and its protocol (IANA).
type Flow = ([(IpAddr, u16); 2], u8);

/// Frames and octets.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    frames: u64,
    octets: u64,
}

impl Amount {
    fn add(&mut self, frames: u64, octets: u64) {
        self.frames += frames;
        self.octets += octets;
    }
}

/// What one worker has seen.
#[derive(Debug, Default)]
struct Table {
    flows: HashMap<Flow, Amount>,
    /// Frames without IP, or that end before it.
    other: Amount,
}

impl Table {
    fn count(&mut self, batch: &OwnedBatch) {
        for frame in batch.frames() {
            let amount = match flow_of(frame.data) {
                Some(flow) => self.flows.entry(flow).or_default(),
                None => &mut self.other,
            };
            amount.add(1, frame.wire_length.into());
        }
    }
}

fn flow_of(octets: &[u8]) -> Option<Flow> {
    let packet = SlicedPacket::from_ethernet(octets).ok()?;
    let (ends, protocol): ([IpAddr; 2], u8) = match packet.net? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            ([header.source_addr().into(), header.destination_addr().into()], ip.payload().ip_number.0)
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            ([header.source_addr().into(), header.destination_addr().into()], ip.payload().ip_number.0)
        }
        NetSlice::Arp(_) => return None,
    };
    // Fragments behind the first have no ports.
    let ports = match packet.transport {
        Some(TransportSlice::Udp(udp)) => [udp.source_port(), udp.destination_port()],
        Some(TransportSlice::Tcp(tcp)) => [tcp.source_port(), tcp.destination_port()],
        _ => [0, 0],
    };
    let mut both = [(ends[0], ports[0]), (ends[1], ports[1])];
    both.sort_unstable();
    Some((both, protocol))
}

/// What the command line asks for.
struct Arguments {
    interface: String,
    method: MethodSpec,
    plan: Plan,
    seconds: u64,
    frames: u64,
}

impl Arguments {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let usage = "flows INTERFACE [--workers N] [--queue BATCHES] [--drop] [--method METHOD] [--seconds S] [--frames N]";
        let mut read = Self {
            interface: arguments.next().ok_or(usage)?,
            method: MethodSpec::plain("packet-v3"),
            plan: Plan::new(2),
            seconds: 10,
            frames: u64::MAX,
        };
        while let Some(flag) = arguments.next() {
            if flag == "--drop" {
                read.plan.when_full = WhenFull::Drop;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value: {usage}"))?;
            match flag.as_str() {
                "--workers" => read.plan.workers = value.parse()?,
                "--queue" => read.plan.queue = value.parse()?,
                "--method" => read.method = value.parse()?,
                "--seconds" => read.seconds = value.parse()?,
                "--frames" => read.frames = value.parse()?,
                _ => return Err(format!("there is no {flag}: {usage}").into()),
            }
        }
        Ok(read)
    }
}

/// Takes batches until time or frames are over.
struct Take<'a>(&'a Arguments);

impl Visitor for Take<'_> {
    type Output = Result<(Counters, WorkerPool<OwnedBatch>, Tables), Box<dyn Error>>;

    fn visit<C: Capture>(self, mut capture: C) -> Self::Output {
        let tables: Tables = Arc::new((0..self.0.plan.workers).map(|_| Mutex::default()).collect());
        let its_tables = Arc::clone(&tables);
        let make = move |worker: usize| {
            let tables = Arc::clone(&its_tables);
            // Nobody else uses the table before the end.
            move |job: Job<OwnedBatch>| {
                tables[worker].lock().unwrap_or_else(PoisonError::into_inner).count(&job.batch)
            }
        };
        let mut pool = WorkerPool::start(self.0.plan, make, |()| ())?;
        let (start, limit) = (Instant::now(), Duration::from_secs(self.0.seconds));
        let mut frames = 0;
        while frames < self.0.frames && start.elapsed() < limit {
            if let Some(batch) = capture.next_owned(Duration::from_millis(100))? {
                let count = batch.frame_count() as u64;
                frames += count;
                pool.give(0, count, batch)?;
            }
            for failure in pool.take_failures() {
                eprintln!("{failure}");
            }
        }
        pool.finish();
        Ok((capture.counters()?, pool, tables))
    }
}

/// A table for each worker.
type Tables = Arc<Vec<Mutex<Table>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let file = format!("/sys/class/net/{}/mtu", arguments.interface);
    let mtu = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?.trim().parse()?;
    let interface = Interface::of_name(&arguments.interface, mtu)?;
    let options = CaptureOptions::default();
    let (counters, pool, tables) = open_with(&arguments.method, &interface, &options, Take(&arguments))??;

    let (mut flows, mut other): (HashMap<Flow, Amount>, Amount) = Default::default();
    for table in tables.iter() {
        let table = table.lock().unwrap_or_else(PoisonError::into_inner);
        for (flow, amount) in &table.flows {
            flows.entry(*flow).or_default().add(amount.frames, amount.octets);
        }
        other.add(table.other.frames, table.other.octets);
    }
    let mut largest: Vec<_> = flows.iter().collect();
    largest.sort_by_key(|(_, amount)| std::cmp::Reverse(amount.octets));
    println!("{} flows; {} frames are of none", flows.len(), other.frames);
    for (([one, another], protocol), amount) in largest.iter().take(10) {
        println!(
            "{:>12} frames {:>15} octets  {} port {} - {} port {}, protocol {protocol}",
            amount.frames, amount.octets, one.0, one.1, another.0, another.1
        );
    }
    println!("ledger:");
    let line = |count: Option<u64>, what: &str| match count {
        Some(count) => println!("{count:>12}  {what}"),
        None => println!("{:>12}  {what}", "unknown"),
    };
    line(counters.accepted, "accepted by the method");
    for loss in counters.losses.iter().chain(&pool.losses_of(&[0])) {
        line(loss.count, &format!("lost: {}", loss.source.counter()));
    }
    let of_workers = pool.counts_of(&[0]).into_iter().sum::<WorkerCounts>();
    line(Some(of_workers.worked.frames), "worked on");
    let unread = counters.accepted.zip(counters.dropped()).map(|(accepted, dropped)| {
        i128::from(accepted) - i128::from(dropped) - i128::from(of_workers.assigned.frames)
    });
    match unread {
        Some(left) => println!("{left:>12}  in the ring, unread, when it ended"),
        None => line(None, "in the ring, unread, when it ended"),
    }
    Ok(())
}
