//! At which place frames are booked that went missing from one card's driver to the other one's: on the path, in the receiving card, in
//! its driver, in XDP, or nowhere. Other files read the counters, and pass their counts.
//!
//! | known of the frames between the drivers | path | card |
//! |---|---|---|
//! | Foreign frames came. | unknown | its own count |
//! | A driver is not known to count each frame once. | unknown | its own count, and what only the difference has |
//! | A driver's count contradicts the frames that were sent or captured. | unknown | its own count |
//! | The card counts its losses. | what only the difference has | its own count |
//! | The card does not count its losses. | unknown | what only the difference has |

use super::Counted;
use crate::counters::Counters;
use crate::sources::{
    BlindCard, CardCount, CardCounter, CardCounters, CountedFrames, LinkSource, PathSource, Source,
};

/// The frame counts of the drivers at both ends of a link, over a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverFrames {
    /// Frames that the generators passed to the kernel.
    pub sent: u64,
    /// Frames that the sending driver counted.
    pub transmitted: u64,
    /// Frames that the receiving driver counted.
    pub received: u64,
    /// Frames that the method saw.
    pub seen: u64,
}

impl DriverFrames {
    /// The difference: frames lost on the link or in the receiving card, reported by the card or not. `None` if a count is wrong: the
    /// sending driver did not count the sent frames, or the receiving one did not count frames that the method saw (many do not count
    /// frames that XDP consumed).
    fn difference(&self) -> Option<u64> {
        let are_right = self.transmitted == self.sent && self.received >= self.seen;
        are_right.then(|| self.sent.saturating_sub(self.received))
    }
}

/// What is known of the frames between two cards.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    /// The counts of both drivers; `None` without link statistics.
    pub frames: Option<DriverFrames>,
    /// Whether the drivers of the sending interfaces are known to count each frame once.
    pub counts_each: bool,
}

/// The counts of the receiving card and its driver over a trial.
#[derive(Clone, Copy, Debug)]
pub struct ReceivingCard<'c> {
    /// Losses of the card, or why its counters do not show them.
    pub losses: &'c Result<CardCount, BlindCard>,
    /// Frames that the driver counted as lost, of the trial or not.
    pub in_driver: u64,
    /// Whether the driver is known to count each frame once.
    pub counts_each: bool,
    /// Frames that the backlog refused before the driver counted them.
    pub refused_uncounted: u64,
    /// Frames that did not belong to the trial.
    pub foreign: u64,
}

/// What is booked of the frames between two cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookedBetween {
    /// Losses between the interfaces; `None` if there is nothing between them.
    pub path: Option<Counted>,
    /// Losses of the receiving card.
    pub link: Counted,
}

impl ReceivingCard<'_> {
    /// Books the frames that went missing up to this card, by the table above. `between` is `None` if there is nothing between the
    /// interfaces.
    pub fn book(&self, between: Option<Between>) -> BookedBetween {
        let Some(between) = between else {
            return BookedBetween { path: None, link: self.link(None) };
        };
        let difference = between.frames.and_then(|frames| frames.difference());
        let path = self.path(difference, between.counts_each);
        let is_path_known = path.count.is_some();
        let link = self.link(difference.filter(|_| !is_path_known));
        BookedBetween { path: Some(path), link }
    }

    /// Frames of the difference that neither the receiving card nor its driver counts.
    fn path(&self, difference: Option<u64>, senders_count_each: bool) -> Counted {
        let unknown = match (difference, self.losses) {
            _ if !(senders_count_each && self.counts_each) => PathSource::NotEachOnce,
            _ if self.foreign > 0 => PathSource::ForeignFrames,
            (None, _) => PathSource::Contradicted,
            (Some(difference), Ok(CardCount { count: Some(in_card), .. })) => {
                let count = Some(self.uncounted(difference, *in_card));
                return Counted { count, source: Source::Path(PathSource::Difference) };
            }
            (Some(_), Ok(_)) => PathSource::CardCountsOthers,
            (Some(_), Err(card)) => PathSource::BlindCard(card.clone()),
        };
        Counted { count: None, source: Source::Path(unknown) }
    }

    /// The card's own count, with the frames of the difference that no counter has. Foreign frames would hide some of these.
    fn link(&self, difference: Option<u64>) -> Counted {
        let difference = difference.filter(|_| self.foreign == 0);
        let card = match (self.losses, difference) {
            (Ok(card), _) => card,
            (Err(card), None) => {
                return Counted { count: None, source: Source::Link(LinkSource::Blind(card.clone())) };
            }
            (Err(card), Some(difference)) => {
                let count = Some(self.uncounted(difference, 0));
                return Counted { count, source: Source::Link(LinkSource::Difference(card.clone())) };
            }
        };
        let counters = card.counters.clone();
        if let (Some(by_card), Some(difference)) = (card.count, difference) {
            let more = self.uncounted(difference, by_card);
            if more > 0 {
                let source = LinkSource::CardAndDifference { card: counters, by_card, more };
                return Counted { count: Some(by_card + more), source: Source::Link(source) };
            }
        }
        Counted { count: card.count, source: Source::Card(counters) }
    }

    /// Frames of the difference that neither the receiver's backlog nor its driver nor its card counts.
    fn uncounted(&self, difference: u64, in_card: u64) -> u64 {
        difference
            .saturating_sub(self.refused_uncounted)
            .saturating_sub(self.in_driver)
            .saturating_sub(in_card)
    }
}

