//! The command line. Flags land in plain structures; only the commands look at the host.

pub mod bench;
pub mod capture;
pub mod compare;
pub mod convert;
pub mod count;
pub mod extcap;
pub mod generate;
pub mod methods;
pub mod record;
pub mod report;
pub mod reproduce;
pub mod rfc2544;
pub mod scene;
pub mod search;
pub mod send;
pub mod soak;
pub mod sweep;
pub mod traffic;
pub mod verify;
pub mod why;

use std::time::Duration;

use clap::{Parser, Subcommand};

/// Which capture method captures every packet on this host, up to what rate, at what CPU cost, and where is a packet lost?
#[derive(Debug, Parser)]
#[command(
    name = "capbench",
    bin_name = "capbench",
    version,
    about,
    max_term_width = 100,
    propagate_version = true
)]
// Without a command: one line that names the commands, as for every other mistake.
#[command(arg_required_else_help = false)]
#[command(
    after_help = "Exit codes: 0 done; 1 failed; 2 usage; 3 loss or a regression over the stated limit; 4 inconclusive \
(generator-limited, noisy); 5 unsupported here; 6 missing privilege; 7 disk full (record); \
128 + N stopped by signal N."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare capture methods on this host: the main job, no flags needed.
    Bench(bench::BenchFlags),
    /// Search the highest load that a method holds: RFC 2544, NDR, PDR (RFC 9971), or goals of your own.
    Search(search::SearchFlags),
    /// The tests of RFC 2544: throughput, latency, frame loss rate, back-to-back frames, system recovery.
    Rfc2544(rfc2544::Rfc2544Flags),
    /// Hold one load for minutes to days: every frame accounted for, a line per interval.
    Soak(soak::SoakFlags),
    /// Vary one thing, work per packet, frame size, ring, placement, load or interrupt moderation, and see where each method
    /// begins to lose.
    Sweep(sweep::SweepFlags),
    /// Run the experiment of a publication on this host, and print its tables beside the published ones.
    Reproduce(reproduce::ReproduceFlags),
    /// Write reports on runs from what they saved: a page, Markdown, CSV, JSON, charts.
    Report(report::ReportFlags),
    /// Compare two saved runs: what changed by more than chance, and how large a change is still possible.
    Compare(compare::CompareFlags),
    /// Generate traffic: exact counts, exact stop, lateness against the plan.
    Send(send::SendFlags),
    /// Count what arrives: a line per second, totals at the end.
    Count(count::CountFlags),
    /// Record packets to files, every one accounted for: several interfaces in time order, by any capture method.
    Record(record::RecordFlags),
    /// Convert capture files: what record wrote verbatim, pcapng and pcap, into pcapng or pcap.
    Convert(convert::ConvertFlags),
    /// Look in capture files for every frame that `send` made: what is missing, and whether the files say so.
    Verify(verify::VerifyFlags),
    /// Say where an interface loses packets now, why, and what to change; makes no traffic.
    Why(why::WhyFlags),
    /// List the capture methods: what can run here, and why not.
    Methods(methods::MethodsFlags),
    /// Capture for Wireshark and tshark, by any method (Wireshark's extcap interface); `--install` lets them find it.
    Extcap(extcap::ExtcapFlags),
    /// Make manual pages or completions for shells.
    #[command(hide = true)]
    Generate(generate::GenerateFlags),
}

/// Longer than any measurement, and short enough for whatever is computed from it.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads a duration such as `500ms` or `1m 30s`; plain numbers are seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let refuse = || format!("\"{text}\" is not a duration; write for example 500ms, 10s or 2m");
    let duration = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| refuse())?,
        Err(_) => humantime::parse_duration(text).map_err(|_| refuse())?,
    };
    if duration > LONGEST {
        return Err(format!("\"{text}\" is longer than 366 days; give a shorter duration"));
    }
    Ok(duration)
}

/// As [`duration`], but longer than nothing.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("a duration of 0 measures nothing".into()),
        some => Ok(some),
    }
}
