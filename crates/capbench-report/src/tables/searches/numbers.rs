//! Rates of each search without loss and with little loss, and how often frames were lost. Read them together: on a noisy host
//! each of them alone misleads.

use capbench_judge::search::{Held, LossEvents, SearchOutcome};

use super::set_up_and_number;
use crate::figures::count;
use crate::model::{Cell, Table};
use crate::naming::time;
use crate::tables::rows::{Fields, Rows};

/// A row per search.
pub(super) fn table(searches: &[SearchOutcome]) -> Option<Table> {
    let mut rows = Rows::new();
    for search in searches {
        let numbers = &search.numbers;
        let strict = &numbers.strict_lossless;
        // Without a sustained rate, its own cell shows the upper bound; "at least" has none.
        let is_between_bounds = strict.pps.is_some() && !strict.at_least;
        let lossy_from_pps = if is_between_bounds { strict.upper_pps } else { None };
        let fields = set_up_and_number(search)
            .figure("strict_lossless_pps", "without any loss", sustained_rate(strict))
            .figure("strict_lossless_below_pps", "with loss from", Cell::whole_rate_or_empty(lossy_from_pps))
            .figure("ndr_pps", "NDR", sustained_rate(&numbers.ndr))
            .figure("pdr_pps", "PDR", sustained_rate(&numbers.pdr))
            .and(loss_event_fields(numbers.loss_events.as_ref()));
        let mut trials = Vec::new();
        for number in [strict, &numbers.ndr, &numbers.pdr] {
            trials.extend(&number.trials);
        }
        rows.add(fields, trials);
    }
    let caption = "Numbers to read together: on a noisy host each of them alone misleads";
    Some(rows.table("searches-numbers", caption)?.without_empty_columns().main())
}

/// The rate up to which a search lost no more than a number allows, such as NDR.
fn sustained_rate(number: &Held) -> Cell {
    match (number.pps, number.upper_pps) {
        (Some(pps), _) if number.at_least => Cell::AtLeast(pps.floor()),
        (Some(pps), _) => Cell::Number(pps.floor()),
        (None, Some(upper)) => Cell::AtMost(upper.floor()),
        (None, None) => Cell::Unknown,
    }
}

/// The cells about bursts of loss at loads that are sustained on average.
struct LossEventCells {
    up_to: Cell,
    events: Cell,
    per_second: Cell,
    lossy_trials: Cell,
    longest: Cell,
}

impl LossEventCells {
    /// A search without such loads.
    const EMPTY: Self = Self {
        up_to: Cell::Empty,
        events: Cell::Empty,
        per_second: Cell::Empty,
        lossy_trials: Cell::Empty,
        longest: Cell::Empty,
    };

    fn from_events(events: &LossEvents) -> Self {
        let number = match events.at_least {
            true => Cell::AtLeast(events.events as f64),
            false => Cell::Count(events.events),
        };
        let per_second = match events.per_second_limits {
            Some([_, most]) if events.events == 0 => Cell::AtMost(most),
            Some([low, high]) => Cell::Interval { middle: events.per_second, low, high },
            None => events.per_second.into(),
        };
        let longest = match events.longest {
            Some(burst) => {
                let lasted = time(burst.ns as f64 / 1e9);
                Cell::text(format!("{} frames or {lasted}", count(burst.frames)))
            }
            None => Cell::Empty,
        };
        Self {
            up_to: Cell::whole_rate_or_empty(Some(events.up_to_pps)),
            events: number,
            per_second,
            lossy_trials: Cell::text(format!("{} of {}", events.lossy_trials, events.trials)),
            longest,
        }
    }
}

fn loss_event_fields(events: Option<&LossEvents>) -> Fields {
    let cells = events.map_or(LossEventCells::EMPTY, LossEventCells::from_events);
    Fields::new()
        .figure("loss_events_up_to_pps", "loss events up to", cells.up_to)
        .count("loss_events", "loss events", cells.events)
        .figure("loss_events_per_second", "a second (95 %)", cells.per_second)
        .words("lossy_trials", "trials with loss", cells.lossy_trials)
        .words("longest", "longest burst", cells.longest)
}
