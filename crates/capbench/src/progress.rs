//! Shows the progress of a run on standard error, and saves every trial when it ends.

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_host::HostError;
use capbench_measure::MeasureError;
use capbench_measure::laboratory::Setup;
use capbench_measure::reproduction::{self, LeftOut, Reproduction};
use capbench_measure::results::{NotMeasured, Results, RunDirectory};
use capbench_measure::rfc2544::{self, Tested};
use capbench_measure::search::SearchOutcome;
use capbench_measure::session::Observer;
use capbench_measure::soak;
use capbench_measure::soak::record::{Interval, SoakRecord};
use capbench_measure::soak::segment::Segment;
use capbench_measure::sweep::{self, SweepOutcome};
use capbench_measure::trial::{Load, TrialResult};
use capbench_model::figures::grouped;
use capbench_report::printable;
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::{self, Failure};
use crate::stop::Stop;

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
    /// Whether the last search in the results still runs.
    searching: bool,
}

/// A progress bar that clears its line on every exit path.
struct Bar(ProgressBar);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Recorder {
    /// A recorder for an expected number of trials.
    pub fn new(directory: RunDirectory, results: Results, trials: usize, stop: Stop) -> Self {
        // Drawn on a terminal only: indicatif hides itself elsewhere and respects NO_COLOR.
        let bar = ProgressBar::new(trials as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { directory, results, failures: Vec::new(), bar: Bar(bar), stop, searching: false }
    }

    /// Records the end of a search, for any reason.
    ///
    /// # Errors
    /// The results cannot be saved.
    pub fn searched(&mut self, outcome: SearchOutcome) -> capbench_measure::Result<()> {
        self.found(outcome);
        self.searching = false;
        self.directory.save(&self.results)
    }

    /// Replaces the findings of the running search.
    fn found(&mut self, outcome: SearchOutcome) {
        match self.results.searches.last_mut().filter(|_| self.searching) {
            Some(so_far) => *so_far = outcome,
            None => self.results.searches.push(outcome),
        }
    }

    /// Records a set-up that could not be measured.
    pub fn leave_out(&mut self, setup: &Setup, load: Load, why: &MeasureError) {
        self.failures.push((setup.method.clone(), Failure::of(why)));
        let (size, place) = (&setup.label, setup.placement);
        self.results.not_measured.push(NotMeasured {
            method: setup.method.to_string(),
            test: None,
            placement: Some(place.to_string()),
            frame_size: Some(size.clone()),
            reason: format!("at {load}: {why}"),
        });
        let method = &setup.method;
        self.bar.0.suspend(|| tell!("capbench: not measured: {method}, {size} B, {place}, {load}: {why}"));
        self.bar.0.inc(1);
    }

    /// Records a publication of whose experiment nothing could be measured.
    pub fn leave_out_publication(&mut self, key: &str, why: &MeasureError) {
        self.bar.0.suspend(|| tell!("capbench: not measured: {key}: {why}"));
        self.results.not_measured.push(NotMeasured {
            method: format!("every method of {key}"),
            test: None,
            placement: None,
            frame_size: None,
            reason: why.to_string(),
        });
    }

    /// Removes the bar.
    #[must_use]
    pub fn finish(self) -> Self {
        self.bar.0.finish_and_clear();
        self
    }
}

impl soak::Observer for Recorder {
    fn segment(
        &mut self,
        segment: &Segment,
        interval: &Interval,
        record: &SoakRecord,
    ) -> capbench_measure::Result<()> {
        // Segments are added to a saved record, so the first one saves it.
        if record.segments == 1 || self.directory.append(segment)? {
            self.results.trials.clone_from(&record.kept);
            self.results.soak = Some(record.clone());
            self.directory.save(&self.results)?;
        }
        self.bar.0.inc(1);
        let printed = self.bar.0.suspend(|| exit::write(&soak_line(interval)));
        Ok(printed.map_err(|source| HostError::writing("standard output", source))?)
    }
}

impl Observer for Recorder {
    fn starts(&mut self, what: &str) {
        self.bar.0.set_message(printable::line(what));
    }

