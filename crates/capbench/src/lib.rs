//! capbench: which capture method captures every packet on this host, up to what rate and at what CPU cost, and where packets
//! are lost.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stderr))]

#[macro_use]
mod tell;

mod built;
mod cli;
mod commands;
mod estimate;
mod exit;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod privileges;
mod progress;
mod signals;
mod status;
mod stop;

use clap::Parser;

use crate::cli::extcap::as_called;
use crate::cli::{Cli, Command};

/// Runs the program.
pub fn main() -> std::process::ExitCode {
    std::panic::set_hook(Box::new(exit::report_panic));
    if let Err(error) = capbench_sys::host::identity::forget_environment() {
        return exit::code(Err(error.into()));
    }
    // Parse the flags before looking at the host, so that --help never fails.
    let cli = match Cli::try_parse_from(as_called(std::env::args_os().collect())) {
        Ok(cli) => cli,
        Err(error) => return exit::refused(&error),
    };
    let done = match &cli.command {
        Command::Bench(flags) => commands::bench::run(flags),
        Command::Search(flags) => commands::search::run(flags),
        Command::Rfc2544(flags) => commands::rfc2544::run(flags),
        Command::Soak(flags) => commands::soak::run(flags),
        Command::Sweep(flags) => commands::sweep::run(flags),
        Command::Compare(flags) => commands::compare::run(flags),
        Command::Reproduce(flags) => commands::reproduce::run(flags),
        Command::Send(flags) => commands::send::run(flags),
        Command::Count(flags) => commands::count::run(flags),
        Command::Record(flags) => commands::record::run(flags),
        Command::Convert(flags) => commands::convert::run(flags),
        Command::Verify(flags) => commands::verify::run(flags),
        Command::Why(flags) => commands::why::run(flags),
        Command::Report(flags) => commands::report::run(flags),
        Command::Methods(flags) => commands::methods::run(flags),
        Command::Extcap(flags) => commands::extcap::run(flags),
        Command::Generate(flags) => commands::generate::run(flags),
    };
    exit::code(done)
}
