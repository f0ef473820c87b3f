//! `capbench why`: where an interface loses packets now, the most likely cause, and what to change.

mod screen;
mod text;

use std::time::{Duration, Instant};

use anyhow::Result;
use capbench_host::HostError;
use capbench_why::{Look, Sampler, Tracing, Watch, Window};
use clap::Args;

use crate::exit::{self, Exit};
use crate::flag_values::positive_duration;
use crate::metrics::{Exporter, MetricsFlags, SocketFlags};
use crate::output::{print, print_as_is, print_json_line};
use crate::privileges;
use crate::signals::Stop;
use screen::Screen;

#[derive(Args, Clone, Debug)]
pub struct WhyFlags {
    /// Interface to watch; any is every interface that somebody captures on [default: any]
    #[arg(value_name = "IF", conflicts_with = "interface")]
    positional: Option<String>,
    /// The same as a flag
    #[arg(short = 'i', long, value_name = "IF")]
    interface: Option<String>,
    /// Watch every interface that somebody captures on, and those on which somebody begins to later
    #[arg(long, conflicts_with_all = ["interface", "positional"])]
    all: bool,
    /// Stop after this time [default: when interrupted; with --once after 1s]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Say everything once, about the whole time, instead of every second
    #[arg(long)]
    once: bool,
    /// Do not trace why the kernel drops frames: as root a BPF program runs for each frame that the host drops
    #[arg(long)]
    no_trace: bool,
    /// One JSON object a second instead of text, each on one line
    #[arg(long, visible_alias = "ndjson")]
    json: bool,
    #[command(flatten)]
    metrics: MetricsFlags,
    #[command(flatten)]
    sockets: SocketFlags,
}

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Longest delay of the end after a signal.
const TICK: Duration = Duration::from_millis(50);

/// The name of every interface that somebody captures on.
const ANY: &str = "any";

pub fn run(flags: &WhyFlags) -> Result<Exit> {
    let named = flags.interface.as_ref().or(flags.positional.as_ref()).filter(|name| *name != ANY);
    let name = named.map_or(ANY, String::as_str);
    let mut exporter = Exporter::open(&flags.metrics.clone().into(), "why", name)?;
    flags.sockets.check(exporter.as_ref())?;
    let names = match named {
        Some(name) => vec![name.clone()],
        None => capbench_why::captured_interfaces()?,
    };
    if names.is_empty() && !flags.all {
        tell!(
            "capbench: nobody captures on an interface of this network namespace; -i watches one all the same, --all waits for \
             captures"
        );
        return Ok(Exit::Done);
    }
    let mut watched = Watched::new(&names, flags, exporter.is_some())?;
    let stop = Stop::install()?;
    let files = exporter.as_ref().map(Exporter::files).unwrap_or_default();
    let later = flags.all.then_some(watched.tracing);
    if let Some(reason) =
        privileges::keep_for_watching(&watched.watches, watched.sampler.as_ref(), later, &files)?
    {
        tell!("capbench: not confined to reading files: {reason}");
    }
    if let Some(exporter) = &mut exporter {
        exporter.serve(&[])?;
    }
    let limit = flags.duration.unwrap_or(if flags.once { INTERVAL } else { Duration::MAX });
    let output = Output::new(flags);
    let start = Instant::now();
    let (mut next, mut has_looked) = (INTERVAL.min(limit), false);
    loop {
        while start.elapsed() < next && !stop.is_wanted() {
            std::thread::sleep(TICK.min(next.saturating_sub(start.elapsed())));
            if let Some(window) = watched.attend()
                && let Some(exporter) = &mut exporter
            {
                exporter.note_window(&window, &flags.sockets);
            }
        }
        match watched.look() {
            Ok(looks) => output.look(&looks)?,
            Err(error) => {
                let seen = overall(&watched.watches);
                if !has_looked {
                    output.look(&seen)?;
                }
                output.end(&seen)?;
                return Err(error.into());
            }
        }
        has_looked = true;
        if stop.is_wanted() || start.elapsed() >= limit {
            break;
        }
        watched.refresh()?;
        next = next.saturating_add(INTERVAL).min(limit);
    }
    output.end(&overall(&watched.watches))?;
    Ok(exit::of_watching(stop.signal(), flags.duration.is_some() || flags.once))
}

