//! A driver's counters at one moment, and their difference between two moments.

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_sys::host::ethtool::{self, DriverCounter};

use super::table::{Driver, known};
use crate::Result;

/// Number of readings to detect a counter that grows when it is read.
const READINGS: usize = 3;

/// Delay before the last of these readings if a counter changed between the first two. By then a counter of frames has changed
/// further; a counter that grows by being read has not.
const LATER: Duration = Duration::from_millis(5);

/// Upper limit of readings of a counter within a trial: capbench reads a few times, drivers every other second, monitoring
/// tools also. A larger implied number means that frames were counted.
const MOST_READINGS: u64 = 1000;

/// Most counters of unknown meaning that [`raw`] shows: some drivers have thousands, most of which change.
const MOST_UNKNOWN: usize = 200;

/// A driver's name and counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicSnapshot {
    name: Option<String>,
    counters: Vec<Reading>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    name: String,
    value: u64,
    /// Growth of the value at each reading without any traffic: see [`Driver::adds_registers`].
    register: u64,
}

impl Reading {
    /// Whether the value adds up a register at each reading. Then it did so at `before`, too, unless the register was still 0;
    /// the register only grows; and the value grew by a plausible number of registers. A correct counter that counts lost
    /// frames while it is read fails these tests.
    fn is_register_since(&self, before: &Self) -> bool {
        let grown = self.value.saturating_sub(before.value);
        let was_register = before.register > 0 || before.value == 0;
        self.register > 0
            && was_register
            && before.register <= self.register
            && (self.register..=self.register.saturating_mul(MOST_READINGS)).contains(&grown)
    }
}

/// The difference of one counter between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterDelta {
    /// Its name in the driver; not unique.
    pub name: String,
    /// The count.
    pub count: u64,
    /// Whether the counter grows by being read, so that the count is that of its register.
    pub by_register: bool,
}

impl NicSnapshot {
    /// Reads the counters of `interface` in the calling thread's network namespace. With many drivers this also updates the
    /// link statistics, so read those afterwards.
    ///
    /// # Errors
    /// The interface does not exist, or the kernel refuses. An interface without counters is no error.
    pub fn take(interface: &str) -> Result<Self> {
        let name = match ethtool::driver(interface) {
            Ok(info) => Some(info.driver),
            Err(error) if error.errno() == Some(NOT_SUPPORTED) => None,
            Err(error) => return Err(error.into()),
        };
        let read = || ethtool::counters(interface).map(Option::unwrap_or_default);
        let first = read()?;
        let adds = name.as_deref().and_then(known).is_some_and(|driver| driver.adds_registers);
        let mut readings = vec![first];
        while adds && readings.len() < READINGS {
            if readings.len() + 1 == READINGS && readings[0] != readings[1] {
                std::thread::sleep(LATER);
            }
            readings.push(read()?);
        }
        Ok(Self::of(name, &readings))
    }

    /// Counters from consecutive readings without traffic in between.
    fn of(name: Option<String>, readings: &[Vec<DriverCounter>]) -> Self {
        let Some((first, others)) = readings.split_first() else {
            return Self { name, counters: Vec::new() };
        };
        let counters = first.iter().enumerate().map(|(index, counter)| {
            let values = std::iter::once(counter.value)
                .chain(others.iter().filter_map(|reading| reading.get(index)).map(|counter| counter.value));
            Reading { name: counter.name.clone(), value: counter.value, register: steady_step(values) }
        });
        Self { name, counters: counters.collect() }
    }

    /// The kernel's name of the driver; `None` if the interface has none.
    pub fn driver_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The driver's entry in the table; `None` if the table does not contain it.
    pub fn driver(&self) -> Option<&'static Driver> {
        self.name.as_deref().and_then(known)
    }

    /// Counts since `before`, in the driver's order. A new counter or one that decreased (a gauge, or a driver reset) is
    /// omitted.
    pub fn since(&self, before: &Self) -> Vec<CounterDelta> {
        let mut earlier: BTreeMap<(&str, usize), &Reading> = BTreeMap::new();
        for (occurrence, reading) in numbered(&before.counters) {
            earlier.insert((&reading.name, occurrence), reading);
        }
        let delta = |(occurrence, reading): (usize, &Reading)| {
            let then = earlier.get(&(reading.name.as_str(), occurrence))?;
            let by_register = reading.is_register_since(then);
            let count = if by_register {
                reading.register.checked_sub(then.register)?
            } else {
                reading.value.checked_sub(then.value)?
            };
            Some(CounterDelta { name: reading.name.clone(), count, by_register })
        };
        numbered(&self.counters).filter_map(delta).collect()
    }
}

/// EOPNOTSUPP of errno(3).
const NOT_SUPPORTED: i32 = 95;

/// The difference between consecutive values if it is constant; else 0.
fn steady_step(values: impl Iterator<Item = u64>) -> u64 {
    let values: Vec<u64> = values.collect();
    let mut steps = values.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
    match steps.next().flatten() {
        Some(step) if values.len() == READINGS && steps.all(|other| other == Some(step)) => step,
        _ => 0,
    }
}

/// Each with the number of earlier ones of the same name.
fn numbered(readings: &[Reading]) -> impl Iterator<Item = (usize, &Reading)> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    readings.iter().map(move |reading| {
        let count = seen.entry(&reading.name).or_default();
        *count += 1;
        (*count - 1, reading)
    })
}

