//! capbench: which capture method captures every packet on this host, up to what rate and at what CPU cost, and where packets
//! are lost.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stderr))]

#[macro_use]
mod output;

mod built;
mod commands;
mod exit;
mod file_format;
mod flags;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod measuring;
mod privileges;
mod recommended;
mod recording;
mod signals;
mod status;
mod values;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{compare, convert, count, generate, methods, report, send, verify, why};
use crate::measuring::{bench, reproduce, rfc2544, search, soak, sweep};
use crate::recording::{extcap, record};

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
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare capture methods on this host: the main job, no flags needed.
    Bench(bench::BenchFlags),
    /// Search the highest load that a method sustains: RFC 2544, NDR, PDR (RFC 9971), or goals of your own.
    Search(search::SearchFlags),
    /// The tests of RFC 2544: throughput, latency, frame loss rate, back-to-back frames, system recovery.
    Rfc2544(rfc2544::Rfc2544Flags),
    /// Offer one load for minutes to days: every frame accounted for, a line per interval.
    Soak(soak::SoakFlags),
    /// Vary one thing, work per packet, frame size, ring, placement, load or interrupt moderation, and see where each method
    /// begins to lose.
    Sweep(sweep::SweepFlags),
    /// Run the experiment of a publication on this host, and print its tables next to the published ones.
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

/// Runs the program.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(exit::report_panic));
    if let Err(error) = capbench_sys::host::identity::forget_environment() {
        return exit::code(Err(error.into()));
    }
    // Parse the flags before looking at the host, so that --help never fails.
    let cli = match Cli::try_parse_from(extcap::as_called(std::env::args_os().collect())) {
        Ok(cli) => cli,
        Err(error) => return exit::refused(&error),
    };
    exit::code(match &cli.command {
        Command::Bench(flags) => bench::run(flags),
        Command::Search(flags) => search::run(flags),
        Command::Rfc2544(flags) => rfc2544::run(flags),
        Command::Soak(flags) => soak::run(flags),
        Command::Sweep(flags) => sweep::run(flags),
        Command::Compare(flags) => compare::run(flags),
        Command::Reproduce(flags) => reproduce::run(flags),
        Command::Send(flags) => send::run(flags),
        Command::Count(flags) => count::run(flags),
        Command::Record(flags) => record::run(flags),
        Command::Convert(flags) => convert::run(flags),
        Command::Verify(flags) => verify::run(flags),
        Command::Why(flags) => why::run(flags),
        Command::Report(flags) => report::run(flags),
        Command::Methods(flags) => methods::run(flags),
        Command::Extcap(flags) => extcap::run(flags),
        Command::Generate(flags) => generate::run::<Cli>(flags),
    })
}
