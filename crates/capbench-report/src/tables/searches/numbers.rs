//! The numbers of each search that are read together: rates without loss and with little loss, and how often frames were lost.

use capbench_judge::search::{Held, LossEvents, SearchOutcome};

use super::set_up_and_number;
use crate::figures::count;
use crate::model::{Cell, Table};
use crate::naming::time;
use crate::tables::rows::{Fields, Rows};

pub(super) fn table(searches: &[SearchOutcome]) -> Option<Table> {
    let mut rows = Rows::new();
    for search in searches {
        let numbers = &search.numbers;
        let strict = &numbers.strict_lossless;
        let has_upper = strict.pps.is_some() && !strict.at_least;
        let lossy_from_pps = if has_upper { strict.upper_pps } else { None };
        let fields = set_up_and_number(search)
            .figure("strict_lossless_pps", "without any loss", sustained_rate(strict))
            .figure(
                "strict_lossless_below_pps",
                "with loss from",
                Cell::whole_rate_where_known(lossy_from_pps),
            )
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

/// A rate up to which a search lost no more than one of its numbers allows.
fn sustained_rate(number: &Held) -> Cell {
    match (number.pps, number.upper_pps) {
        (Some(pps), _) if number.at_least => Cell::AtLeast(pps.floor()),
        (Some(pps), _) => Cell::Number(pps.floor()),
        (None, Some(upper)) => Cell::AtMost(upper.floor()),
        (None, None) => Cell::Unknown,
    }
}

/// The fields of bursts of loss at loads that are sustained on average; empty without any.
fn loss_event_fields(events: Option<&LossEvents>) -> Fields {
    let mut fields = [const { Cell::Empty }; 5];
    if let Some(events) = events {
        let number = match events.at_least {
            true => Cell::AtLeast(events.events as f64),
            false => Cell::Count(events.events),
        };
        let per_second = match events.per_second_limits {
            Some([_, most]) if events.events == 0 => Cell::AtMost(most),
            Some([low, high]) => Cell::Interval { middle: events.per_second, low, high },
            None => events.per_second.into(),
        };
        let lossy_trials = format!("{} of {}", events.lossy_trials, events.trials);
        let longest = match events.longest {
            Some(burst) => {
                let lasted = time(burst.ns as f64 / 1e9);
                Cell::text(format!("{} frames or {lasted}", count(burst.frames)))
            }
            None => Cell::Empty,
        };
        let up_to = Cell::whole_rate_where_known(Some(events.up_to_pps));
        fields = [up_to, number, per_second, lossy_trials.into(), longest];
    }
    let [up_to, number, per_second, lossy_trials, longest] = fields;
    Fields::new()
        .figure("loss_events_up_to_pps", "loss events up to", up_to)
        .count("loss_events", "loss events", number)
        .figure("loss_events_per_second", "a second (95 %)", per_second)
        .words("lossy_trials", "trials with loss", lossy_trials)
        .words("longest", "longest burst", longest)
}
