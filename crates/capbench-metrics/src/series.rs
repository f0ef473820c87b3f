//! The values of all metrics, and their two text forms.
//!
//! A mutex guards them. The thread that samples takes it ten times a second and the server takes it at a scrape; no thread that
//! captures takes it.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::families::{ALL, Family, Kind};

/// Names and values of labels.
pub type Labels = Vec<(&'static str, String)>;

/// Upper bounds of the buckets of shares.
const SHARES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0];

/// The value of a series.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Count(u64),
    Level(f64),
    /// Counts of samples up to each bound of [`SHARES`] and above the one before, and the sum of the samples.
    Samples([u64; SHARES.len()], f64),
}

impl Value {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Self::Count(count) => ConstCounter::new(*count).encode(encoder),
            Self::Level(level) => ConstGauge::new(*level).encode(encoder),
            Self::Samples(counts, sum) => {
                let beyond = [(f64::INFINITY, 0)];
                let buckets: Vec<_> = SHARES.into_iter().zip(*counts).chain(beyond).collect();
                encoder.encode_histogram::<NoLabelSet>(*sum, counts.iter().sum(), &buckets, None)
            }
        }
    }
}

/// The values of all metrics of this process.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    series: Arc<Mutex<BTreeMap<(Family, Labels), Value>>>,
    /// Labels of every series.
    common: Labels,
}

/// A text form of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which node_exporter's textfile collector and `promtool check metrics` read.
    Prometheus,
}

impl Form {
    /// Its media type (RFC 9110).
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

impl Metrics {
    /// Metrics of this version of the program.
    pub fn new(version: &str) -> Self {
        let metrics = Self::default();
        metrics.set(Family::BuildInfo, vec![("version", version.into())], 1.0);
        metrics
    }

    /// The same metrics, each series with these labels, too.
    #[must_use]
    pub fn with_common(&self, common: Labels) -> Self {
        Self { series: Arc::clone(&self.series), common }
    }

    fn series(&self) -> MutexGuard<'_, BTreeMap<(Family, Labels), Value>> {
        // No code that holds it leaves a value half written.
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to a counter. With 0 the series begins, so that a scrape shows its first increase.
    pub fn add(&self, family: Family, labels: Labels, count: u64) {
        if let Value::Count(total) = self.series().entry((family, labels)).or_insert(Value::Count(0)) {
            *total += count;
        }
    }

    /// Raises a counter to a total.
    pub fn raise(&self, family: Family, labels: Labels, total: u64) {
        if let Value::Count(known) = self.series().entry((family, labels)).or_insert(Value::Count(0)) {
            *known = total.max(*known);
        }
    }

    /// Sets a gauge.
    pub fn set(&self, family: Family, labels: Labels, level: f64) {
        self.series().insert((family, labels), Value::Level(level));
    }

    /// Adds a share to a histogram.
    pub fn sample(&self, family: Family, labels: Labels, share: f64) {
        let mut series = self.series();
        let none = Value::Samples([0; SHARES.len()], 0.0);
        if let Value::Samples(counts, sum) = series.entry((family, labels)).or_insert(none) {
            // No share is above 1.
            let bucket = SHARES.iter().position(|bound| share <= *bound).unwrap_or(SHARES.len() - 1);
            counts[bucket] += 1;
            *sum += share;
        }
    }

    /// Removes a series.
    pub fn remove(&self, family: Family, labels: &Labels) {
        self.series().remove(&(family, labels.clone()));
    }

    /// Removes every series of an interface.
    pub fn forget_interface(&self, interface: &str) {
        self.series().retain(|(_, labels), _| {
            !labels.iter().any(|(name, value)| *name == "interface" && value == interface)
        });
    }

    /// The value of a counter; absent if it has no such series.
    pub fn get(&self, family: Family, labels: &Labels) -> Option<u64> {
        match self.series().get(&(family, labels.clone()))? {
            Value::Count(count) => Some(*count),
            Value::Level(_) | Value::Samples(..) => None,
        }
    }

