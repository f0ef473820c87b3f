//! The packaged alert rules on what a mix was scraped, 15 s from one scrape to the next.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::support::scrape::Scrape;

/// Scrapes before the first one of capbench: the rules look back 15 minutes.
const EARLIER: usize = 61;
/// Scrapes after the last one, which show the same: the alerts wait up to 2 minutes.
const LATER: usize = 10;
const SCRAPE_S: usize = 15;
/// The rules' threshold: lost frames for each frame that came.
const THRESHOLD: f64 = 0.001;
/// As near to the threshold as this share of it, a test shows nothing.
const NEAR: f64 = 0.02;

/// The counters of the alerts, by their series, as each scrape has them.
#[derive(Debug)]
pub struct Series {
    values: BTreeMap<String, Vec<Option<u64>>>,
    scrapes: usize,
}

const COUNTERS: [&str; 5] = [
    "capbench_lost_frames_total",
    "capbench_received_frames_total",
    "capbench_lossy_windows_total",
    "capbench_socket_lost_frames_total",
    "capbench_socket_delivered_frames_total",
];

impl Series {
    pub fn new(scrapes: &[Scrape]) -> Self {
        let mut values: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
        for (nth, scrape) in scrapes.iter().enumerate() {
            for line in scrape.0.lines() {
                let Some((series, value)) = line.rsplit_once(' ') else { continue };
                let Some((name, _)) = series.split_once('{') else { continue };
                if COUNTERS.contains(&name) {
                    let of_series = values.entry(series.into()).or_insert_with(|| vec![None; scrapes.len()]);
                    of_series[nth] = Some(value.parse().unwrap());
                }
            }
        }
        Self { values, scrapes: scrapes.len() }
    }

    /// The values of the series of a counter, with their labels.
    fn of(&self, name: &str) -> impl Iterator<Item = (&str, &[Option<u64>])> {
        let head = format!("{name}{{");
        self.values.iter().filter_map(move |(series, values)| {
            let labels = series.strip_prefix(&head)?.strip_suffix('}')?;
            Some((labels, values.as_slice()))
        })
    }

    /// Checks that no counter ever went down.
    pub fn assert_only_grow(&self) {
        for (series, values) in &self.values {
            let known: Vec<_> = values.iter().flatten().collect();
            assert!(known.is_sorted(), "{series}: {values:?}");
        }
    }

    /// The alerts that have to fire, by their labels; none if a loss was too near to the threshold.
    pub fn expected(&self) -> Option<Vec<String>> {
        let (_, received) = self.of(COUNTERS[1]).next()?;
        let delivered: BTreeMap<_, _> = self.of(COUNTERS[4]).collect();
        let mut alerts = Vec::new();
        let mut was_critical = false;
        for (labels, lost) in self.of(COUNTERS[0]).filter(|(labels, _)| !labels.contains("place=\"ring\"")) {
            let passed = passes(lost, received)?;
            was_critical |= passed.contains(&true);
            if passed.last() == Some(&true) {
                alerts.push(format!("alertname=\"CapbenchInterfaceLosesFrames\", {labels}"));
            }
        }
        for (labels, lost) in self.of(COUNTERS[3]) {
            let passed = passes(lost, delivered[labels])?;
            was_critical |= passed.contains(&true);
            if passed.last() == Some(&true) {
                let labels: Vec<_> = labels.split(',').filter(|label| !label.starts_with("group=")).collect();
                alerts.push(format!("alertname=\"CapbenchProgramLosesFrames\", {}", labels.join(",")));
            }
        }
        if !was_critical {
            let lossy = self.of(COUNTERS[2]).filter(|(_, windows)| windows.last() > Some(&Some(0)));
            alerts.extend(lossy.map(|(labels, _)| format!("alertname=\"CapbenchLosesInBursts\", {labels}")));
        }
        Some(alerts)
    }

    /// A test of promtool that exactly these alerts fire.
    pub fn test(&self, alerts: &[String]) -> String {
        let mut text = String::from("  - interval: 15s\n    input_series:\n");
        let place = "job=\"capbench\", instance=\"sensor:9873\"";
        let all = EARLIER + self.scrapes + LATER;
        let _ = writeln!(text, "      - series: 'up{{{place}}}'\n        values: '1x{all}'");
        for (series, values) in &self.values {
            let labelled = series.replacen('{', &format!("{{{place}, "), 1);
            let _ = write!(text, "      - series: '{labelled}'\n        values: '_x{EARLIER}");
            for value in values {
                let _ = write!(text, " {}", value.map_or("_".into(), |value| value.to_string()));
            }
            // A series that ended stays as it was.
            let last = values.iter().rev().flatten().next().unwrap();
            let _ = writeln!(text, " {last}x{LATER}'");
        }
        let at = (EARLIER + self.scrapes + LATER - 1) * SCRAPE_S;
        let names = "Capbench(InterfaceLosesFrames|ProgramLosesFrames|LosesInBursts)";
        let firing = format!("ALERTS{{alertstate=\"firing\", alertname=~\"{names}\"}}");
        let _ = write!(
            text,
            "    promql_expr_test:\n      - expr: count by (alertname, interface, place, program, method) ({firing})\n        \
             eval_time: {at}s\n        exp_samples: ["
        );
        for alert in alerts {
            let _ = write!(text, "\n          {{labels: '{{{alert}}}', value: 1}},");
        }
        text + "]\n"
    }
}

/// Whether the loss passed the threshold at each scrape; none if it was too near to it at one of them.
fn passes(lost: &[Option<u64>], came: &[Option<u64>]) -> Option<Vec<bool>> {
    let pairs =
        lost.iter().zip(came).map(|(lost, came)| (lost.unwrap_or(0) as f64, came.unwrap_or(0) as f64));
    pairs
        .map(|(lost, came)| {
            let limit = THRESHOLD * came;
            let is_near = lost > 0.0 && (lost - limit).abs() <= NEAR * limit;
            (!is_near).then_some(lost > limit)
        })
        .collect()
}
