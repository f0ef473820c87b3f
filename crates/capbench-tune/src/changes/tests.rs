//! On a host that behaves as drivers do, and on which the process can be killed before and after every call.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use proptest::prelude::*;

use super::*;
use crate::setting::OffloadName;

const QUEUES: u32 = 4;

/// A card whose driver resets interrupts, steering and the RSS table when the number of queues changes, interrupts when the
/// rings change, and rounds rings to multiples of 8.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card(BTreeMap<Setting, String>);

impl Card {
    fn queue_file(queue: u32) -> Setting {
        Setting::Queue(format!("rx-{queue}/rps_cpus"))
    }

    fn interrupt(queue: u32) -> Setting {
        Setting::Interrupt(format!("eth0-rx-{queue}"))
    }

    /// As it is when the host has started.
    fn new(queues: u32) -> Self {
        let mut card = Self(BTreeMap::new());
        card.set(Setting::Rings, "256 0 0 256");
        card.set(Setting::Offload(OffloadName::Gro), "1");
        card.set(Setting::Sysctl("a".into()), "1000");
        card.set(Setting::Sysctl("b".into()), "300");
        card.set_queues(queues);
        card
    }

    fn set(&mut self, setting: Setting, value: impl Into<String>) {
        self.0.insert(setting, value.into());
    }

    fn set_queues(&mut self, queues: u32) {
        self.set(Setting::Channels, format!("0 0 1 {queues}"));
        for queue in 0..QUEUES {
            self.0.remove(&Self::queue_file(queue));
            self.0.remove(&Self::interrupt(queue));
        }
        for queue in 0..queues {
            self.set(Self::queue_file(queue), "0");
            self.set(Self::interrupt(queue), queue.to_string());
        }
        let table: Vec<u32> = (0..8).map(|at| at % queues).collect();
        self.set(Setting::Sharing, format!("1 8 0 {}", crate::setting::value_of(&table)));
    }

    fn write(&mut self, setting: &Setting, value: &str) -> std::result::Result<(), String> {
        let numbers = crate::setting::numbers(value).unwrap_or_default();
        match setting {
            _ if !self.0.contains_key(setting) => return Err("it is gone".into()),
            Setting::Channels if (1..=QUEUES).contains(&numbers[3]) => self.set_queues(numbers[3]),
            Setting::Channels => return Err("the driver refuses so many queues".into()),
            Setting::Rings => {
                self.set(Setting::Rings, format!("{} 0 0 {}", numbers[0] / 8 * 8, numbers[3]));
                let queues: Vec<_> =
                    self.0.keys().filter(|one| matches!(one, Setting::Interrupt(_))).cloned().collect();
                queues.into_iter().for_each(|one| self.set(one, "0-3"));
            }
            _ => self.set(setting.clone(), value),
        }
        Ok(())
    }
}

/// A card and a disk, and the number of calls until the process is killed.
struct Host {
    card: RefCell<Card>,
    disk: RefCell<Option<State>>,
    left: Cell<u32>,
}

struct Killed;

impl Host {
    fn new(card: Card) -> Self {
        Self { card: RefCell::new(card), disk: RefCell::new(None), left: Cell::new(u32::MAX) }
    }

    /// A moment at which the process can be killed.
    fn moment(&self) {
        match self.left.get() {
            // Not `panic!`: it would print a message.
            0 => resume_unwind(Box::new(Killed)),
            left => self.left.set(left - 1),
        }
    }

    /// Runs a command that is killed after so many calls; `None` if it was.
    fn killed_after<T>(&self, calls: u32, command: impl FnOnce() -> Result<T>) -> Option<T> {
        self.left.set(calls);
        let outcome = catch_unwind(AssertUnwindSafe(command));
        self.left.set(u32::MAX);
        match outcome {
            Ok(done) => Some(done.unwrap()),
            Err(payload) if payload.is::<Killed>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }

    fn apply(&self, proposals: &[Proposal], is_forced: bool) -> Result<Vec<Outcome>> {
        let identity = Identity { interface: "eth0".into(), ..Identity::default() };
        let mut outcomes = Vec::new();
        let saved = self.disk.borrow().clone();
        apply(
            self,
            &mut Disk(self),
            saved,
            (identity, "boot".into()),
            is_forced,
            |_| Ok(proposals.to_vec()),
            |_, outcome| outcomes.push(outcome.clone()),
        )?;
        Ok(outcomes)
    }

    fn restore(&self, boot: &str, is_forced: bool) -> Result<(bool, Vec<(Setting, Outcome)>)> {
        let Some(state) = self.disk.borrow().clone() else { return Ok((true, Vec::new())) };
        let mut all = Vec::new();
        let is_done = restore(self, &mut Disk(self), state, boot, is_forced, |setting, outcome| {
            all.push((setting.clone(), outcome.clone()));
        })?;
        Ok((is_done, all))
    }

    fn others_set(&self, setting: &Setting, value: &str) {
        self.card.borrow_mut().write(setting, value).unwrap();
    }

    fn value(&self, setting: &Setting) -> Option<String> {
        self.card.borrow().0.get(setting).cloned()
    }
}

impl Settings for Host {
    fn read(&self, setting: &Setting) -> Result<Option<String>> {
        self.moment();
        Ok(self.value(setting))
    }