/// The counters that changed, for manual checks: all known ones, and a readable number of others. Repeated names get a number.
/// No two counters are added.
pub fn raw(driver: Option<&Driver>, deltas: &[CounterDelta]) -> BTreeMap<String, u64> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut shown, mut unknown) = (BTreeMap::new(), 0);
    for delta in deltas {
        let occurrence = seen.entry(delta.name.trim()).or_default();
        *occurrence += 1;
        if delta.count == 0 {
            continue;
        }
        if driver.and_then(|driver| driver.row_of(&delta.name)).is_none() {
            unknown += 1;
            if unknown > MOST_UNKNOWN {
                continue;
            }
        }
        let name = delta.name.trim();
        let key = if *occurrence > 1 { format!("{name}#{occurrence}") } else { name.to_string() };
        shown.insert(key, delta.count);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(text: &str) -> Vec<DriverCounter> {
        text.lines()
            .filter_map(|line| line.rsplit_once(": "))
            .map(|(name, value)| DriverCounter { name: name.into(), value: value.parse().unwrap() })
            .collect()
    }

    fn snapshot(text: &str) -> NicSnapshot {
        NicSnapshot::of(Some("vmxnet3".into()), &[counters(text)])
    }

    fn counts(deltas: &[CounterDelta]) -> Vec<(&str, u64)> {
        deltas.iter().map(|delta| (delta.name.as_str(), delta.count)).collect()
    }

    #[test]
    fn repeated_names_are_distinguished_by_their_order() {
        let before = snapshot("Rx Queue#: 0\n  pkts rx OOB: 5\nRx Queue#: 1\n  pkts rx OOB: 7\n");
        let after = snapshot("Rx Queue#: 0\n  pkts rx OOB: 6\nRx Queue#: 1\n  pkts rx OOB: 17\n");
        let deltas = after.since(&before);
        assert_eq!(
            counts(&deltas),
            [("Rx Queue#", 0), ("  pkts rx OOB", 1), ("Rx Queue#", 0), ("  pkts rx OOB", 10)]
        );
        let shown = raw(after.driver(), &deltas);
        assert_eq!(shown, [("pkts rx OOB".to_string(), 1), ("pkts rx OOB#2".to_string(), 10)].into());
    }

    #[test]
    fn decreasing_and_new_counters_are_left_out() {
        let (before, after) = (snapshot("a: 5\nb: 5\n"), snapshot("a: 4\nb: 6\nc: 9\n"));
        assert_eq!(counts(&after.since(&before)), [("b", 1)]);
    }

    /// As an emulated e1000 does: reading does not clear the register, and the driver adds it up again.
    #[test]
    fn a_counter_that_grows_by_being_read_is_replaced_by_its_register() {
        let readings = |values: [u64; 3]| {
            let texts =
                values.map(|value| counters(&format!("rx_missed_errors: {value}\nrx_packets: 100\n")));
            NicSnapshot::of(Some("e1000".into()), &texts)
        };
        let (before, after) = (readings([5000, 5500, 6000]), readings([7000, 8200, 9400]));
        let deltas = after.since(&before);
        assert_eq!(counts(&deltas), [("rx_missed_errors", 700), ("rx_packets", 0)]);
        assert!(deltas[0].by_register && !deltas[1].by_register);
        let sound = readings([900, 900, 900]).since(&readings([100, 100, 100]));
        assert_eq!((sound[0].count, sound[0].by_register), (800, false));
    }

    /// Steady overload: the counter moves by two between readings some microseconds apart.
    #[test]
    fn a_sound_counter_that_moves_steadily_while_it_is_read_stays_one() {
        let readings = |values: [u64; 3]| {
            let texts = values.map(|value| counters(&format!("rx_missed_errors: {value}\n")));
            NicSnapshot::of(Some("e1000".into()), &texts)
        };
        let counted = |before: [u64; 3], after: [u64; 3]| {
            let deltas = readings(after).since(&readings(before));
            (deltas[0].count, deltas[0].by_register)
        };
        assert_eq!(
            counted([0, 0, 0], [100_000, 100_002, 100_004]),
            (100_000, false),
            "too much for readings"
        );
        assert_eq!(
            counted([500, 500, 500], [600, 602, 604]),
            (100, false),
            "it did not change when nothing came"
        );
        assert_eq!(counted([500, 509, 518], [600, 602, 604]), (100, false), "a register does not shrink");
        assert_eq!(counted([0, 0, 0], [100_000, 100_002, 101_004]), (100_000, false), "it moves by time");
        assert_eq!(counted([0, 0, 0], [20, 40, 60]), (20, true), "the register had counted nothing before");
    }

    #[test]
    fn the_flood_of_unknown_names_is_bounded() {
        let text: String = (0..5000).map(|index| format!("x{index}: {index}\n")).collect();
        let deltas = snapshot(&text).since(&snapshot(&text.replace(": ", ": 0").replace(": 00", ": 0")));
        assert_eq!(raw(None, &deltas).len(), 0, "none moved");
        let zero: String = (0..5000).map(|index| format!("x{index}: 0\n")).collect();
        let deltas = snapshot(&text).since(&snapshot(&zero));
        assert_eq!(raw(None, &deltas).len(), MOST_UNKNOWN);
    }
}
