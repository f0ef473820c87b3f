use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::trial::Load;

use super::*;

/// What an end was asked for, with its stream.
type Log = Rc<RefCell<Vec<String>>>;

/// An end that sends what it should, until a message at which it ends, or fails.
struct End {
    stream: u8,
    log: Log,
    /// The message, and whether its process ends.
    fails_at: Option<(&'static str, bool)>,
    part: Option<Arm>,
    is_lost: bool,
}

impl End {
    fn answer<T>(&mut self, message: &'static str, value: T) -> Result<T> {
        self.log.borrow_mut().push(format!("{message} {}", self.stream));
        match self.fails_at {
            Some((at, ends)) if at == message || self.is_lost => {
                self.is_lost = ends;
                Err(LabError::Remote(format!("{message} of {} failed", self.stream).into()))
            }
            _ => Ok(value),
        }
    }
}

impl TransmitEnd for End {
    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> Result<()> {
        self.part = Some(arm);
        self.answer("arm", ())
    }

    fn go(&mut self, go: Go) -> Result<()> {
        self.answer(if go.with_others { "go" } else { "go alone" }, ())
    }

    fn sent(&mut self) -> Result<Vec<Sent>> {
        let frames = self.part.and_then(|arm| arm.load.intended(arm.duration)).unwrap();
        self.answer(
            "sent",
            vec![Sent { stream: StreamId(self.stream), frames, end_ns: 0, began: None, dropped: None }],
        )
    }

    fn finish(&mut self, _: FinishSending) -> Result<TransmitHalf> {
        unreachable!("no test gets there")
    }

    fn release(&mut self) {
        self.log.borrow_mut().push(format!("release {}", self.stream));
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }
}

/// Three generators, of which one fails, and what they were asked for.
fn senders(
    failing: usize,
    fails_at: Option<(&'static str, bool)>,
    tolerated: usize,
) -> (Senders<'static>, Log) {
    let log = Log::default();
    let sender = |stream: u8| {
        let fails_at = fails_at.filter(|_| usize::from(stream) == failing);
        let end = End { stream, log: Rc::clone(&log), fails_at, part: None, is_lost: false };
        let one = NonZeroU16::MIN;
        Sender::new(Box::new(end), StreamId(stream), one, NonZeroU32::MIN, Some(format!("g{stream}")), false)
    };
    (Senders::new((0..3).map(sender).collect(), 3, Vec::new(), tolerated), log)
}

const TRIAL: TrialId = TrialId(7);

fn arm() -> Arm {
    Arm {
        trial: TRIAL,
        load: Load::Rate(Pps::new(3000.0).unwrap()),
        burst: None,
        duration: Duration::from_secs(1),
        is_first: false,
        stays_open: false,
        in_turns: false,
    }
}

/// Streams and frames.
fn run(senders: &mut Senders<'_>) -> Result<Vec<(u8, u64)>> {
    senders.arm(arm(), None)?;
    Ok(senders.send(TRIAL)?.into_iter().map(|sent| (sent.stream.0, sent.frames)).collect())
}

#[test]
fn all_begin_before_the_end_of_any_is_awaited() {
    let (mut senders, log) = senders(0, None, 0);
    assert_eq!(run(&mut senders).unwrap(), [(0, 1000), (1, 1000), (2, 1000)]);
    assert_eq!(log.borrow()[3..], ["go 0", "go 1", "go 2", "sent 0", "sent 1", "sent 2"]);
    assert!(senders.absence().is_none());
    let end = End { stream: 0, log: Rc::clone(&log), fails_at: None, part: None, is_lost: false };
    run(&mut Senders::one(Box::new(end), NonZeroU16::MIN)).unwrap();
    assert_eq!(log.borrow()[9..], ["arm 0", "go alone 0", "sent 0"]);
}

#[test]
fn one_that_ends_while_it_sends_leaves_the_others_their_frames_and_the_next_trial_all_of_the_load() {
    for message in ["go", "sent"] {
        let (mut tolerant, _) = senders(1, Some((message, true)), 1);
        assert_eq!(run(&mut tolerant).unwrap(), [(0, 1000), (2, 1000)], "{message}");
        let failed: Vec<_> = tolerant.each().iter().map(|sender| sender.failure().is_some()).collect();
        assert_eq!((failed, tolerant.absence()), (vec![false, true, false], None), "it took part");
        // Its stream has no frame to wait for.
        assert_eq!(run(&mut tolerant).unwrap(), [(0, 1500), (2, 1500), (1, 0)]);
        let absence = tolerant.absence();
        assert!(matches!(absence, Some(Noise::GeneratorsAbsent { absent: 1, all: 3, .. })), "{absence:?}");
        let (mut strict, _) = senders(1, Some((message, true)), 0);
        assert_eq!(run(&mut strict).unwrap().len(), 2);
        let error = run(&mut strict).unwrap_err().to_string();
        assert_eq!(error, "arm of 1 failed", "it is not started again");
    }
}

#[test]
fn one_that_ends_before_it_sends_is_replaced_by_the_others() {
    let (mut tolerant, log) = senders(1, Some(("arm", true)), 1);
    assert_eq!(run(&mut tolerant).unwrap(), [(0, 1500), (2, 1500), (1, 0)]);
    assert_eq!(log.borrow()[..5], ["arm 0", "arm 1", "release 0", "release 1", "release 2"]);
    assert_eq!(log.borrow()[5..7], ["arm 0", "arm 2"]);
    let (mut strict, _) = senders(1, Some(("arm", true)), 0);
    assert!(run(&mut strict).unwrap_err().to_string().contains("arm of 1 failed"));
}

#[test]
fn an_error_of_one_that_is_still_there_is_the_trials_once_all_have_sent() {
    let (mut senders, log) = senders(0, Some(("sent", false)), 2);
    assert!(run(&mut senders).unwrap_err().to_string().contains("sent of 0 failed"));
    assert_eq!(log.borrow().last().unwrap(), "sent 2");
}
