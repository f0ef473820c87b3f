//! Saves every trial when it ends, and shows the progress of a run on standard error.

use std::time::{Duration, Instant};

use capbench_judge::durations::{AnnouncedTime, Planned};
use capbench_judge::reproduction::LeftOut;
use capbench_judge::reproduction::Reproduction;
use capbench_judge::rfc2544::{NotTested, Tested};
use capbench_judge::search::SearchOutcome;
use capbench_judge::soak::record::{Interval, SoakRecord};
use capbench_judge::soak::segment::Segment;
use capbench_judge::sweep::SweepOutcome;
use capbench_judge::thresholds::TURN_LENGTH;
use capbench_lab::LabError;
use capbench_model::TrialError;
use capbench_model::laboratory::Setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::not_measured::NotMeasured;
use capbench_model::saved::Saved;
use capbench_model::trial::{Load, TrialResult};
use capbench_plan::Observer;
use capbench_plan::{PlanError, Result};
use capbench_report::sentences::saved;
use capbench_report::{ReportError, planned_load_words};
use capbench_report::{printable, sentences};
use capbench_results::{Results, ResultsError, RunDirectory};
use indicatif::{ProgressBar, ProgressStyle};

use super::{soak_progress, words};
use crate::exit::Failure;
use crate::metrics::Run as Monitor;
use crate::output;
use crate::signals::Stop;

/// Trials in turns are short and many, and each time all results are written. If the run is killed, those of up to this time are missing.
const BETWEEN_TURNS_SAVED: Duration = Duration::from_secs(1);

/// The observer of a run.
pub struct Recorder {
    /// Where results go.
    pub directory: RunDirectory,
    /// Results so far.
    pub results: Results,
    /// Why set-ups could not be measured, with the method.
    pub failures: Vec<(MethodSpec, Failure)>,
    bar: Bar,
    stop: Stop,
    monitor: Option<Monitor>,
    /// When the results were last saved.
    saved: Instant,
    /// Whether the last search in the results still runs.
    searching: bool,
    /// When the first trial began; absent before.
    began: Option<Instant>,
    /// The time that the user expects. Absent if the user or the plan set it.
    expected: Option<AnnouncedTime>,
}

/// A progress bar that clears its line on every exit path. It is drawn between trials only: while frames are sent, no thread of
/// this process wakes up.
struct Bar(ProgressBar);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Saves results, each fact with its words.
///
/// # Errors
/// [`ResultsError`]: the folder cannot be written.
pub fn save_with_words(
    directory: &mut RunDirectory,
    results: &mut Results,
) -> std::result::Result<(), ResultsError> {
    saved::add_words(results);
    directory.save(results)
}

impl Recorder {
    /// Saves the first results, and announces the time of the run.
    pub fn new(
        mut directory: RunDirectory,
        mut results: Results,
        planned: Planned,
        stop: Stop,
        monitor: Option<Monitor>,
    ) -> Result<Self> {
        save_with_words(&mut directory, &mut results).map_err(PlanError::observer)?;
        // Drawn on a terminal only: indicatif hides itself elsewhere and respects NO_COLOR.
        let bar = ProgressBar::new(planned.trials as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        let expected = AnnouncedTime::of_plan(planned);
        if let Some(time) = expected.as_ref().and_then(AnnouncedTime::worth_announcing) {
            tell!("capbench: this takes about {}", words::planned_time(time));
        }
        let now = Instant::now();
        Ok(Self {
            directory,
            results,
            failures: Vec::new(),
            bar: Bar(bar),
            stop,
            monitor,
            saved: now,
            searching: false,
            began: None,
            expected,
        })
    }

    /// Prints on standard output while the bar is shown.
    pub fn print(&self, text: &str) -> Result<()> {
        let printed = self.bar.0.suspend(|| output::write(text));
        let path = "standard output".into();
        printed.map_err(|source| PlanError::observer(ReportError::Unwritable(path, source)))
    }

    /// Replaces the outcome of the running search.
    fn found(&mut self, outcome: SearchOutcome) {
        match self.results.searches.last_mut().filter(|_| self.searching) {
            Some(so_far) => *so_far = outcome,
            None => self.results.searches.push(outcome),
        }
    }

    /// Records a publication of whose experiment nothing could be measured.
    pub fn leave_out_publication(&mut self, key: &str, why: &TrialError) {
        self.bar.0.suspend(|| tell!("capbench: not measured: {key}: {why}"));
        let every_method = Saved::Other(format!("every method of {key}"));
        self.results.not_measured.push(NotMeasured::new(every_method, None, why.to_string()));
    }

    /// Announces another time if trials take longer on this host, or less long, than was supposed.
    fn correct_time(&mut self, trial: &TrialResult) {
        let (Some(expected), Some(began)) = (&mut self.expected, self.began) else { return };
        if let Some(time) = expected.corrected_after(trial, began.elapsed()) {
            let trials = self.results.trials.len();
            let time = words::roughly(time);
            self.bar
                .0
                .suspend(|| tell!("capbench: by its first {trials} trials this takes about {time} in all"));
        }
    }

    fn save(&mut self) -> Result<()> {
        self.saved = Instant::now();
        save_with_words(&mut self.directory, &mut self.results).map_err(PlanError::observer)
    }

    /// Removes the bar.
    #[must_use]
    pub fn finish(self) -> Self {
        self.bar.0.finish_and_clear();
        self
    }
}

/// Why a trial could not run. A program's error begins with the method, which is saved next to it.
fn cause(why: &TrialError) -> String {
    match LabError::inside(why) {
        Some(LabError::Program { reason, .. }) => reason.clone(),
        _ => why.to_string(),
    }
}

impl Observer for Recorder {
    fn starts(&mut self, what: &str) {
        self.began.get_or_insert_with(Instant::now);
        self.bar.0.set_message(printable::line(what));
    }

