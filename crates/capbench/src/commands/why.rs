//! `capbench why`: where an interface loses packets now, the most likely cause, and what to change.

mod screen;
mod text;

use std::time::Duration;

use anyhow::Result;
use capbench_why::{Look, Tracing, Watch};
use clap::Args;

use crate::exit::{self, Exit};
use crate::output::{print, print_as_is, print_json};
use crate::privileges;
use crate::signals::Stop;
use crate::values::positive_duration;
use screen::Screen;

#[derive(Args, Clone, Debug)]
pub struct WhyFlags {
    /// Interface to watch
    #[arg(short = 'i', long, value_name = "IF")]
    interface: String,
    /// Stop after this time [default: when interrupted; with --once after 1s]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Say everything once, about the whole time, instead of every second
    #[arg(long)]
    once: bool,
    /// Do not trace why the kernel drops frames: as root a BPF program runs for each frame that the host drops
    #[arg(long)]
    no_trace: bool,
    /// One JSON object a second instead of text
    #[arg(long)]
    json: bool,
}

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Longest delay of the end after a signal.
const TICK: Duration = Duration::from_millis(50);

pub fn run(flags: &WhyFlags) -> Result<Exit> {
    let tracing = if flags.no_trace { Tracing::LeftOut } else { Tracing::Wanted };
    let mut watch = Watch::new(&flags.interface, tracing)?;
    let stop = Stop::install()?;
    if let Some(reason) = privileges::keep_for_watching(&watch)? {
        tell!("capbench: not confined to reading files: {reason}");
    }
    let limit = flags.duration.unwrap_or(if flags.once { INTERVAL } else { Duration::MAX });
    let output = Output::new(flags);
    let (mut next, mut looks) = (INTERVAL.min(limit), 0_u32);
    loop {
        while watch.elapsed() < next && !stop.is_wanted() {
            std::thread::sleep(TICK.min(next.saturating_sub(watch.elapsed())));
            watch.attend();
        }
        let look = match watch.look() {
            Ok(look) => look,
            Err(error) => {
                let seen = watch.overall();
                if looks == 0 {
                    output.look(&seen)?;
                }
                output.end(&seen)?;
                return Err(error.into());
            }
        };
        looks += 1;
        output.look(&look)?;
        if stop.is_wanted() || watch.elapsed() >= limit {
            break;
        }
        next = next.saturating_add(INTERVAL).min(limit);
    }
    output.end(&watch.overall())?;
    Ok(exit::of_watching(stop.signal(), flags.duration.is_some() || flags.once))
}

/// Where and in what form looks are printed.
enum Output {
    /// One JSON document at the end.
    Document,
    /// One JSON document per second, each on one line.
    Documents,
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
            (true, true) => Self::Document,
            (true, false) => Self::Documents,
            (false, true) => Self::Once,
            (false, false) => Screen::new().map_or(Self::Lines, Self::Screen),
        }
    }

    /// Prints the look at one second.
    fn look(&self, look: &Look) -> Result<()> {
        match self {
            Self::Document | Self::Once => Ok(()),
            Self::Documents => print(&(serde_json::to_string(look)? + "\n")),
            Self::Lines => print(&text::line(look)),
            Self::Screen(screen) => print_as_is(screen.drawn(&text::whole(look)).as_bytes()),
        }
    }

    /// Prints the look at the whole time.
    fn end(&self, overall: &Look) -> Result<()> {
        match self {
            Self::Documents => Ok(()),
            Self::Document => print_json(overall),
            Self::Once => print(&text::whole(overall)),
            Self::Lines => print(&format!("\n{}", text::whole(overall))),
            Self::Screen(screen) => print_as_is(screen.left(&text::whole(overall)).as_bytes()),
        }
    }
}