    fn ends(&mut self, result: &TrialResult) -> capbench_measure::Result<()> {
        self.results.trials.push(result.clone());
        // The number of trials of a run depends on their results.
        let length = self.bar.0.length().unwrap_or(0).max(self.results.trials.len() as u64);
        self.bar.0.set_length(length);
        self.bar.0.inc(1);
        self.directory.save(&self.results)
    }

    fn skips(&mut self, setup: &Setup, load: Load, why: &MeasureError) {
        self.leave_out(setup, load, why);
    }

    fn stopping(&self) -> bool {
        self.stop.is_wanted()
    }

    fn keeps_searches(&self) -> bool {
        true
    }

    /// Saved with the next trial, so that no file is written twice per trial. If the run is killed, at most the last trial is
    /// missing from the search.
    fn searching(&mut self, so_far: SearchOutcome) {
        self.found(so_far);
        self.searching = true;
    }

    fn searched(&mut self, outcome: SearchOutcome) -> capbench_measure::Result<()> {
        Recorder::searched(self, outcome)
    }
}

impl rfc2544::Follower for Recorder {
    fn tested(&mut self, tested: Tested) -> capbench_measure::Result<()> {
        self.results.rfc2544.push(tested);
        self.directory.save(&self.results)
    }

    /// A test without meaning here is no failure: the report says why.
    fn passes_over(&mut self, setup: &Setup, test: rfc2544::Test, why: String) {
        self.results.not_measured.push(NotMeasured {
            method: setup.method.to_string(),
            test: Some(test.key().into()),
            placement: Some(setup.placement.to_string()),
            frame_size: Some(setup.label.clone()),
            reason: why,
        });
    }
}

impl reproduction::Observer for Recorder {
    fn leaves_out(&mut self, left: &LeftOut) {
        let LeftOut { method, placement, reason } = left;
        let missing = NotMeasured {
            method: method.to_string(),
            test: None,
            placement: Some(placement.to_string()),
            frame_size: None,
            reason: reason.clone(),
        };
        if !self.results.not_measured.contains(&missing) {
            self.bar.0.suspend(|| tell!("capbench: not measured: {method}, placement {placement}: {reason}"));
            self.results.not_measured.push(missing);
        }
    }

    fn reproduced(&mut self, so_far: Reproduction) -> capbench_measure::Result<()> {
        match self.results.reproductions.iter_mut().find(|known| known.key == so_far.key) {
            Some(known) => *known = so_far,
            None => self.results.reproductions.push(so_far),
        }
        self.directory.save(&self.results)
    }
}

impl sweep::Observer for Recorder {
    /// Saved with the next trial, so that no file is written twice per trial. If the run is killed, at most the last visit has
    /// saved trials but no reading.
    fn swept(&mut self, so_far: SweepOutcome) {
        // An unfinished sweep is this one: a run ends with a sweep that was stopped.
        match self.results.sweeps.last_mut().filter(|last| last.stopped) {
            Some(known) => *known = so_far,
            None => self.results.sweeps.push(so_far),
        }
    }
}

/// The line of a segment of a soak.
fn soak_line(segment: &Interval) -> String {
    let places: Vec<_> = segment.lost.iter().map(|(place, count)| format!("{place} {count}")).collect();
    let mut places = if places.is_empty() { "-".into() } else { places.join(", ") };
    if segment.counts.unexplained != 0 {
        places.push_str(&format!(", unexplained {}", segment.counts.unexplained));
    }
    if segment.untaken > 0 {
        places.push_str(&format!(", in buffers at the end {}", segment.untaken));
    }
    let care = if segment.disturbed > 0 || segment.invalid > 0 { " *" } else { "" };
    let end = Duration::from_millis(((segment.from_s + segment.sending_s) * 10.0).round() as u64 * 100);
    format!(
        "{:>10} {:>12} {:>12} {:>12}  {places}{care}\n",
        humantime::format_duration(end).to_string().replace(' ', ""),
        grouped(segment.offered_pps()),
        grouped(segment.counts.delivered as f64),
        grouped(segment.lost() as f64)
    )
}