/// The interfaces that are watched.
struct Watched {
    watches: Vec<Watch>,
    /// Takes windows of 100 ms for the metrics, and knows who captures where.
    sampler: Option<Sampler>,
    tracing: Tracing,
    /// Whether interfaces come and go.
    all: bool,
}

impl Watched {
    fn new(names: &[String], flags: &WhyFlags, is_exported: bool) -> Result<Self> {
        let tracing = if flags.no_trace { Tracing::LeftOut } else { Tracing::Wanted };
        let watches = names.iter().map(|name| Watch::new(name, tracing)).collect::<Result<_, _>>()?;
        let sampler = (is_exported || flags.all).then(Sampler::new).transpose()?;
        Ok(Self { watches, sampler, tracing, all: flags.all })
    }

    /// Reads the sockets, if it is time to, and returns a window when it has ended.
    fn attend(&mut self) -> Option<Window> {
        match &mut self.sampler {
            Some(sampler) => sampler.window(&mut self.watches),
            None => {
                let count = self.watches.len();
                self.watches.iter_mut().for_each(|watch| watch.attend(count));
                None
            }
        }
    }

    /// The looks at one second. An interface that has disappeared ends the command only if it was named.
    fn look(&mut self) -> Result<Vec<Look>, HostError> {
        let looks = match &self.sampler {
            Some(sampler) => sampler.looks(&mut self.watches),
            None => self.watches.iter_mut().map(Watch::look).collect(),
        };
        if !self.all {
            return looks.into_iter().collect();
        }
        let mut kept = Vec::new();
        let mut looks = looks.into_iter();
        self.watches.retain(|_| match looks.next() {
            Some(Ok(look)) => {
                kept.push(look);
                true
            }
            Some(Err(error)) => {
                tell!("capbench: {error}");
                false
            }
            None => false,
        });
        Ok(kept)
    }

    /// With --all: begins to watch interfaces on which somebody captures now, and ends to watch those on which nobody does.
    fn refresh(&mut self) -> Result<()> {
        let Some(sampler) = self.sampler.as_ref().filter(|_| self.all) else { return Ok(()) };
        let captured = sampler.captured()?;
        self.watches.retain(|watch| captured.iter().any(|name| name == watch.interface()));
        for name in captured {
            // One that fails has disappeared meanwhile.
            if self.watches.iter().all(|watch| watch.interface() != name)
                && let Ok(watch) = Watch::new(&name, self.tracing)
            {
                self.watches.push(watch);
            }
        }
        Ok(())
    }
}

/// What each watch saw in the whole time.
fn overall(watches: &[Watch]) -> Vec<Look> {
    watches.iter().map(Watch::overall).collect()
}

/// Where and in what form looks are printed.
enum Output {
    /// JSON documents, each on one line: per second, or at the end.
    Documents { only_at_the_end: bool },
    /// One text at the end.
    Once,
    /// One line per second, and one text at the end.
    Lines,
    /// A terminal that is redrawn every second, and one text at the end.
    Screen(Screen),
}

impl Output {
    fn new(flags: &WhyFlags) -> Self {
        match (flags.json, flags.once) {
            (true, is_once) => Self::Documents { only_at_the_end: is_once },
            (false, true) => Self::Once,
            (false, false) => Screen::new().map_or(Self::Lines, Self::Screen),
        }
    }

    /// Prints the looks at one second.
    fn look(&self, looks: &[Look]) -> Result<()> {
        match self {
            Self::Once | Self::Documents { only_at_the_end: true } => Ok(()),
            Self::Documents { .. } => print_documents(looks),
            Self::Lines => print(&text::lines(looks)),
            Self::Screen(screen) => print_as_is(screen.drawn(&text::now(looks)).as_bytes()),
        }
    }

    /// Prints the looks at the whole time.
    fn end(&self, overall: &[Look]) -> Result<()> {
        let whole = || overall.iter().map(text::whole).collect::<Vec<_>>().join("\n");
        match self {
            Self::Documents { only_at_the_end: false } => Ok(()),
            Self::Documents { .. } => print_documents(overall),
            Self::Once => print(&whole()),
            Self::Lines => print(&format!("\n{}", whole())),
            Self::Screen(screen) => print_as_is(screen.left(&whole()).as_bytes()),
        }
    }
}

/// Prints one document a line.
fn print_documents(looks: &[Look]) -> Result<()> {
    looks.iter().try_for_each(print_json_line)
}
