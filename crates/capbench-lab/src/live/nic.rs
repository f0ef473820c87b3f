//! Evidence from the drivers of a trial's interfaces: their own counters, for the ledger and for readers who check it. At which place
//! they are booked is decided in `evidence/cards.rs` of capbench-model.

use std::collections::BTreeMap;

use capbench_model::counters::Counters;
use serde::{Deserialize, Serialize};

use super::interface_counts::InterfaceCounts;
use capbench_host::drivers::{
    CounterDelta, FrameCounts, Meaning, NicLoss, NicSnapshot, by_place, in_receive_drops, nic_losses, raw,
    table,
};
use capbench_host::links::{LinkDeltas, LinkStats, PauseCounts};
use capbench_model::evidence::NicEvidence;
use capbench_model::evidence::cards::{Between, CardLoss, FailedRedirects, ReceivingCard};
use capbench_model::noise::Noise;
use capbench_model::places::Place;
use capbench_model::sources::{BlindCard, CardCount, CardCounter};

/// The receiving driver's account of one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NicAccount {
    /// Losses of the card, or why its counters do not show them.
    link: std::result::Result<CardCount, BlindCard>,
    /// Losses of the driver; `None` if it does not count any.
    driver: Option<CardCount>,
    /// Losses of an XDP program in the driver that does not belong to the method.
    xdp: Option<CardCount>,
    /// Frames that the driver counted as lost, of the trial or not.
    in_driver: u64,
    /// Frames of `rx_dropped` that the driver dropped itself.
    pub(super) in_receive_drops: u64,
    /// Whether the driver is known to count each frame once.
    counts_each: bool,
    /// Frames that the backlog refused before the driver counted them.
    refused_uncounted: u64,
    /// Frames that did not belong to the trial.
    foreign: u64,
    /// Notes for readers of the trial.
    pub(super) notes: Vec<Noise>,
    /// The counters that changed, by name.
    pub(super) counters: BTreeMap<String, u64>,
}

/// Other facts about the trial.
pub(super) struct Circumstances<'t> {
    /// Frames that did not belong to the trial.
    pub(super) foreign: u64,
    /// The method's own counters.
    pub(super) method: &'t Counters,
    /// Whether an XDP program ran in the driver that was attached before the method's.
    pub(super) foreign_program: bool,
    /// Failed redirects on the receiving interface, by the tracer: some drivers count them among other drops.
    pub(super) failed_redirects: u64,
}

impl NicAccount {
    /// Frames that card and driver are known to have lost, of the trial or not.
    pub fn known_losses(&self) -> u64 {
        let in_card = self.link.as_ref().ok().and_then(|known| known.count).unwrap_or(0);
        in_card.saturating_add(self.in_driver)
    }

    /// From the counters before and after, and the difference of the link statistics. The stack refused up to `backlog` frames:
    /// apart from the driver's own drops, these frames of `rx_dropped` belong neither to the driver nor to the card.
    pub(super) fn new(
        before: &NicSnapshot,
        after: &NicSnapshot,
        counts: &InterfaceCounts,
        backlog: u64,
        circumstances: &Circumstances<'_>,
    ) -> Self {
        let deltas = after.since(before);
        let link = counts.stats;
        let in_receive_drops = link.map_or(0, |stats| in_receive_drops(after.driver(), &stats, &deltas));
        let refused = |stats: &LinkStats| backlog.min(stats.rx_dropped - in_receive_drops);
        let without_stack = |stats: LinkStats| LinkDeltas {
            rx_dropped: Some(stats.rx_dropped - refused(&stats)),
            ..LinkDeltas::from(&stats)
        };
        let counts_refused = !matches!(frame_counts(after), FrameCounts::EachNotRefused(_));
        let losses = nic_losses(after.driver(), link.map(without_stack).as_ref(), &deltas);
        Self {
            in_receive_drops,
            refused_uncounted: link.as_ref().filter(|_| !counts_refused).map_or(0, refused),
            notes: notes(after.driver(), &deltas, counts.pause),
            counters: raw(after.driver(), &deltas),
            ..Self::of_losses(after, &losses, circumstances)
        }
    }

