//! Counters for monitoring: the flags of all commands that have them, and what serves and writes them. Without the feature
//! `metrics` the file `metrics/absent.rs` is in its place.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use capbench_capture::Occupancy;
use capbench_http::{Port, Protection};
use capbench_judge::soak::record::SoakRecord;
use capbench_metrics::capturing::{Capturing, Recorded, Totals};
use capbench_metrics::textfile::Textfile;
use capbench_metrics::watching::Watching;
use capbench_metrics::{Family, Labels, Metrics};
use capbench_model::places::Place;
use capbench_record::recording::{Account, InterfaceAccount};
use capbench_results::Results;
use capbench_sys::host::CpuId;
use capbench_why::Window;
use clap::Args;

use crate::exit::Usage;
use crate::privileges::Files;

/// Flags of commands that run for a long time.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Monitoring")]
pub struct MetricsFlags {
    /// Serve counters for Prometheus at http://ADDR:PORT/metrics; without ADDR on 127.0.0.1
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// TLS, client certificates and passwords of --metrics: a web configuration file of Prometheus
    #[arg(long, value_name = "FILE", requires = "metrics")]
    web_config: Option<PathBuf>,
    #[command(flatten)]
    textfile: TextfileFlags,
}

/// Flags of commands whose last result is monitored.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Monitoring")]
pub struct TextfileFlags {
    /// Write counters to a file in this folder, for node_exporter's textfile collector
    #[arg(long, value_name = "DIR")]
    textfile: Option<PathBuf>,
}

/// Where the counters of a command are served and written.
#[derive(Clone, Debug, Default)]
pub struct MetricsOutput {
    port: Option<(SocketAddr, Protection)>,
    folder: Option<PathBuf>,
}

impl From<MetricsFlags> for MetricsOutput {
    fn from(flags: MetricsFlags) -> Self {
        let protection = flags.web_config.map_or(Protection::None, Protection::WebConfig);
        Self { port: flags.metrics.map(|address| (address, protection)), ..flags.textfile.into() }
    }
}

impl From<TextfileFlags> for MetricsOutput {
    fn from(flags: TextfileFlags) -> Self {
        Self { port: None, folder: flags.textfile }
    }
}

/// Flags about the sockets of other programs.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Monitoring")]
pub struct SocketFlags {
    /// Counters of each socket, with its process and inode, instead of sums by program; each new socket makes new series
    #[arg(long)]
    per_socket: bool,
}

impl SocketFlags {
    /// Refuses the flag where nothing is exported.
    pub fn check(&self, exporter: Option<&Exporter>) -> Result<()> {
        if self.per_socket && exporter.is_none() {
            let why = "--per-socket: it is about --metrics and --textfile; give one of them, too";
            return Err(Usage(why.into()).into());
        }
        Ok(())
    }
}

/// Reads an address; without one it is the loopback interface's.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
    let loopback = port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    loopback.or_else(|_| text.parse()).map_err(|_| {
        format!("\"{text}\" is no address with a port; write for example 9873, 192.0.2.1:9873 or [::]:9873")
    })
}

/// Who can read the counters of a port that other hosts reach, if it does not protect them.
fn openness(port: &Port) -> Option<String> {
    let address = port.address().filter(|address| !address.ip().to_canonical().is_loopback())?;
    let what = match (port.names_clients(), port.has_tls()) {
        (true, true) => return None,
        (false, true) => "everybody who reaches it can read the counters",
        (true, false) => "passwords and counters are sent without encryption",
        (false, false) => {
            "everybody who reaches it can read the counters, and they are sent without encryption"
        }
    };
    Some(format!(
        "--metrics {address}: {what}; give --web-config with TLS and users, or an address of this host alone"
    ))
}

/// How often the file is written, at most.
const SECOND: Duration = Duration::from_secs(1);

