//! capbench: which capture method captures every packet on this host, up to what rate and at what CPU cost, and where packets
//! are lost.
//!
//! # To add
//!
//! - a command: a file with its flags and its work in `capbench/src/commands/`, `recording/` or `measuring/`, a variant and
//!   an arm in `lib.rs`, its group and examples in `help.rs`, its lines in `check`. One that runs trials is a type that
//!   implements `Plan` of `capbench/src/measuring/mod.rs`.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stderr))]

#[macro_use]
mod output;

mod built;
mod capture_files;
mod command_line;
mod commands;
mod configuration;
mod error_output;
pub mod exit;
mod flag_values;
mod flags;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod help;
mod measuring;
#[cfg_attr(not(feature = "metrics"), path = "metrics/absent.rs")]
mod metrics;
mod privileges;
mod recommended;
mod recording;
mod report_files;
#[cfg(test)]
mod schema_tests;
mod signals;
mod status;
mod suggestion;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(feature = "otg")]
use crate::commands::otg;
use crate::commands::{
    agent, campaign, compare, config, convert, count, export, generate, methods, report, send, tune, verify,
    why,
};
use crate::measuring::{bench, reproduce, rfc2544, search, soak, sweep};
use crate::recording::{extcap, record};

/// Place of a flag behind all others in help.
const LAST: usize = 900;

/// Which capture method captures every packet on this host, up to what rate, at what CPU cost, and where is a packet lost?
#[derive(Debug, Parser)]
#[command(
    name = "capbench",
    bin_name = "capbench",
    version,
    about,
    max_term_width = 100,
    propagate_version = true,
    disable_help_flag = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done; 1 failed; 2 usage; 3 loss or a regression over the stated limit; 4 inconclusive \
(generator-limited, noisy); 5 unsupported here; 6 missing privilege; 7 disk full (record); \
128 + N stopped by signal N."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::HelpShort, display_order = LAST)]
    help: Option<bool>,
    /// Print help with every flag
    #[arg(long, global = true, action = ArgAction::HelpLong, display_order = LAST)]
    help_all: Option<bool>,
}

// `help::GROUPS` decides in which group a command is listed, and has its examples.
#[derive(Debug, Subcommand)]
enum Command {
    /// Compare capture methods on this host; needs no flags.
    Bench(bench::BenchFlags),
    /// Search the highest load that a method sustains: NDR, PDR, own goals.
    Search(search::SearchFlags),
    /// The tests of RFC 2544: throughput, latency, frame loss, bursts.
    Rfc2544(rfc2544::Rfc2544Flags),
    /// Offer one load for minutes to days, with a line per interval.
    Soak(soak::SoakFlags),
    /// Vary one thing (work, size, ring, load ...) and see who loses.
    Sweep(sweep::SweepFlags),
    /// Run the matrix of a file: resume, and skip what is done.
    Campaign(campaign::CampaignFlags),
    /// Repeat the experiment of a publication, next to its tables.
    Reproduce(reproduce::ReproduceFlags),
    /// Write reports of saved runs: page, Markdown, CSV, JSON, charts.
    Report(report::ReportFlags),
    /// Compare two saved runs: what changed by more than chance.
    Compare(compare::CompareFlags),
    /// Export saved runs as Parquet for DuckDB, Spark and other engines.
    Export(export::ExportFlags),
    /// Generate traffic with exact counts, and a line per second.
    Send(send::SendFlags),
    /// Count what arrives, per second and per filter.
    Count(count::CountFlags),
    /// Record packets to files, every one accounted for.
    Record(record::RecordFlags),
    /// Convert capture files into pcapng or pcap.
    Convert(convert::ConvertFlags),
    /// Find the frames of `send` in capture files, and what is missing.
    Verify(verify::VerifyFlags),
    /// Say where an interface loses packets now, why, and what to change.
    Why(why::WhyFlags),
    /// Say which settings stand against capture; change, restore them.
    Tune(tune::TuneFlags),
    /// Be one side of a trial for a capbench on another host.
    Agent(agent::AgentFlags),
    /// Serve ports to scripts of the Open Traffic Generator API (OTG).
    #[cfg(feature = "otg")]
    Otg(otg::OtgFlags),
    /// List the capture methods: what runs here, and why not.
    Methods(methods::MethodsFlags),
    /// Capture for Wireshark and tshark, by any method (extcap).
    Extcap(extcap::ExtcapFlags),
    /// Show what files and variables set, and where.
    Config(config::ConfigFlags),
    /// Make manual pages or completions for shells.
    #[command(hide = true)]
    Generate(generate::GenerateFlags),
}

impl Cli {
    /// Reads a command line, without looking at the host.
    #[cfg(any(test, fuzzing))]
    fn read(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        Self::read_with(help::equipped(Self::command()), arguments)
    }

    /// The same, with a description of the command line that exists.
    fn read_with(mut cli: clap::Command, arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        let matches = cli.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut cli))
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(error_output::report_panic));
    if let Err(error) = capbench_sys::host::identity::forget_environment() {
        return error_output::end(Err(error.into()));
    }
    // Parse the flags before looking at the host, so that --help never fails.
    let mut interface = help::equipped(Cli::command());
    let line = extcap::as_called(std::env::args_os().collect());
    let line = match configuration::complete(&mut interface, line) {
        Ok(line) => line,
        Err(error) => return error_output::end(Err(error)),
    };
    let cli = match Cli::read_with(interface, line) {
        Ok(cli) => cli,
        Err(error) => return error_output::refused(&error),
    };
    error_output::end(match cli.command {
        Command::Bench(flags) => bench::run(&flags),
        Command::Search(flags) => search::run(&flags),
        Command::Rfc2544(flags) => rfc2544::run(&flags),
        Command::Soak(flags) => soak::run(&flags),
        Command::Sweep(flags) => sweep::run(&flags),
        Command::Campaign(flags) => campaign::run(&flags),
        Command::Compare(flags) => compare::run(&flags),
        Command::Export(flags) => export::run(&flags),
        Command::Reproduce(flags) => reproduce::run(&flags),
        Command::Send(flags) => send::run(flags),
        Command::Count(flags) => count::run(flags),
        Command::Record(flags) => record::run(flags),
        Command::Convert(flags) => convert::run(&flags),
        Command::Tune(flags) => tune::run(&flags),
        Command::Verify(flags) => verify::run(&flags),
        Command::Why(flags) => why::run(&flags),
        Command::Report(flags) => report::run(&flags),
        Command::Agent(flags) => agent::run(&flags),
        #[cfg(feature = "otg")]
        Command::Otg(flags) => otg::run(&flags),
        Command::Methods(flags) => methods::run(&flags),
        Command::Extcap(flags) => extcap::run(&flags),
        Command::Config(flags) => config::run(&flags),
        Command::Generate(flags) => generate::run(&flags, help::equipped(Cli::command())),
    })
}