    fn of_losses(nic: &NicSnapshot, losses: &[NicLoss], circumstances: &Circumstances<'_>) -> Self {
        let mut link = Vec::new();
        let mut shows_missed = false;
        for loss in by_place(losses, Place::Link) {
            link.push(card_loss(loss));
            shows_missed |= matches!(loss.meaning, Meaning::Missed | Meaning::Overrun);
        }
        let mut xdp: Vec<CardLoss> = by_place(losses, Place::Xdp).map(card_loss).collect();
        let mut driver = Vec::new();
        let mut in_driver = 0_u64;
        let of_foreign_program =
            if circumstances.foreign_program { circumstances.failed_redirects } else { 0 };
        for loss in by_place(losses, Place::Driver) {
            let mut counted = card_loss(loss);
            if loss.part == table::REDIRECT {
                let failed = FailedRedirects::by_place(loss.count, circumstances.method, of_foreign_program);
                counted.count = failed.in_driver;
                if failed.in_xdp > 0 {
                    xdp.push(card_loss_of_redirects(loss, failed.in_xdp));
                }
            }
            in_driver = in_driver.saturating_add(counted.count);
            driver.push(counted);
        }
        let foreign = circumstances.foreign;
        let has_xdp = circumstances.foreign_program && !xdp.is_empty();
        Self {
            link: if shows_missed { Ok(CardCount::from_losses(&link, foreign)) } else { Err(blind(nic)) },
            driver: (!driver.is_empty()).then(|| CardCount::from_losses(&driver, foreign)),
            xdp: has_xdp.then(|| CardCount::from_losses(&xdp, foreign)),
            in_driver,
            in_receive_drops: 0,
            counts_each: counts_each(nic),
            refused_uncounted: 0,
            foreign,
            notes: Vec::new(),
            counters: BTreeMap::new(),
        }
    }

    /// The evidence for the ledger. `between` has the frame counts of the drivers; `None`: there is nothing between the interfaces.
    pub(super) fn evidence(&self, between: Option<Between>) -> NicEvidence {
        let card = ReceivingCard {
            losses: &self.link,
            in_driver: self.in_driver,
            counts_each: self.counts_each,
            refused_uncounted: self.refused_uncounted,
            foreign: self.foreign,
        };
        let booked = card.book(between);
        NicEvidence {
            path: booked.path,
            link: Some(booked.link),
            driver: self.driver.clone(),
            xdp: self.xdp.clone(),
        }
    }
}

fn frame_counts(nic: &NicSnapshot) -> FrameCounts {
    nic.driver().map_or(FrameCounts::Unverified, |driver| driver.frame_counts)
}

/// Whether a driver is known to count each frame once.
fn counts_each(nic: &NicSnapshot) -> bool {
    frame_counts(nic) != FrameCounts::Unverified
}

/// Why the card's drops cannot be read.
fn blind(nic: &NicSnapshot) -> BlindCard {
    BlindCard {
        driver: nic.driver_name().map(String::from),
        because: nic.driver().and_then(|driver| driver.blind).map(String::from),
    }
}

fn card_loss(loss: &NicLoss) -> CardLoss {
    let counter = CardCounter {
        counter: loss.source.clone(),
        meaning: loss.meaning.words().into(),
        is_bound_by_failed_redirects: false,
    };
    CardLoss { counter, count: loss.count, is_exact: loss.exact }
}

/// Failed redirects of an XDP program, which the driver counts among other drops.
fn card_loss_of_redirects(loss: &NicLoss, failed: u64) -> CardLoss {
    let counter = CardCounter {
        counter: loss.source.clone(),
        meaning: Meaning::Xdp.words().into(),
        is_bound_by_failed_redirects: true,
    };
    CardLoss { counter, count: failed, is_exact: loss.exact }
}