/// The counters of this process, where they are served and written.
#[derive(Debug)]
pub struct Exporter {
    metrics: Metrics,
    port: Option<Port>,
    /// Folders that the server still reads from.
    reads: Vec<PathBuf>,
    folder: Option<PathBuf>,
    textfile: Option<Arc<Textfile>>,
    next_write: Instant,
    has_failed: bool,
    /// Whether the file is a result, which stays.
    is_result: bool,
    watching: Option<Watching>,
    capturing: Vec<(String, Capturing)>,
}

impl Exporter {
    /// Opens the port and the folder; `None` if the output has neither. `interface` is part of the file's name.
    pub fn open(output: &MetricsOutput, command: &str, interface: &str) -> Result<Option<Self>> {
        let MetricsOutput { port, folder } = output;
        if port.is_none() && folder.is_none() {
            return Ok(None);
        }
        let metrics = Metrics::new(env!("CARGO_PKG_VERSION"));
        let port = match port {
            Some((address, protection)) => Some(Port::open("--metrics", *address, protection.clone())?),
            None => None,
        };
        if let Some(words) = port.as_ref().and_then(openness) {
            tell!("capbench: {words}");
        }
        let textfile = folder.as_ref().map(|folder| Textfile::open(folder, command, interface, &metrics));
        Ok(Some(Self {
            reads: port.as_ref().map(Port::folders).unwrap_or_default(),
            port,
            folder: folder.clone(),
            textfile: textfile.transpose()?.map(Arc::new),
            next_write: Instant::now(),
            has_failed: false,
            is_result: false,
            watching: None,
            capturing: Vec::new(),
            metrics,
        }))
    }

    /// What a confined process must still open.
    pub fn files(&self) -> Files {
        Files { folders: self.folder.iter().cloned().collect(), read: self.reads.clone() }
    }

    /// Begins to serve, in a thread that keeps off these CPUs. Call it when the process has given up its privileges.
    pub fn serve(&mut self, pinned: &[CpuId]) -> Result<()> {
        if let Some(port) = self.port.take() {
            let address = port.address();
            port.serve(self.metrics.clone(), pinned, |words| tell!("capbench: {words}"))?;
            if let Some(address) = address {
                tell!("capbench: metrics at {address}/metrics");
            }
        }
        Ok(())
    }

    /// Adds the counts of a window of `why`.
    pub fn note_window(&mut self, window: &Window, flags: &SocketFlags) {
        let begin = || Watching::new(self.metrics.clone(), flags.per_socket);
        self.watching.get_or_insert_with(begin).note(window);
        self.write();
    }

    /// Notes the counts of a capture since it was opened, at the end of a window.
    pub fn note_capture(
        &mut self,
        interface: &str,
        received: Option<u64>,
        lost: Vec<(Place, Option<u64>)>,
        fill: Option<Occupancy>,
    ) {
        let totals = Totals { received, lost, ring: fill.map(Occupancy::share) };
        self.capture(interface).note_window(&totals);
        self.write();
    }

    /// Notes the counts of a recording, at the end of a window.
    pub fn note_account(&mut self, account: &Account) {
        for interface in &account.interfaces {
            let InterfaceAccount { name, losses, queues, output, .. } = interface;
            let lost = losses.iter().chain(queues).map(|loss| (loss.place, loss.count));
            let totals = Totals {
                received: interface.accepted,
                lost: lost.chain([(Place::Writer, Some(output.lost()))]).collect(),
                ring: interface.fill.map(Occupancy::share),
            };
            let recorded = Recorded {
                frames: output.written,
                octets: interface.octets,
                cut: interface.cut,
                cut_octets: interface.cut_octets,
                refused: output.lost(),
            };
            let capturing = self.capture(name);
            capturing.note_window(&totals);
            capturing.note_recorded(recorded, unix_s());
        }
        self.write();
    }

    fn capture(&mut self, interface: &str) -> &mut Capturing {
        let at = self.capturing.iter().position(|(known, _)| known == interface).unwrap_or_else(|| {
            self.capturing.push((interface.into(), Capturing::new(self.metrics.clone(), interface)));
            self.capturing.len() - 1
        });
        &mut self.capturing[at].1
    }

    /// Writes the file, if it is time to.
    fn write(&mut self) {
        if Instant::now() >= self.next_write {
            self.write_now();
            self.next_write = Instant::now() + SECOND;
        }
    }

