//! What is said of a campaign: a line per run, the verdict, and what comes next.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use capbench_report::command_line;

use super::child::{self, printed};
use super::file::{Campaign, PlannedRun};
use super::state::State;
use crate::exit::{self, Exit};
use crate::measuring::words::roughly;
use crate::output::print;

/// Failed runs that the verdict names.
const NAMED: usize = 3;

/// The state of a run after this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It has results.
    Done {
        /// It had them before this call.
        before: bool,
    },
    Failed,
    Interrupted,
    NotBegun,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub end: End,
    /// The exit code.
    pub code: u8,
    /// The verdict of its report, or the reason why it has none.
    pub text: String,
    /// How long it ran in this call.
    pub seconds: Option<f64>,
}

impl Outcome {
    pub fn was_done(code: u8, text: String) -> Self {
        Self { end: End::Done { before: true }, code, text, seconds: None }
    }

    pub fn not_begun() -> Self {
        Self { end: End::NotBegun, code: 0, text: String::new(), seconds: None }
    }
}

/// All runs of a campaign so far.
pub struct Account<'c> {
    campaign: &'c Campaign,
    folder: PathBuf,
    file: PathBuf,
    outcomes: Vec<(String, Outcome)>,
}

impl<'c> Account<'c> {
    pub fn new(campaign: &'c Campaign, folder: &Path, file: &Path) -> Self {
        Self { campaign, folder: folder.into(), file: file.into(), outcomes: Vec::new() }
    }

    /// Adds a run; its line.
    pub fn add(&mut self, run: &PlannedRun, outcome: Outcome) -> String {
        let state = match outcome.end {
            End::Done { .. } if exit::is_inconclusive(outcome.code) => "inconclusive",
            End::Done { before: false } => "done",
            End::Done { before: true } => "was done",
            End::Failed => "failed",
            End::Interrupted => "interrupted",
            End::NotBegun => "not begun",
        };
        let time = outcome.seconds.map_or_else(String::new, |seconds| format!("{seconds:.0} s"));
        let line = format!(
            "{:<width$}  {state:<12}  {time:>7}  {}",
            run.name,
            outcome.text,
            width = width(self.campaign)
        );
        self.outcomes.push((run.name.clone(), outcome));
        line.trim_end().to_string() + "\n"
    }

    /// The exit codes of the runs.
    pub fn codes(&self) -> impl Iterator<Item = u8> {
        self.outcomes.iter().map(|(_, outcome)| outcome.code)
    }

    fn number(&self, is: impl Fn(End) -> bool) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| is(outcome.end)).count()
    }

    /// The verdict, and the commands that come next.
    pub fn closing_text(&self) -> String {
        let mut text = format!("\n{}\n", self.verdict());
        let (file, folder) = (self.file.display().to_string(), self.folder.display().to_string());
        let again =
            command_line(&["capbench".into(), "campaign".into(), file, "--out".into(), folder.clone()]);
        if self.number(|end| !matches!(end, End::Done { .. })) > 0 {
            text += &format!("What is missing: {again}\n");
        }
        if self.inconclusive() > 0 {
            text += &format!("What is inconclusive, once more: {again} --retry-inconclusive\n");
        }
        if self.number(|end| matches!(end, End::Done { .. })) > 0 {
            text += &format!("Into a dataset: {}\n", self.export(folder));
        }
        text
    }

    /// Runs whose results do not show what was asked for.
    fn inconclusive(&self) -> usize {
        let is_so = |one: &Outcome| matches!(one.end, End::Done { .. }) && exit::is_inconclusive(one.code);
        self.outcomes.iter().filter(|(_, outcome)| is_so(outcome)).count()
    }

    /// "12 of 14 runs done: 3 inconclusive, 1 failed (NAME: reason), 1 interrupted."
    fn verdict(&self) -> String {
        let (done, all) = (self.number(|end| matches!(end, End::Done { .. })), self.outcomes.len());
        let before = self.number(|end| end == End::Done { before: true });
        let before = if before > 0 { format!(" ({before} before this call)") } else { String::new() };
        let failed: Vec<_> = self.outcomes.iter().filter(|(_, outcome)| outcome.end == End::Failed).collect();
        let mut rest = Vec::new();
        if self.inconclusive() > 0 {
            rest.push(format!("{} inconclusive", self.inconclusive()));
        }
        if !failed.is_empty() {
            let mut named: Vec<_> = failed
                .iter()
                .take(NAMED)
                .map(|(name, outcome)| format!("{name}: {}", outcome.text))
                .collect();
            if failed.len() > NAMED {
                named.push(format!("and {} more", failed.len() - NAMED));
            }
            rest.push(format!("{} failed ({})", failed.len(), named.join("; ")));
        }
        for (end, words) in [(End::Interrupted, "interrupted"), (End::NotBegun, "not begun")] {
            match self.number(|found| found == end) {
                0 => {}
                number => rest.push(format!("{number} {words}")),
            }
        }
        let colon = if rest.is_empty() { "" } else { ": " };
        format!("{done} of {all} runs done{before}{colon}{}.", rest.join(", "))
    }

    /// The command that puts the results into a dataset, with the labels of the file.
    fn export(&self, folder: String) -> String {
        let named = self.campaign.labels.iter().any(|(key, _)| key == "campaign");
        let own = (!named).then(|| ("campaign".to_string(), self.campaign.name.clone()));
        let labels = own.iter().chain(&self.campaign.labels);
        let labels = labels.flat_map(|(key, value)| ["--label".into(), format!("{key}={value}")]);
        let front = ["capbench".to_string(), "export".into(), folder];
        // The shell expands the star: earlier attempts are a level deeper.
        let front = command_line(&front) + "/*/results.json";
        let rest: Vec<String> =
            ["capbench".to_string(), "--to".into(), "DATASET".into()].into_iter().chain(labels).collect();
        front + command_line(&rest).trim_start_matches("capbench")
    }
}