/// What readers of the trial must know of a card's counters: packets that a cloud's limits held back, and pause frames. A driver
/// that does not report those to all drivers' standard may have counters of them.
fn notes(driver: Option<&table::Driver>, deltas: &[CounterDelta], pause: Option<PauseCounts>) -> Vec<Noise> {
    let mut notes = Vec::new();
    for delta in moved(driver, deltas, Meaning::Allowance) {
        notes.push(Noise::KeptBack { packets: delta.count, counter: delta.name.clone() });
    }
    let mut counters = Vec::new();
    match pause {
        Some(PauseCounts { sent, received }) => {
            for (name, frames) in [("pause_sent", sent), ("pause_received", received)] {
                if frames > 0 {
                    counters.push(name.to_string());
                }
            }
        }
        None => {
            for delta in moved(driver, deltas, Meaning::Pause) {
                counters.push(delta.name.trim().to_string());
            }
        }
    }
    if !counters.is_empty() {
        notes.push(Noise::Paused { counters });
    }
    notes
}

/// The counters with this meaning that counted something.
fn moved<'d>(
    driver: Option<&table::Driver>,
    deltas: &'d [CounterDelta],
    meaning: Meaning,
) -> Vec<&'d CounterDelta> {
    let Some(driver) = driver else { return Vec::new() };
    let has_meaning = deltas.iter().filter(|delta| {
        delta.count > 0 && driver.row_of(&delta.name).is_some_and(|row| row.meaning == meaning)
    });
    has_meaning.collect()
}

/// What the transmit side's driver counted.
pub(super) struct TransmitCounts {
    /// Changed counters that the table knows.
    pub(super) counters: BTreeMap<String, u64>,
    /// Their meaning for the trial.
    pub(super) notes: Vec<Noise>,
    /// Whether the driver is known to count each frame once.
    pub(super) counts_each: bool,
}

/// The counts of the transmit side's driver.
pub(super) fn transmit(
    before: &NicSnapshot,
    after: &NicSnapshot,
    pause: Option<PauseCounts>,
) -> TransmitCounts {
    let driver = after.driver();
    let is_known = |delta: &CounterDelta| driver.is_some_and(|driver| driver.row_of(&delta.name).is_some());
    let known: Vec<_> = after.since(before).into_iter().filter(is_known).collect();
    TransmitCounts {
        counters: raw(driver, &known),
        notes: notes(driver, &known, pause),
        counts_each: counts_each(after),
    }
}

#[cfg(test)]
mod tests {
    use capbench_model::counters::Loss;
    use capbench_model::evidence::Counted;
    use capbench_model::sources::{CardCounters, LinkSource, Source};

    use super::*;

    fn loss(meaning: Meaning, part: &'static str, count: u64, exact: bool) -> NicLoss {
        NicLoss { meaning, part, count, exact, in_rx_dropped: false, source: "driver counter x".into() }
    }

    fn evidence_of(losses: &[NicLoss], circumstances: &Circumstances<'_>) -> NicEvidence {
        NicAccount::of_losses(&NicSnapshot::default(), losses, circumstances).evidence(None)
    }