    fn ends(&mut self, result: &TrialResult) -> Result<()> {
        self.results.trials.push(result.clone());
        // The number of trials of a run depends on their results.
        let length = self.bar.0.length().unwrap_or(0).max(self.results.trials.len() as u64);
        self.bar.0.set_length(length);
        self.bar.0.inc(1);
        self.correct_time(result);
        let is_short = result.duration_s <= TURN_LENGTH.as_secs_f64();
        if is_short && self.saved.elapsed() < BETWEEN_TURNS_SAVED {
            return Ok(());
        }
        self.save()
    }

    fn skips(&mut self, setup: &Setup, load: Load, why: &TrialError) {
        let (Setup { method, placement, .. }, label) = (setup, setup.label());
        let load_words = planned_load_words(load);
        self.failures.push((method.clone(), Failure::of(why)));
        self.bar.0.suspend(|| {
            tell!("capbench: not measured: {method}, {label} B, {placement}, {load_words}: {why}")
        });
        let missing = NotMeasured::new(Saved::Known(method.clone()), Some(*placement), cause(why));
        self.results.not_measured.push(NotMeasured { frame_size: Some(label), load: Some(load), ..missing });
        self.bar.0.inc(1);
    }

    fn stopping(&self) -> bool {
        self.stop.is_wanted()
    }

    fn keeps_searches(&self) -> bool {
        true
    }

    /// Saved with the next trial, so that no file is written twice per trial. If the run is killed, up to one trial, the last, is
    /// missing from the search.
    fn searching(&mut self, so_far: SearchOutcome) {
        self.found(so_far);
        self.searching = true;
    }

    fn searched(&mut self, outcome: SearchOutcome) -> Result<()> {
        self.found(outcome);
        self.searching = false;
        self.save()
    }

    fn segment(&mut self, segment: &Segment, interval: &Interval, record: &SoakRecord) -> Result<()> {
        // Segments are added to a saved record, so the first one saves it.
        let mut segment = segment.clone();
        saved::add_words_to_trial(&mut segment.trial);
        if record.segments == 1 || self.directory.append(&segment).map_err(PlanError::observer)? {
            self.results.trials.clone_from(&record.kept);
            self.results.soak = Some(record.clone());
            self.save()?;
        }
        if let Some(monitor) = &self.monitor {
            monitor.note_soak(record);
        }
        self.bar.0.inc(1);
        self.print(&soak_progress::line(interval))
    }

    fn tested(&mut self, tested: Tested) -> Result<()> {
        self.results.rfc2544.push(tested);
        self.save()
    }

    /// A test without meaning here is no failure: the report says why.
    fn passes_over(&mut self, setup: &Setup, test: &'static str, because: NotTested) {
        let (test, frame_size) = (Some(test.into()), Some(setup.label()));
        let reason = sentences::not_tested_words(&because);
        let missing = NotMeasured::new(Saved::Known(setup.method.clone()), Some(setup.placement), reason);
        self.results.not_measured.push(NotMeasured { test, frame_size, ..missing });
    }

    fn leaves_out(&mut self, left: &LeftOut) {
        let LeftOut { method, placement, reason } = left;
        let missing = NotMeasured::new(Saved::Known(method.clone()), Some(*placement), reason.clone());
        if !self.results.not_measured.contains(&missing) {
            self.bar.0.suspend(|| tell!("capbench: not measured: {method}, placement {placement}: {reason}"));
            self.results.not_measured.push(missing);
        }
    }

    fn reproduced(&mut self, so_far: Reproduction) -> Result<()> {
        match self.results.reproductions.iter_mut().find(|known| known.key == so_far.key) {
            Some(known) => *known = so_far,
            None => self.results.reproductions.push(so_far),
        }
        self.save()
    }

    /// Saved with the next trial, so that no file is written twice per trial. If the run is killed, up to one visit, the last, has
    /// saved trials but no reading.
    fn swept(&mut self, so_far: SweepOutcome) {
        // An unfinished sweep is this one: a run ends with a sweep that was stopped.
        match self.results.sweeps.last_mut().filter(|last| last.stopped) {
            Some(known) => *known = so_far,
            None => self.results.sweeps.push(so_far),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LabError, TrialError, cause};

    #[test]
    fn the_cause_of_a_program_is_without_its_name() {
        let not_ready = "it was not ready within 10s";
        let error = LabError::Program { program: "./mine".into(), reason: not_ready.into() };
        assert_eq!(cause(&TrialError::from(error)), not_ready);
        let reason = "no driver".into();
        let unsupported = TrialError::Unsupported { what: "af-xdp".into(), reason };
        assert_eq!(cause(&unsupported), "af-xdp cannot run here: no driver");
    }
}
