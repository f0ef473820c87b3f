//! Converts counters to losses, each counted once.

use super::snapshot::CounterDelta;
use super::table::{Driver, LossBound, Meaning, REDIRECT, Row, Scope, UNKNOWN, matches};
use crate::links::{LinkDeltas, LinkStats};
use capbench_model::places::Place;

/// Frames that a network card or its driver lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicLoss {
    /// The kind of loss.
    pub meaning: Meaning,
    /// Distinguishes losses of the same meaning; usually empty.
    pub part: &'static str,
    /// Number of frames; an upper bound if not `exact`.
    pub count: u64,
    /// Whether each count is a lost frame.
    pub exact: bool,
    /// Whether rx_dropped of the link statistics also contains these frames.
    pub in_rx_dropped: bool,
    /// The counter that reports them.
    pub source: String,
}

/// Losses according to the driver's counters and the link statistics over the same time: one entry per loss that this driver
/// counts, including 0. Several counters can report one loss, for example an interface's total and its queues; the largest is
/// used, because others may lag. Unknown names and unverified rows do not count.
///
/// Link statistics that decreased are ignored.
pub fn nic_losses(
    driver: Option<&'static Driver>,
    link: Option<&LinkDeltas>,
    counters: &[CounterDelta],
) -> Vec<NicLoss> {
    let driver = driver.unwrap_or(&UNKNOWN);
    let mut losses: Vec<(bool, NicLoss)> = Vec::new();
    for row in driver.rows().filter(|row| row.verified && row.loss_bound != LossBound::Nothing) {
        let Some(witness) = witness(row, link, counters) else { continue };
        let loss = NicLoss {
            meaning: row.meaning,
            part: row.part,
            count: witness.count,
            exact: row.loss_bound == LossBound::Loss,
            in_rx_dropped: row.in_rx_dropped,
            source: witness.source,
        };
        match losses.iter_mut().find(|(_, known)| (known.meaning, known.part) == (row.meaning, row.part)) {
            // Use a register read directly: the driver's count derived from it is wrong.
            Some((by_register, known)) if witness.by_register != *by_register => {
                if witness.by_register {
                    (*by_register, *known) = (true, loss);
                }
            }
            Some((_, known)) if (loss.exact, loss.count) > (known.exact, known.count) => *known = loss,
            Some(_) => {}
            None => losses.push((witness.by_register, loss)),
        }
    }
    losses.into_iter().map(|(_, loss)| loss).collect()
}

/// Frames in an interface's `rx_dropped` that its driver's own counters explain: those that the driver dropped.
/// `ndo_get_stats64` of most drivers adds them there; net/core/dev.c adds those that the stack refused.
pub fn in_receive_drops(driver: Option<&'static Driver>, link: &LinkStats, counters: &[CounterDelta]) -> u64 {
    // Without the field itself, which contains both. Of two counters of one loss the larger one counts, so a 0 adds nothing.
    let own = LinkDeltas { rx_dropped: Some(0), ..link.into() };
    let losses = nic_losses(driver, Some(&own), counters);
    let known = by_place(&losses, Place::Driver).fold(0u64, |all, loss| all.saturating_add(loss.count));
    known.min(link.rx_dropped)
}

/// Frames that XDP programs in the driver did not pass to the stack: dropped, redirected, sent back, or lost in the attempt. `None`
/// if the driver does not count them.
pub fn taken_by_xdp(driver: Option<&'static Driver>, counters: &[CounterDelta]) -> Option<u64> {
    let rows = driver?.rows().filter(|row| row.meaning == Meaning::Diverted);
    let diverted = rows.filter_map(|row| witness(row, None, counters)).map(|witness| witness.count);
    let diverted = diverted.reduce(u64::saturating_add)?;
    let losses = nic_losses(driver, None, counters);
    let lost = losses.iter().filter(|loss| loss.meaning == Meaning::Xdp || loss.part == REDIRECT);
    Some(lost.fold(diverted, |all, loss| all.saturating_add(loss.count)))
}

/// The result of one row.
struct Witness {
    count: u64,
    by_register: bool,
    source: String,
}

fn witness(row: &Row, link: Option<&LinkDeltas>, counters: &[CounterDelta]) -> Option<Witness> {
    let sum = |pattern: &str| {
        counters
            .iter()
            .filter(|delta| !pattern.is_empty() && matches(pattern, &delta.name))
            .map(|delta| (delta.count, delta.by_register))
            .reduce(|(all, registers), (one, register)| (all.saturating_add(one), registers || register))
    };
    let (count, by_register, of) = match row.scope {
        Scope::Link(read) => (read(link?)?, false, "link statistics"),
        Scope::Total | Scope::PerQueue => {
            let (count, by_register) = sum(row.pattern)?;
            (count, by_register, "driver counter")
        }
    };
    let less = sum(row.less).map_or(0, |(count, _)| count);
    let names = |pattern: &str| pattern.trim().replace('|', " + ");
    let minus = if row.less.is_empty() { String::new() } else { format!(" less {}", names(row.less)) };
    let note = if by_register { ", the register behind it, as the counter grows by being read" } else { "" };
    let source = format!("{of} {}{minus}{note}", names(row.pattern));
    Some(Witness { count: count.saturating_sub(less), by_register, source })
}

/// The losses of one place of the ledger.
pub fn by_place(losses: &[NicLoss], place: Place) -> impl Iterator<Item = &NicLoss> {
    losses.iter().filter(move |loss| loss.meaning.place() == Some(place))
}

#[cfg(test)]
mod tests;