    fn write(&self, setting: &Setting, value: &str) -> Result<()> {
        self.moment();
        let written = self.card.borrow_mut().write(setting, value);
        self.moment();
        written.map_err(|reason| TuneError::State { attempt: "refused", path: "card".into(), reason })
    }

    fn inventory(&self) -> Result<Vec<Setting>> {
        let card = self.card.borrow();
        Ok(card.0.keys().filter(|setting| setting.is_of_interface()).cloned().collect())
    }
}

struct Disk<'h>(&'h Host);

impl Journal for Disk<'_> {
    fn save(&mut self, state: &State) -> Result<()> {
        self.0.moment();
        // What a file would give back.
        let text = serde_json::to_string(state).unwrap();
        *self.0.disk.borrow_mut() = Some(serde_json::from_str(&text).unwrap());
        self.0.moment();
        Ok(())
    }

    fn remove(&mut self, _: &State) -> Result<()> {
        self.0.moment();
        *self.0.disk.borrow_mut() = None;
        self.0.moment();
        Ok(())
    }
}

fn to(setting: Setting, value: &str) -> Proposal {
    Proposal { setting, value: value.into() }
}

fn some_changes() -> Vec<Proposal> {
    vec![
        to(Setting::Sysctl("a".into()), "10000"),
        to(Card::interrupt(1), "3"),
        to(Setting::Rings, "4090 0 0 256"),
        to(Setting::Channels, "0 0 1 2"),
        to(Setting::Offload(OffloadName::Gro), "0"),
        to(Card::queue_file(0), "f"),
    ]
}

#[test]
fn changes_are_made_in_order_and_a_second_time_there_is_nothing_to_do() {
    let host = Host::new(Card::new(4));
    let outcomes = host.apply(&some_changes(), false).unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Changed { .. })), "{outcomes:?}");
    assert_eq!(host.value(&Setting::Rings).as_deref(), Some("4088 0 0 256"), "as the driver grants it");
    assert_eq!(host.value(&Card::interrupt(1)).as_deref(), Some("3"), "after what resets it");
    let (card, disk) = (host.card.borrow().clone(), host.disk.borrow().clone());
    let again = host.apply(&some_changes(), false).unwrap();
    assert!(again.iter().all(|outcome| *outcome == Outcome::Already), "{again:?}");
    assert_eq!((&*host.card.borrow(), &*host.disk.borrow()), (&card, &disk));
    assert!(host.restore("boot", false).unwrap().0);
    assert_eq!((&*host.card.borrow(), &*host.disk.borrow()), (&Card::new(4), &None));
}

#[test]
fn a_change_that_is_refused_is_reported_and_leaves_no_state() {
    let host = Host::new(Card::new(4));
    let outcomes = host.apply(&[to(Setting::Channels, "0 0 1 9")], false).unwrap();
    assert!(
        matches!(&outcomes[..], [Outcome::Refused(reason)] if reason.contains("so many queues")),
        "{outcomes:?}"
    );
    assert_eq!((&*host.card.borrow(), &*host.disk.borrow()), (&Card::new(4), &None));
}

#[test]
fn what_others_changed_is_not_overwritten_without_a_word() {
    let (a, b) = (Setting::Sysctl("a".into()), Setting::Sysctl("b".into()));
    let changes = [to(a.clone(), "2"), to(b.clone(), "600"), to(Setting::Channels, "0 0 1 2")];
    let host = Host::new(Card::new(4));
    host.apply(&changes, false).unwrap();
    host.others_set(&a, "7");
    host.others_set(&Card::queue_file(0), "c");
    let again = host.apply(&changes, false).unwrap();
    assert!(
        again.contains(&Outcome::OfOthers { left: Some("2".into()), now: Some("7".into()) }),
        "{again:?}"
    );
    assert_eq!(host.value(&a).as_deref(), Some("7"));
    let (is_done, all) = host.restore("boot", false).unwrap();
    assert!(is_done);
    assert!(
        all.iter().any(|(setting, outcome)| *setting == a && matches!(outcome, Outcome::OfOthers { .. })),
        "{all:?}"
    );
    assert_eq!((host.value(&a).as_deref(), host.value(&b).as_deref()), (Some("7"), Some("300")));
    assert_eq!(host.value(&Card::queue_file(0)).as_deref(), Some("c"), "set again after the queues reset it");
    // Whoever insists gets it.
    let host = Host::new(Card::new(4));
    host.apply(&changes, false).unwrap();
    host.others_set(&a, "7");
    assert!(host.restore("boot", true).unwrap().0);
    assert_eq!(*host.card.borrow(), Card::new(4));
}