    fn circumstances(method: &Counters) -> Circumstances<'_> {
        Circumstances { foreign: 0, method, foreign_program: false, failed_redirects: 0 }
    }

    fn card_counters(link: &Counted) -> &CardCounters {
        match &link.source {
            Source::Card(counters) => counters,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn losses_of_one_place_add_up_and_name_their_counters() {
        let method = Counters::default();
        let losses = vec![
            loss(Meaning::Missed, "", 3, true),
            loss(Meaning::Missed, "queues", 4, true),
            loss(Meaning::Checksum, "", 0, true),
        ];
        let evidence = evidence_of(&losses, &circumstances(&method));
        let link = evidence.link.unwrap();
        assert_eq!(link.count, Some(7));
        let counters = card_counters(&link);
        let named: Vec<_> = counters.counters.iter().map(|counter| counter.meaning.as_str()).collect();
        assert_eq!(named, [Meaning::Missed.words(); 2], "those that counted something");
        assert_eq!((evidence.driver, evidence.xdp), (None, None));
    }

    #[test]
    fn a_card_that_cannot_tell_is_unknown_and_not_0() {
        let method = Counters::default();
        let evidence = evidence_of(&[loss(Meaning::Driver, "", 2, true)], &circumstances(&method));
        let link = evidence.link.unwrap();
        assert_eq!(link.count, None);
        assert_eq!(link.source, Source::Link(LinkSource::Blind(BlindCard::default())));
        assert_eq!(evidence.driver.unwrap().count, Some(2));
    }

    /// AF_XDP's refusals are redirects that failed, and the driver counts those.
    #[test]
    fn a_refused_redirect_that_the_method_counted_is_not_the_drivers_loss() {
        let at = |place, count| Loss { place, count: Some(count), source: "x".into() };
        let losses = vec![at(Place::FillRing, 6), at(Place::Ring, 3)];
        let method = Counters { losses, ..Counters::default() };
        let driver = loss(Meaning::Driver, table::REDIRECT, 10, true);
        let evidence = evidence_of(std::slice::from_ref(&driver), &circumstances(&method));
        assert_eq!(evidence.driver.unwrap().count, Some(1));
        let losses = vec![at(Place::Ring, 3)];
        let socket = Counters { losses, ..Counters::default() };
        let evidence = evidence_of(&[driver], &circumstances(&socket));
        assert_eq!(evidence.driver.unwrap().count, Some(10), "a packet socket's ring lies behind the driver");
    }

    #[test]
    fn pause_frames_mark_the_trial() {
        let driver = table::known("e1000e");
        let delta = |name: &str, count| CounterDelta { name: name.into(), count, by_register: false };
        let counted =
            [delta("rx_flow_control_xoff", 3), delta("tx_flow_control_xon", 0), delta("rx_crc_errors", 1)];
        let by = |counter: &str| [Noise::Paused { counters: vec![counter.into()] }];
        assert_eq!(notes(driver, &counted, None), by("rx_flow_control_xoff"));
        assert_eq!(notes(driver, &counted[1..], None), []);
        let standard = |sent| notes(driver, &counted, Some(PauseCounts { sent, received: 0 }));
        assert_eq!(standard(1), by("pause_sent"), "the standard's count decides");
        assert_eq!(standard(0), []);
    }

    #[test]
    fn drops_of_an_xdp_program_count_where_it_is_not_the_methods() {
        let method = Counters::default();
        let losses = vec![loss(Meaning::Xdp, "", 5, true)];
        assert_eq!(evidence_of(&losses, &circumstances(&method)).xdp, None);
        let other = Circumstances { foreign_program: true, ..circumstances(&method) };
        assert_eq!(evidence_of(&losses, &other).xdp.unwrap().count, Some(5));
    }

    #[test]
    fn a_redirect_that_failed_is_lost_in_xdp_and_not_in_the_driver() {
        let method = Counters::default();
        let losses = || {
            let driver = loss(Meaning::Driver, table::REDIRECT, 10, true);
            vec![driver, loss(Meaning::Xdp, "", 5, true)]
        };
        let booked = |failed_redirects| {
            let other = Circumstances { foreign_program: true, failed_redirects, ..circumstances(&method) };
            let evidence = evidence_of(&losses(), &other);
            let xdp = evidence.xdp.unwrap();
            let bound = xdp.counters.counters.iter().filter(|known| known.is_bound_by_failed_redirects);
            assert_eq!(bound.count(), usize::from(failed_redirects > 0), "{xdp:?}");
            (evidence.driver.unwrap().count, xdp.count)
        };
        assert_eq!(booked(8), (Some(2), Some(13)));
        assert_eq!(booked(12), (Some(0), Some(15)), "never more than the driver lost");
        assert_eq!(booked(0), (Some(10), Some(5)), "without a tracer nobody can tell");
    }
}
