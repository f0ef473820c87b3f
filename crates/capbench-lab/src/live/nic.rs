//! Evidence from the drivers of a trial's interfaces: their own counters, for the ledger and for readers who check it.

use std::collections::BTreeMap;

use capbench_model::counters::Counters;
use serde::{Deserialize, Serialize};

use super::interface_counts::InterfaceCounts;
use capbench_host::drivers::{
    CounterDelta, FrameCounts, Meaning, NicLoss, NicSnapshot, by_place, in_receive_drops, nic_losses, raw,
    table,
};
use capbench_host::links::{LinkDeltas, LinkStats, PauseCounts};
use capbench_model::evidence::{Counted, NicEvidence};
use capbench_model::noise::Noise;
use capbench_model::places::Place;
use capbench_model::sources::{
    BlindCard, CardCount, CardCounter, CardCounters, CountedFrames, LinkSource, PathSource, Source,
};

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

/// The frame counts of the drivers of a trial, compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between {
    /// [`gone_between`] them.
    pub(super) gone: Option<u64>,
    /// Whether those of the sending interfaces are known to count each frame once.
    pub(super) counts_each: bool,
}

/// Difference of the drivers' frame counts: frames lost on the link or in the receiving card, reported by the card or not.
/// `None` if a count is wrong: the sending driver did not count the sent frames, or the receiving one did not count frames that
/// the method saw (many do not count frames that XDP consumed).
pub(super) fn gone_between(sent: u64, transmitted: u64, received: u64, seen: u64) -> Option<u64> {
    (transmitted == sent && received >= seen).then(|| sent.saturating_sub(received))
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
        let link: Vec<_> = by_place(losses, Place::Link).map(PlacedLoss::new).collect();
        let shows_missed = by_place(losses, Place::Link)
            .any(|loss| matches!(loss.meaning, Meaning::Missed | Meaning::Overrun));
        let mut xdp: Vec<_> = by_place(losses, Place::Xdp).map(PlacedLoss::new).collect();
        let mut driver = Vec::new();
        for loss in by_place(losses, Place::Driver) {
            let mut in_driver = PlacedLoss::new(loss);
            if loss.part == table::REDIRECT {
                in_driver.count = loss.count.saturating_sub(refused_by_method(circumstances.method));
                let failed = in_driver.count.min(circumstances.failed_redirects);
                if circumstances.foreign_program && failed > 0 {
                    in_driver.count -= failed;
                    xdp.push(PlacedLoss::of_failed_redirects(loss, failed));
                }
            }
            driver.push(in_driver);
        }
        let in_driver = driver.iter().fold(0u64, |all, loss| all.saturating_add(loss.count));
        Self {
            link: if shows_missed { Ok(counted(&link, circumstances.foreign)) } else { Err(blind(nic)) },
            driver: (!driver.is_empty()).then(|| counted(&driver, circumstances.foreign)),
            xdp: (circumstances.foreign_program && !xdp.is_empty())
                .then(|| counted(&xdp, circumstances.foreign)),
            in_driver,
            in_receive_drops: 0,
            counts_each: counts_each(nic),
            refused_uncounted: 0,
            foreign: circumstances.foreign,
            notes: Vec::new(),
            counters: BTreeMap::new(),
        }
    }

    /// The evidence for the ledger. `between` compares the frame counts of the drivers; `None`: there is nothing between the
    /// interfaces.
    pub(super) fn evidence(&self, between: Option<Between>) -> NicEvidence {
        let path = between.map(|between| self.path(between));
        let is_path_known = path.as_ref().is_some_and(|path| path.count.is_some());
        let gone = between.filter(|_| !is_path_known).and_then(|between| between.gone);
        NicEvidence {
            path,
            link: Some(self.with_gone(gone)),
            driver: self.driver.clone(),
            xdp: self.xdp.clone(),
        }
    }

    /// Frames that were lost between the interfaces: those that are gone without a count of the receiving card or driver.
    fn path(&self, between: Between) -> Counted {
        let unknown = match (between.gone, &self.link) {
            _ if !(between.counts_each && self.counts_each) => PathSource::NotEachOnce,
            _ if self.foreign > 0 => PathSource::ForeignFrames,
            (None, _) => PathSource::Contradicted,
            (Some(gone), Ok(CardCount { count: Some(in_card), .. })) => {
                let count = Some(self.uncounted(gone, *in_card));
                return Counted { count, source: Source::Path(PathSource::Difference) };
            }
            (Some(_), Ok(_)) => PathSource::CardCountsOthers,
            (Some(_), Err(card)) => PathSource::BlindCard(card.clone()),
        };
        Counted { count: None, source: Source::Path(unknown) }
    }

    /// Frames gone between the drivers that neither the receiver's backlog nor its driver nor its card has.
    fn uncounted(&self, gone: u64, in_card: u64) -> u64 {
        gone.saturating_sub(self.refused_uncounted).saturating_sub(self.in_driver).saturating_sub(in_card)
    }

    /// Adds the frames lost between the drivers that no counter has, to the card's losses or to the reason why they are unknown.
    /// Frames of others would hide some of them.
    fn with_gone(&self, gone: Option<u64>) -> Counted {
        let gone = gone.filter(|_| self.foreign == 0);
        let card = match (&self.link, gone) {
            (Ok(card), _) => card,
            (Err(card), None) => {
                return Counted { count: None, source: Source::Link(LinkSource::Blind(card.clone())) };
            }
            (Err(card), Some(gone)) => {
                let count = Some(self.uncounted(gone, 0));
                return Counted { count, source: Source::Link(LinkSource::Difference(card.clone())) };
            }
        };
        let counters = card.counters.clone();
        if let (Some(by_card), Some(gone)) = (card.count, gone) {
            let more = self.uncounted(gone, by_card);
            if more > 0 {
                let source = LinkSource::CardAndDifference { card: counters, by_card, more };
                return Counted { count: Some(by_card + more), source: Source::Link(source) };
            }
        }
        Counted { count: card.count, source: Source::Card(counters) }
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

/// Frames that a redirecting method counted because it could not accept them: the driver also counts each as a failed redirect.
fn refused_by_method(method: &Counters) -> u64 {
    if !method.takes_by_xdp() {
        return 0;
    }
    method.losses.iter().filter_map(|loss| loss.count).sum()
}

/// A loss at a place of the ledger.
struct PlacedLoss {
    counter: CardCounter,
    count: u64,
    /// Whether each count is a lost frame of the trial.
    is_exact: bool,
}

impl PlacedLoss {
    fn new(loss: &NicLoss) -> Self {
        let counter = CardCounter {
            counter: loss.source.clone(),
            meaning: loss.meaning.words().into(),
            is_bound_by_failed_redirects: false,
        };
        Self { counter, count: loss.count, is_exact: loss.exact }
    }

    /// Failed redirects of an XDP program, which the driver counts among other drops.
    fn of_failed_redirects(loss: &NicLoss, failed: u64) -> Self {
        let counter = CardCounter {
            counter: loss.source.clone(),
            meaning: Meaning::Xdp.words().into(),
            is_bound_by_failed_redirects: true,
        };
        Self { counter, count: failed, is_exact: loss.exact }
    }
}

/// Sums different losses. A loss that includes frames of others counts only if there was no other traffic.
fn counted(losses: &[PlacedLoss], foreign: u64) -> CardCount {
    let mut sum = 0_u64;
    let mut is_exact = true;
    let mut counters = Vec::new();
    for loss in losses {
        if loss.count > 0 {
            sum = sum.saturating_add(loss.count);
            is_exact &= loss.is_exact;
            counters.push(loss.counter.clone());
        }
    }
    if counters.is_empty() {
        counters = losses.iter().map(|loss| loss.counter.clone()).collect();
    }
    let counted = match (is_exact, foreign) {
        (true, _) => CountedFrames::Losses,
        (false, 0) => CountedFrames::OnlyTrial,
        (false, _) => CountedFrames::WithOthers { up_to: sum },
    };
    let is_known = !matches!(counted, CountedFrames::WithOthers { .. });
    CardCount { count: is_known.then_some(sum), counters: CardCounters { counters, counted } }
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

    use super::*;

    fn loss(meaning: Meaning, part: &'static str, count: u64, exact: bool) -> NicLoss {
        NicLoss { meaning, part, count, exact, in_rx_dropped: false, source: "driver counter x".into() }
    }

    fn evidence_of(losses: &[NicLoss], circumstances: &Circumstances<'_>, gone: Option<u64>) -> NicEvidence {
        let between = Between { gone, counts_each: true };
        NicAccount::of_losses(&NicSnapshot::default(), losses, circumstances).evidence(Some(between))
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
        let evidence = evidence_of(&losses, &circumstances(&method), None);
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
        let evidence = evidence_of(&[loss(Meaning::Driver, "", 2, true)], &circumstances(&method), None);
        let link = evidence.link.unwrap();
        assert_eq!(link.count, None);
        assert_eq!(link.source, Source::Link(LinkSource::Blind(BlindCard::default())));
        assert_eq!(evidence.driver.unwrap().count, Some(2));
    }

    #[test]
    fn a_bound_is_a_count_only_where_nothing_else_came() {
        let method = Counters::default();
        let losses = vec![loss(Meaning::Missed, "", 9, false)];
        let link = evidence_of(&losses, &circumstances(&method), None).link.unwrap();
        assert_eq!((link.count, card_counters(&link).counted), (Some(9), CountedFrames::OnlyTrial));
        let others = Circumstances { foreign: 1, ..circumstances(&method) };
        let link = evidence_of(&losses, &others, None).link.unwrap();
        assert_eq!(link.count, None);
        assert_eq!(card_counters(&link).counted, CountedFrames::WithOthers { up_to: 9 });
    }

    /// AF_XDP's refusals are redirects that failed, and the driver counts those.
    #[test]
    fn a_refused_redirect_that_the_method_counted_is_not_the_drivers_loss() {
        let at = |place, count| Loss { place, count: Some(count), source: "x".into() };
        let losses = vec![at(Place::FillRing, 6), at(Place::Ring, 3)];
        let method = Counters { losses, ..Counters::default() };
        let driver = loss(Meaning::Driver, table::REDIRECT, 10, true);
        let evidence = evidence_of(std::slice::from_ref(&driver), &circumstances(&method), None);
        assert_eq!(evidence.driver.unwrap().count, Some(1));
        let losses = vec![at(Place::Ring, 3)];
        let socket = Counters { losses, ..Counters::default() };
        let evidence = evidence_of(&[driver], &circumstances(&socket), None);
        assert_eq!(evidence.driver.unwrap().count, Some(10), "a packet socket's ring lies behind the driver");
    }

    #[test]
    fn what_left_one_driver_and_did_not_reach_the_other_is_lost_on_the_link() {
        let method = Counters::default();
        let link = |losses: Vec<NicLoss>, gone, foreign| {
            let circumstances = Circumstances { foreign, ..circumstances(&method) };
            evidence_of(&losses, &circumstances, gone).link.unwrap()
        };
        let missed = |count| vec![loss(Meaning::Missed, "", count, true)];
        assert_eq!(link(missed(3), Some(10), 0).count, Some(10));
        let source = link(missed(3), Some(10), 0).source;
        assert!(
            matches!(source, Source::Link(LinkSource::CardAndDifference { by_card: 3, more: 7, .. })),
            "{source:?}"
        );
        assert_eq!(link(missed(10), Some(10), 0).count, Some(10), "one loss, two witnesses");
        assert_eq!(link(missed(12), Some(10), 0).count, Some(12));
        assert_eq!(link(missed(3), Some(10), 1).count, Some(3), "frames of others blur the difference");
        assert_eq!(link(missed(3), None, 0).count, Some(3));
        assert_eq!(link(vec![], Some(0), 0).count, Some(0), "a card that cannot tell, and nothing is gone");
        assert_eq!(link(vec![], Some(4), 0).count, Some(4));
        assert_eq!(link(vec![], None, 0).count, None);
        let both = vec![loss(Meaning::Missed, "", 3, true), loss(Meaning::Driver, "", 2, true)];
        assert_eq!(link(both, Some(5), 0).count, Some(3), "what the driver dropped stands there");
    }

    #[test]
    fn what_exact_drivers_miss_and_no_card_counts_was_lost_on_the_path() {
        let method = Counters::default();
        let booked = |losses: Vec<NicLoss>, gone, counts_each, foreign, refused_uncounted| {
            let circumstances = Circumstances { foreign, ..circumstances(&method) };
            let account = NicAccount::of_losses(&NicSnapshot::default(), &losses, &circumstances);
            let account = NicAccount { counts_each: true, refused_uncounted, ..account };
            let evidence = account.evidence(Some(Between { gone, counts_each }));
            (evidence.path.unwrap(), evidence.link.unwrap())
        };
        let counts = |(path, link): (Counted, Counted)| (path.count, link.count);
        let missed = |count| vec![loss(Meaning::Missed, "", count, true)];
        assert_eq!(counts(booked(missed(3), Some(10), true, 0, 0)), (Some(7), Some(3)));
        assert_eq!(
            counts(booked(missed(3), Some(10), true, 0, 5)),
            (Some(2), Some(3)),
            "the backlog's are its"
        );
        assert_eq!(counts(booked(missed(12), Some(10), true, 0, 0)), (Some(0), Some(12)));
        for (losses, gone, counts_each, foreign, why, link) in [
            (missed(3), Some(10), false, 0, PathSource::NotEachOnce, Some(10)),
            (missed(3), Some(10), true, 1, PathSource::ForeignFrames, Some(3)),
            (missed(3), None, true, 0, PathSource::Contradicted, Some(3)),
            (vec![], Some(10), true, 0, PathSource::BlindCard(BlindCard::default()), Some(10)),
        ] {
            let (path, booked_at_link) = booked(losses, gone, counts_each, foreign, 0);
            assert_eq!(booked_at_link.count, link, "{why:?}");
            assert_eq!(path, Counted { count: None, source: Source::Path(why) });
        }
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
    fn counts_that_contradict_what_is_known_are_no_evidence() {
        assert_eq!(gone_between(100, 100, 90, 90), Some(10));
        assert_eq!(gone_between(100, 100, 103, 90), Some(0));
        assert_eq!(gone_between(100, 99, 90, 90), None, "the sender did not count what was sent");
        assert_eq!(gone_between(100, 100, 0, 90), None, "the receiver does not count what XDP takes");
    }

    #[test]
    fn drops_of_an_xdp_program_count_where_it_is_not_the_methods() {
        let method = Counters::default();
        let losses = vec![loss(Meaning::Xdp, "", 5, true)];
        assert_eq!(evidence_of(&losses, &circumstances(&method), None).xdp, None);
        let other = Circumstances { foreign_program: true, ..circumstances(&method) };
        assert_eq!(evidence_of(&losses, &other, None).xdp.unwrap().count, Some(5));
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
            let evidence = evidence_of(&losses(), &other, None);
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