    /// Writes the file. A failure is reported once, and does not end what is measured.
    fn write_now(&mut self) {
        let done = self.textfile.as_ref().map_or(Ok(()), |file| file.write());
        if let Err(error) = &done
            && !self.has_failed
        {
            tell!("capbench: {error}");
        }
        self.has_failed = done.is_err();
    }

    /// What notes the results of a run. The file then stays.
    pub fn run(&mut self, interface: &str) -> Run {
        self.is_result = true;
        Run {
            metrics: self.metrics.clone(),
            capturing: Arc::new(Capturing::new(self.metrics.clone(), interface)),
            textfile: self.textfile.clone(),
        }
    }
}

impl Drop for Exporter {
    /// Removes the file of a command that ends: counters that no longer move would look like a host that loses nothing.
    fn drop(&mut self) {
        if let Some(file) = self.textfile.take().filter(|_| !self.is_result)
            && let Err(error) = file.remove()
        {
            tell!("capbench: {error}");
        }
    }
}

/// Notes the results of `bench`, `search` and `soak`. Their file stays: it is the last result.
#[derive(Clone, Debug)]
pub struct Run {
    metrics: Metrics,
    capturing: Arc<Capturing>,
    textfile: Option<Arc<Textfile>>,
}

impl Run {
    /// Notes the counts of a soak so far.
    pub fn note_soak(&self, record: &SoakRecord) {
        // A frame that was never sent is not lost.
        let places = record.ledger.iter().filter(|entry| entry.place != Place::Unsent);
        let lost = places.map(|entry| (entry.place, entry.count)).collect();
        let received = record.whole.as_ref().map(|whole| whole.counts.delivered + whole.lost());
        self.capturing.note(&Totals { received, lost, ring: None });
        self.write();
    }

    /// Notes the end of a run. `results` are absent if it failed.
    pub fn end(&self, results: Option<&Results>, code: u8) {
        let labels = |method: String, size: String, placement: String, goal: &str| {
            let values = [method, size, placement, goal.into()];
            let names = ["method", "frame_size", "placement", "goal"];
            names.into_iter().zip(values).collect::<Labels>()
        };
        for search in results.into_iter().flat_map(|results| &results.searches) {
            let (Some(method), Some(size), Some(placement)) =
                (&search.method, &search.frame_size, &search.placement)
            else {
                continue;
            };
            for goal in &search.goals {
                if let Some(lower) = &goal.lower {
                    let labels =
                        labels(method.to_string(), size.to_string(), placement.to_string(), &goal.goal.name);
                    self.metrics.set(Family::Throughput, labels, lower.intended_pps);
                }
            }
        }
        let soak = results.and_then(|results| results.soak.as_ref());
        if let Some((whole, trial)) = soak.and_then(|soak| soak.whole.as_ref().zip(soak.kept.first()))
            && whole.sending_s > 0.0
        {
            let profile = &trial.profile;
            let labels = labels(
                profile.method.to_string(),
                profile.frame_size.to_string(),
                profile.placement.to_string(),
                "soak",
            );
            self.metrics.set(Family::Throughput, labels, whole.counts.delivered as f64 / whole.sending_s);
        }
        self.metrics.set(Family::RunTimestamp, Labels::new(), unix_s());
        self.metrics.set(Family::RunExitCode, Labels::new(), code.into());
        self.write();
    }

    fn write(&self) {
        if let Some(file) = &self.textfile
            && let Err(error) = file.write()
        {
            tell!("capbench: {error}");
        }
    }
}

fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn without_an_address_only_this_host_is_served() {
        for (text, expected) in [
            ("9873", "127.0.0.1:9873"),
            (":9873", "127.0.0.1:9873"),
            ("192.0.2.1:1", "192.0.2.1:1"),
            ("[::]:9873", "[::]:9873"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected);
        }
        for text in ["", "localhost", "1.2.3.4", "70000", "host:1"] {
            assert!(address(text).unwrap_err().contains("9873"), "{text}");
        }
    }
}