/// Failed redirects that a driver counts, by the place where they are booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedRedirects {
    /// Losses of the driver.
    pub in_driver: u64,
    /// Losses of an XDP program that does not belong to the method.
    pub in_xdp: u64,
}

impl FailedRedirects {
    /// Those of a driver's count. A frame that a redirecting method counts because it could not accept it also counts there as failed:
    /// it is the method's loss. Of the rest, up to `of_foreign_program` are losses of another XDP program.
    pub fn by_place(counted: u64, method: &Counters, of_foreign_program: u64) -> Self {
        let mut refused_by_method = 0;
        if method.takes_by_xdp() {
            refused_by_method = method.losses.iter().filter_map(|loss| loss.count).sum();
        }
        let others = counted.saturating_sub(refused_by_method);
        let in_xdp = others.min(of_foreign_program);
        Self { in_driver: others - in_xdp, in_xdp }
    }
}

/// A counter of a card or its driver, over a trial.
#[derive(Clone, Debug)]
pub struct CardLoss {
    /// The counter.
    pub counter: CardCounter,
    /// What it counted.
    pub count: u64,
    /// Whether each count is a lost frame of the trial.
    pub is_exact: bool,
}

impl CardCount {
    /// Sums the counters of a place. A counter that includes foreign frames counts only if none came.
    pub fn from_losses(losses: &[CardLoss], foreign: u64) -> Self {
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
        Self { count: is_known.then_some(sum), counters: CardCounters { counters, counted } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u64, is_exact: bool, foreign: u64) -> CardCount {
        let counter = CardCounter {
            counter: "driver counter rx_missed".into(),
            meaning: "missed".into(),
            is_bound_by_failed_redirects: false,
        };
        CardCount::from_losses(&[CardLoss { counter, count, is_exact }], foreign)
    }

    /// A card that counted so many losses, or none at all, and a difference of ten frames.
    struct Case {
        in_card: Option<u64>,
        in_driver: u64,
        refused_uncounted: u64,
        difference: Option<u64>,
        counts_each: bool,
        foreign: u64,
    }

    const CASE: Case = Case {
        in_card: Some(3),
        in_driver: 0,
        refused_uncounted: 0,
        difference: Some(10),
        counts_each: true,
        foreign: 0,
    };

    impl Case {
        fn book(&self) -> BookedBetween {
            let losses = match self.in_card {
                Some(count) => Ok(counted(count, true, self.foreign)),
                None => Err(BlindCard::default()),
            };
            let card = ReceivingCard {
                losses: &losses,
                in_driver: self.in_driver,
                counts_each: true,
                refused_uncounted: self.refused_uncounted,
                foreign: self.foreign,
            };
            let frames = self.difference.map(|difference| DriverFrames {
                sent: 100,
                transmitted: 100,
                received: 100 - difference,
                seen: 80,
            });
            card.book(Some(Between { frames, counts_each: self.counts_each }))
        }

        /// What is booked on the path and in the card.
        fn counts(&self) -> [Option<u64>; 2] {
            let booked = self.book();
            [booked.path.unwrap().count, booked.link.count]
        }
    }

    #[test]
    fn what_exact_drivers_miss_and_no_card_counts_was_lost_on_the_path() {
        assert_eq!(CASE.counts(), [Some(7), Some(3)]);
        let refused = Case { refused_uncounted: 5, ..CASE };
        assert_eq!(refused.counts(), [Some(2), Some(3)], "the backlog's are its");
        assert_eq!(Case { in_driver: 4, ..CASE }.counts(), [Some(3), Some(3)]);
        assert_eq!(Case { in_card: Some(12), ..CASE }.counts(), [Some(0), Some(12)]);
        for (case, why, link) in [
            (Case { counts_each: false, ..CASE }, PathSource::NotEachOnce, Some(10)),
            (Case { foreign: 1, ..CASE }, PathSource::ForeignFrames, Some(3)),
            (Case { difference: None, ..CASE }, PathSource::Contradicted, Some(3)),
            (Case { in_card: None, ..CASE }, PathSource::BlindCard(BlindCard::default()), Some(10)),
        ] {
            let booked = case.book();
            assert_eq!(booked.link.count, link, "{why:?}");
            assert_eq!(booked.path, Some(Counted { count: None, source: Source::Path(why) }));
        }
    }

    #[test]
    fn what_left_a_driver_and_did_not_reach_an_inexact_one_is_lost_in_the_card() {
        let inexact = Case { counts_each: false, ..CASE };
        let source = inexact.book().link.source;
        let Source::Link(LinkSource::CardAndDifference { by_card: 3, more: 7, .. }) = source else {
            panic!("{source:?}")
        };
        let link = |case: Case| case.book().link.count;
        assert_eq!(link(Case { in_card: Some(10), ..inexact }), Some(10), "one loss, two witnesses");
        assert_eq!(link(Case { in_card: Some(12), ..inexact }), Some(12));
        assert_eq!(link(Case { foreign: 1, ..inexact }), Some(3), "foreign frames blur the difference");
        assert_eq!(link(Case { difference: None, ..inexact }), Some(3));
        let blind = |difference| link(Case { in_card: None, difference, ..inexact });
        assert_eq!(blind(Some(0)), Some(0), "nothing is gone");
        assert_eq!([blind(Some(4)), blind(None)], [Some(4), None]);
        let both = Case { in_driver: 2, difference: Some(5), ..inexact };
        assert_eq!(link(both), Some(3), "what the driver dropped is booked there");
    }

    #[test]
    fn nothing_is_booked_between_the_ends_of_a_veth() {
        let losses = Ok(counted(3, true, 0));
        let card = ReceivingCard {
            losses: &losses,
            in_driver: 0,
            counts_each: true,
            refused_uncounted: 0,
            foreign: 0,
        };
        let booked = card.book(None);
        assert_eq!((booked.path, booked.link.count), (None, Some(3)));
    }

    #[test]
    fn counts_that_contradict_what_is_known_are_no_evidence() {
        let difference =
            |transmitted, received| DriverFrames { sent: 100, transmitted, received, seen: 90 }.difference();
        assert_eq!(difference(100, 90), Some(10));
        assert_eq!(difference(100, 103), Some(0));
        assert_eq!(difference(99, 90), None, "the sender did not count what was sent");
        assert_eq!(difference(100, 0), None, "the receiver does not count what XDP takes");
    }

    #[test]
    fn a_bound_is_a_count_only_where_nothing_else_came() {
        let only_trial = counted(9, false, 0);
        assert_eq!((only_trial.count, only_trial.counters.counted), (Some(9), CountedFrames::OnlyTrial));
        let with_others = counted(9, false, 1);
        assert_eq!(with_others.count, None);
        assert_eq!(with_others.counters.counted, CountedFrames::WithOthers { up_to: 9 });
    }
}