#[test]
fn after_a_new_start_the_settings_are_those_of_the_start() {
    let host = Host::new(Card::new(4));
    host.apply(&some_changes(), false).unwrap();
    // The host starts again, with one setting that its configuration makes the same as `apply` did.
    *host.card.borrow_mut() = Card::new(4);
    let a = Setting::Sysctl("a".into());
    host.others_set(&a, "10000");
    let (is_done, all) = host.restore("another boot", false).unwrap();
    assert!(is_done && all.iter().all(|(_, outcome)| matches!(outcome, Outcome::OfOthers { .. })), "{all:?}");
    assert_eq!(host.value(&a).as_deref(), Some("10000"), "it is the start's, not ours");
    assert_eq!(*host.disk.borrow(), None);
}

#[test]
fn what_cannot_be_restored_is_reported_and_kept() {
    let host = Host::new(Card::new(4));
    host.apply(&[to(Setting::Offload(OffloadName::Gro), "0"), to(Setting::Sysctl("a".into()), "2")], false)
        .unwrap();
    host.card.borrow_mut().0.remove(&Setting::Offload(OffloadName::Gro));
    // Nothing says that somebody else did it on purpose: the offload is gone.
    let mut state = host.disk.borrow().clone().unwrap();
    state.phase = Phase::Applying;
    *host.disk.borrow_mut() = Some(state);
    let (is_done, all) = host.restore("boot", false).unwrap();
    assert!(!is_done && host.disk.borrow().is_some());
    assert!(
        matches!(&all.last().unwrap().1, Outcome::Refused(reason) if reason.contains("it is gone")),
        "{all:?}"
    );
    assert_eq!(host.value(&Setting::Sysctl("a".into())).as_deref(), Some("1000"), "the rest is restored");
    assert!(host.apply(&[], false).unwrap_err().to_string().contains("tune restore -i eth0"));
    assert!(!host.restore("boot", true).unwrap().0);
    assert_eq!(*host.disk.borrow(), None, "forgotten by --force");
}

/// Settings of the card that somebody can change, with values that it accepts.
fn a_change() -> impl Strategy<Value = Proposal> {
    prop_oneof![
        (1..=QUEUES).prop_map(|queues| to(Setting::Channels, &format!("0 0 1 {queues}"))),
        (8u32..5000).prop_map(|ring| to(Setting::Rings, &format!("{ring} 0 0 256"))),
        (0..QUEUES, 0u32..8).prop_map(|(queue, cpu)| to(Card::interrupt(queue), &cpu.to_string())),
        (0..QUEUES, 0u32..16).prop_map(|(queue, mask)| to(Card::queue_file(queue), &format!("{mask:x}"))),
        (0u32..2).prop_map(|on| to(Setting::Offload(OffloadName::Gro), &on.to_string())),
        (0u32..9).prop_map(|value| to(Setting::Sysctl("a".into()), &value.to_string())),
        (0u32..9).prop_map(|value| to(Setting::Sysctl("b".into()), &value.to_string())),
    ]
}

fn changes() -> impl Strategy<Value = Vec<Proposal>> {
    proptest::collection::vec(a_change(), 0..12)
}

proptest! {
    /// For any settings before, any changes, any number of repeats, and a kill at any call.
    #[test]
    fn restore_gives_back_what_was_before(
        queues in 1..=QUEUES,
        before in changes(),
        applied in proptest::collection::vec((changes(), 0u32..400), 1..4),
        kills in proptest::collection::vec(0u32..200, 0..4),
    ) {
        let mut card = Card::new(queues);
        for Proposal { setting, value } in &before {
            let _ = card.write(setting, value);
        }
        let host = Host::new(card.clone());
        for (proposals, kill) in &applied {
            host.killed_after(*kill, || host.apply(proposals, false));
        }
        for kill in &kills {
            host.killed_after(*kill, || host.restore("boot", false));
        }
        let (is_done, all) = host.restore("boot", false).unwrap();
        prop_assert!(is_done, "{all:?}");
        prop_assert_eq!(&*host.card.borrow(), &card);
        prop_assert!(host.disk.borrow().is_none());
    }

    /// The setting that somebody else changed after `apply` keeps that value; all others are as before.
    #[test]
    fn restore_leaves_what_others_changed(proposals in changes(), value in 20u32..30) {
        let host = Host::new(Card::new(4));
        host.apply(&proposals, false).unwrap();
        let foreign = Setting::Sysctl("b".into());
        host.others_set(&foreign, &value.to_string());
        prop_assert!(host.restore("boot", false).unwrap().0);
        let mut expected = Card::new(4);
        if host.disk.borrow().is_none() {
            expected.set(foreign, value.to_string());
        }
        prop_assert_eq!(&*host.card.borrow(), &expected);
    }
}