    /// The sum of a counter over all its series with this label; 0 if there is none.
    pub fn total(&self, family: Family, label: Option<(&str, &str)>) -> u64 {
        let series = self.series();
        let is_its = |(of, labels): &(Family, Labels)| {
            *of == family
                && label.is_none_or(|label| labels.iter().any(|(name, value)| (*name, &**value) == label))
        };
        let counts = series.iter().filter(|(key, _)| is_its(key)).map(|(_, value)| match value {
            Value::Count(count) => *count,
            Value::Level(_) | Value::Samples(..) => 0,
        });
        counts.sum()
    }

    /// The metrics as text.
    pub fn text(&self, form: Form) -> String {
        let begin = Instant::now();
        let mut registry = Registry::with_labels(
            self.common.iter().map(|(name, value)| ((*name).into(), value.clone().into())),
        );
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode_registry(&mut text, &registry).and_then(|()| encode_eof(&mut text));
        self.note_duration(begin.elapsed());
        match form {
            Form::OpenMetrics => text,
            Form::Prometheus => in_prometheus_text(&text),
        }
    }

    fn note_duration(&self, duration: Duration) {
        self.set(Family::ScrapeDuration, Labels::new(), duration.as_secs_f64());
    }

    /// Number of series, each bucket of a histogram being one.
    pub fn count(&self) -> usize {
        self.text(Form::Prometheus).lines().filter(|line| !line.starts_with('#')).count()
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let series = self.series().clone();
        let is_unknown = |labels: &Labels| series.contains_key(&(Family::PlaceUnknown, labels.clone()));
        for &family in ALL {
            // A count is not shown while it is not known whether it is the whole one. It continues when it is known again.
            let has_place = matches!(family, Family::Lost | Family::LossyWindows);
            let is_shown = |labels: &Labels| !has_place || !is_unknown(labels);
            let of = || series.iter().filter(|((of, labels), _)| *of == family && is_shown(labels));
            if of().next().is_none() {
                continue;
            }
            let about = family.about();
            let (name, kind) = match about.kind {
                // The encoder adds the suffix.
                Kind::Counter => (about.name.trim_end_matches("_total"), MetricType::Counter),
                Kind::Gauge => (about.name, MetricType::Gauge),
                Kind::Histogram => (about.name, MetricType::Histogram),
            };
            let mut metric = encoder.encode_descriptor(name, about.help, None, kind)?;
            for ((_, labels), value) in of() {
                if labels.is_empty() {
                    // Its only series.
                    value.encode(metric)?;
                    break;
                }
                value.encode(metric.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// OpenMetrics as Prometheus' text format 0.0.4: there a counter's description has the name of its series, and no line ends the
/// text.
fn in_prometheus_text(text: &str) -> String {
    let is_counter =
        |name: &str| ALL.iter().any(|family| family.about().name.strip_suffix("_total") == Some(name));
    let mut converted = String::with_capacity(text.len());
    for line in text.lines().filter(|line| *line != "# EOF") {
        let mut words = line.splitn(4, ' ');
        let written = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(what @ ("HELP" | "TYPE")), Some(name), Some(rest)) if is_counter(name) => {
                writeln!(converted, "# {what} {name}_total {rest}")
            }
            _ => writeln!(converted, "{line}"),
        };
        // Writing to a string does not fail.
        let _ = written;
    }
    converted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::SHARES;

    #[test]
    fn the_alert_rules_compare_with_bounds_of_buckets_and_their_tests_have_every_bucket() {
        let bounds: Vec<_> = SHARES.iter().map(|bound| format!("{bound:?}")).chain(["+Inf".into()]).collect();
        let rules = include_str!("../../../packaging/prometheus/capbench.rules.yml");
        let compared: Vec<_> = rules.lines().filter(|line| line.contains("histogram_quantile(")).collect();
        assert!(!compared.is_empty());
        for line in compared {
            let (_, limit) = line.split_once(" > ").expect(line);
            assert!(bounds.contains(&limit.to_string()), "{line}");
        }
        let tests = include_str!("../../../packaging/prometheus/capbench.rules.test.yml");
        for test in tests.split("- name: ") {
            let mut buckets = BTreeMap::<&str, Vec<&str>>::new();
            for line in test.lines().filter(|line| line.contains("_bucket{")) {
                let (series, rest) = line.split_once("le=\"").expect(line);
                buckets.entry(series).or_default().extend(rest.split('"').next());
            }
            for (series, of_series) in buckets {
                assert_eq!(of_series, bounds, "{series}");
            }
        }
    }
}
