//! `capbench campaign`: the matrix of a file, each of its runs as a child process.
//!
//! | file | what |
//! |---|---|
//! | this | the flags; runs what is missing, one after the other |
//! | `file` | the file, and the runs that its matrix expands to |
//! | `state` | what the results in a run's directory say: done, failed, interrupted |
//! | `child` | a child process: its start, its end, its stop |
//! | `account` | the lines per run, the verdict, what comes next |
//!
//! Nothing is recorded about a campaign: the results of its runs say what is done.

mod account;
mod child;
mod file;
mod state;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;
use clap::{Args, CommandFactory};

use self::account::{Account, End, Outcome};
use self::child::{Children, Ended};
use self::file::PlannedRun;
#[cfg(any(test, fuzzing))]
pub(crate) use self::file::understand;
use self::state::State;
use crate::Cli;
use crate::configuration::{Configuration, Sources};
use crate::exit::{self, Exit, RunEnd, Usage};
use crate::help;
use crate::output::print;

const EXITS: &str = "Exit codes: 128 + N stopped by signal N; else the worst of the runs: 1, 2, 7, 6 or 5 of a failed one, then 3, \
then 4; 0 when all are done. Press Ctrl-C to stop the run that is measured; the next call goes on. docs/campaign.md";

/// The lock of a campaign's directory.
const LOCK: &str = ".campaign.lock";
/// Where earlier attempts of runs are kept.
const EARLIER: &str = "earlier";

#[derive(Args, Clone, Debug)]
#[command(after_help = EXITS)]
pub struct CampaignFlags {
    /// The campaign, in TOML; examples/campaign.toml is one
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Directory for the runs, a directory each; what is done there is skipped [default: capbench-results/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run again what was done with an inconclusive result (exit code 4), too
    #[arg(long)]
    retry_inconclusive: bool,
    /// Print every run with its estimated time, and stop
    #[arg(long)]
    dry_run: bool,
}

pub fn run(flags: &CampaignFlags) -> Result<Exit> {
    let cli = help::equipped(Cli::command());
    let configuration = Configuration::read(&cli, &Sources::of_process())?;
    let campaign = file::read(&flags.file)?;
    campaign.check(&cli, &configuration)?;
    let folder = flags.out.clone().unwrap_or_else(|| Path::new("capbench-results").join(&campaign.name));
    if flags.dry_run {
        return account::dry_run(&campaign, &folder);
    }
    let children = Children::ended_by_signals(child::OWN_PROGRAM.into())?;
    let runner = Runner::open(&folder, children, flags.retry_inconclusive)?;
    let mut account = Account::new(&campaign, &folder, &flags.file);
    for run in &campaign.runs {
        let outcome = runner.complete(run)?;
        print(&account.add(run, outcome))?;
    }
    print(&account.closing_text())?;
    Ok(exit::of_campaign(account.codes(), runner.children.stopped_by()))
}

/// Runs what is missing in a directory.
struct Runner {
    path: PathBuf,
    children: Children,
    /// Child processes have it too, so that the directory stays locked while one runs that outlives this process.
    lock: fs::File,
    retry_inconclusive: bool,
}

impl Runner {
    fn open(path: &Path, children: Children, retry_inconclusive: bool) -> Result<Self> {
        let attempt =
            || format!("cannot use {} for the campaign; name another directory with --out", path.display());
        let folder = Folder::create(path, &Trust::for_output()).with_context(attempt)?;
        let lock = folder.try_lock(OsStr::new(LOCK)).with_context(attempt)?.ok_or_else(|| {
            let path = path.display();
            Usage(format!("another campaign, or a run that one started, is at work in {path}: wait for its end, or name another directory with --out"))
        })?;
        Ok(Self { path: path.into(), children, lock, retry_inconclusive })
    }

    /// Runs what is missing of a run; nothing once the user wants to stop.
    fn complete(&self, run: &PlannedRun) -> Result<Outcome> {
        let directory = self.path.join(&run.name);
        let resume = match State::of(&directory, run) {
            State::Done { code, verdict } if !(self.retry_inconclusive && exit::is_inconclusive(code)) => {
                return Ok(Outcome::was_done(code, verdict));
            }
            _ if self.children.stopped_by().is_some() => return Ok(Outcome::not_begun()),
            State::Missing => false,
            State::Interrupted { can_resume: true } => true,
            State::Done { .. } | State::Interrupted { .. } | State::Failed | State::Changed => {
                self.keep_earlier(&directory, &run.name)?;
                false
            }
        };
        let outcome = self.measure(run, &directory, resume)?;
        // It cannot go on, for example because the host is another one.
        if resume && outcome.end == End::Failed && exit::is_of_usage(outcome.code) {
            self.keep_earlier(&directory, &run.name)?;
            return self.measure(run, &directory, false);
        }
        Ok(outcome)
    }

    fn measure(&self, run: &PlannedRun, directory: &Path, resume: bool) -> Result<Outcome> {
        let words = if resume { run.resuming(directory) } else { run.measuring(directory) };
        let start = Instant::now();
        let Ended { code, reason } =
            self.children.run(&words, &self.path.join(format!("{}.log", run.name)), &self.lock)?;
        let seconds = Some(start.elapsed().as_secs_f64());
        let end = match (State::of(directory, run), code) {
            (State::Done { code, verdict }, _) => {
                return Ok(Outcome { end: End::Done { before: false }, code, text: verdict, seconds });
            }
            (_, Some(code)) if RunEnd::of(code) != RunEnd::Stopped => End::Failed,
            _ => End::Interrupted,
        };
        // It has no results of what was asked for, so exit code 0 would be no answer.
        let code = code.map_or(exit::KILLED, |code| code.max(exit::FAILED));
        Ok(Outcome { end, code, text: reason, seconds })
    }

    /// Moves what is in a run's directory out of the way.
    fn keep_earlier(&self, directory: &Path, name: &str) -> Result<()> {
        let earlier = self.path.join(EARLIER);
        let attempt = || format!("cannot move {} to {}", directory.display(), earlier.display());
        Folder::create(&earlier, &Trust::for_output()).with_context(attempt)?;
        let free = (1..).map(|nth| earlier.join(format!("{name}.{nth}"))).find(|path| !path.exists());
        let free = free.with_context(attempt)?;
        fs::rename(directory, free).with_context(attempt)
    }
}