fn width(campaign: &Campaign) -> usize {
    campaign.runs.iter().map(|run| run.name.len()).max().unwrap_or(0)
}

/// Prints every run with its state and the time that its own plan states.
pub fn dry_run(campaign: &Campaign, folder: &Path) -> Result<Exit> {
    let (mut lines, mut done, mut total, mut unknown) = (String::new(), 0, Duration::ZERO, 0);
    let mut codes = Vec::new();
    for run in &campaign.runs {
        let (state, words) = match State::of(&folder.join(&run.name), run) {
            State::Done { .. } => {
                done += 1;
                ("was done", String::new())
            }
            state => {
                let output = printed(&run.planning())?;
                let (out, errors) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                let row = time_row(&out);
                match row.and_then(time) {
                    Some(time) => total += time,
                    None => unknown += 1,
                }
                let code = output.status.code().and_then(|code| code.try_into().ok());
                codes.push(code.unwrap_or(exit::KILLED));
                let words =
                    row.map(|row| row.split(['(', ',', ';']).next().unwrap_or(row).trim().to_string());
                (
                    planned(&state),
                    words.unwrap_or_else(|| child::refusal(&errors).unwrap_or("it gave no plan").into()),
                )
            }
        };
        lines += &format!(
            "{:<width$}  {state:<9}  {words:<14}  {}\n",
            run.name,
            run.shown(),
            width = width(campaign)
        );
    }
    let all = campaign.runs.len();
    let unknown = if unknown > 0 { format!(", and {unknown} without an estimate") } else { String::new() };
    let time = if done == all {
        "nothing is left".into()
    } else {
        format!("about {} for the others", roughly(total))
    };
    print(&format!(
        "{}: {all} runs in {}, {done} done, {time}{unknown}\n\n{lines}",
        campaign.name,
        folder.display()
    ))?;
    Ok(exit::of_campaign(codes.into_iter(), None))
}

/// What would be done with a run.
fn planned(state: &State) -> &'static str {
    match state {
        State::Missing => "run",
        State::Interrupted { can_resume: true } => "resume",
        State::Done { .. } => "was done",
        State::Interrupted { .. } | State::Failed | State::Changed => "run again",
    }
}

/// The row of a plan that states its time.
fn time_row(plan: &str) -> Option<&str> {
    plan.lines().find_map(|line| line.strip_prefix("time ")).map(str::trim)
}

/// The time that such a row begins with.
fn time(row: &str) -> Option<Duration> {
    let row = row.trim_start_matches("about ").trim_start_matches("up to ");
    humantime::parse_duration(row.split([',', ';', '(']).next()?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_every_plan_is_read() {
        for (row, seconds) in [
            ("about 9.5 s (8.0 s to 12 s)", 9.5),
            ("about 26 s", 26.0),
            ("up to 412 s", 412.0),
            ("about 2 h 5 min (1 h 0 min to 3 h 1 min); 12 s if the maximum load is sustained", 7500.0),
            ("about 30 h (20 h to 50 h)", 108_000.0),
            ("10m, and a short pause after each segment", 600.0),
        ] {
            assert_eq!(time(row).map(|time| time.as_secs_f64()), Some(seconds), "{row}");
        }
        assert_eq!(time("as long as it takes"), None);
        for seconds in [0.4, 9.9, 59.0, 599.0, 4000.0, 35_000.0, 90_000.0, 900_000.0] {
            let shown = roughly(Duration::from_secs_f64(seconds));
            let read = time(&shown).unwrap_or_else(|| panic!("{shown}")).as_secs_f64();
            assert!((read / seconds - 1.0).abs() < 0.3, "{shown}: {read} of {seconds}");
        }
    }
}
