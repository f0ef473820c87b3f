//! The merge: accepts batches and reports, delivers frames in time order.

use std::time::Duration;

use capbench_capture::capture::SeekableBatch;
use capbench_sys::packet::Frame;

use super::eras::{Eras, Moment};
use super::port::{Held, Port, PortPlan, PortTally};
use super::run::{Entry, Key, Run, Runs, stretches};

/// Several ports as one stream in time order.
///
/// It owns each batch until its last frame is delivered. It never waits and never reads a clock. The caller passes it batches and
/// reports of the ports, then calls [`Merge::drain_ready`], at least four times per window.
///
/// ```
/// # use std::time::Duration;
/// # use capbench_record::merge::{Merge, Moment, PortPlan};
/// # use capbench_sys::packet::Block;
/// # fn of(block: Block, looked_ns: u64) {
/// let ports = vec![PortPlan::new(Duration::from_millis(10), 64); 2];
/// let window = PortPlan::window(&ports);
/// let mut merge = Merge::new(ports, window);
/// merge.push(0, block);
/// merge.idle(1, looked_ns);
/// merge.drain_ready(Moment::now(), |from, frame| println!("port {}: {}", from.port, frame.time_ns));
/// let tally = merge.finish(|from, frame| println!("port {}: {}", from.port, frame.time_ns));
/// # }
/// ```
#[derive(Debug)]
pub struct Merge<B> {
    ports: Vec<Port<B>>,
    eras: Eras,
    runs: Runs,
    /// Number of runs so far.
    number: u64,
    /// The greatest time delivered in the newest delivered era.
    passed: Key,
    held: Holding,
    most: Holding,
    forced: u64,
}

/// Sizes of the batches that have frames left.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    batches: u64,
    octets: u64,
}

/// Origin of a frame.
#[derive(Debug)]
pub struct Origin<'b, B> {
    /// The port, numbered in the order of [`Merge::new`].
    pub port: usize,
    /// The batch that contains it, for properties of the batch.
    pub batch: &'b B,
    /// Whether it is the first delivered frame of its batch. Losses that the batch reports before it belong here: see
    /// [`capbench_capture::Batch::loss_mark`].
    pub first: bool,
}

impl<B> Clone for Origin<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Origin<'_, B> {}

impl<B: SeekableBatch> Merge<B> {
    /// Merges these ports. The merge does not wait for a port that was silent for longer than `window`, and keeps no frame for
    /// longer.
    pub fn new(ports: Vec<PortPlan>, window: Duration) -> Self {
        Self {
            ports: ports.into_iter().map(Port::new).collect(),
            eras: Eras::new(window),
            runs: Runs::new(),
            number: 0,
            passed: Key::LEAST,
            held: Holding::default(),
            most: Holding::default(),
            forced: 0,
        }
    }

    /// A port delivered a batch. A batch without frames is dropped at once: the caller reads its loss report before.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn push(&mut self, port: usize, batch: B) {
        let Self { ports, eras, runs, number, held: holding, .. } = self;
        let index = port;
        let port = &mut ports[index];
        port.reported_ns = eras.elapsed_ns;
        let batch_number = port.first.wrapping_add(port.held.len() as u32);
        let (mut count, mut last, mut newest) = (0, Key::LEAST, None);
        let octets = stretches(&batch, |stretch| {
            let timed = stretch.first != 0;
            let (next, greatest) = if timed {
                let era = eras.of_frames(&mut port.reached, stretch.first, stretch.last);
                let next = Key { era, time: stretch.first };
                newest = Some(Key { era, time: stretch.last }.max(newest.unwrap_or(next)));
                (next, stretch.last)
            } else {
                (Key { era: port.reached.era, time: port.reached.greatest }, port.reached.greatest)
            };
            runs.insert(
                next,
                Run {
                    port: index as u32,
                    batch: batch_number,
                    place: stretch.place,
                    frames: stretch.frames,
                    timed,
                    last: greatest,
                    number: *number,
                },
            );
            *number += 1;
            count += 1;
            last = last.max(Key { time: greatest, ..next });
        });
        if count == 0 {
            return;
        }
        match newest {
            Some(newest) if newest.era == port.reached.era => {
                port.gave(Key { time: port.reached.greatest, ..newest });
            }
            Some(newest) => port.gave(newest),
            None => port.promises &= port.reached.greatest != 0,
        }
        port.tally.unsorted_batches += u64::from(count > 1);
        port.batches += 1;
        port.held.push_back(Held {
            batch: Some(batch),
            runs: count,
            untouched: true,
            last,
            came_ns: eras.elapsed_ns,
            octets,
        });
        holding.batches += 1;
        holding.octets += octets;
        self.most.batches = self.most.batches.max(holding.batches);
        self.most.octets = self.most.octets.max(holding.octets);
    }

    /// A port's thread looked for frames and found none. `looked_ns` is CLOCK_REALTIME in ns, read before looking. A thread that
    /// did not look (for example without memory for a batch) must not call this: frames may be waiting.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn idle(&mut self, port: usize, looked_ns: u64) {
        let port = &mut self.ports[port];
        port.reported_ns = self.eras.elapsed_ns;
        let era = self.eras.of_look(&mut port.reached, looked_ns);
        port.looked(Key { era, time: looked_ns });
    }

    /// A port has ended: no more frames come, and the merge stops waiting for it.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn ended(&mut self, port: usize) {
        self.ports[port].promises = false;
    }

    /// Passes to `each` all frames whose place in the stream is certain, and those that have reached the time limit. Returns
    /// their number.
    pub fn drain_ready(&mut self, now: Moment, mut each: impl FnMut(Origin<'_, B>, &Frame<'_>)) -> u64 {
        self.eras.advance(now);
        let in_order = self.promised().before().map_or(0, |limit| self.release(limit, &mut each));
        let mut forced = self.overdue().map_or(0, |limit| self.release(limit, &mut each));
        for port in 0..self.ports.len() {
            while self.ports[port].batches > self.ports[port].plan.batches {
                let oldest = self.ports[port].held.front().expect("batches are held").last;
                forced += self.release(oldest, &mut each);
            }
        }
        self.forced += forced;
        in_order + forced
    }

    /// Passes all remaining frames to `each`, in order. Returns the counters.
    pub fn finish(mut self, mut each: impl FnMut(Origin<'_, B>, &Frame<'_>)) -> MergeTally {
        self.release(Key::GREATEST, &mut each);
        self.tally()
    }

    /// The counters so far.
    pub fn tally(&self) -> MergeTally {
        MergeTally {
            ports: self.ports.iter().map(|port| port.tally).collect(),
            forced: self.forced,
            most_held_batches: self.most.batches,
            most_held_octets: self.most.octets,
            clock_set_back: self.eras.set_back,
            clock_set_forward: self.eras.set_forward,
        }
    }

    /// Batches that have frames left.
    pub fn held_batches(&self) -> u64 {
        self.held.batches
    }

    /// The common promise of all ports: no older frame will come.
    fn promised(&self) -> Key {
        let waited_for = |port: &&Port<B>| port.promises && !self.eras.is_past(port.reported_ns);
        self.ports.iter().filter(waited_for).map(|port| port.promise).min().unwrap_or(Key::GREATEST)
    }

    /// The greatest time in batches that are older than the window.
    fn overdue(&self) -> Option<Key> {
        let overdue = |held: &&Held<B>| self.eras.is_past(held.came_ns);
        let of_port = |port: &Port<B>| {
            port.held
                .iter()
                .take_while(overdue)
                .filter(|held| held.batch.is_some())
                .map(|held| held.last)
                .max()
        };
        self.ports.iter().filter_map(of_port).max()
    }

    /// Delivers all frames up to and including `limit`. Returns their number.
    fn release(&mut self, limit: Key, each: &mut impl FnMut(Origin<'_, B>, &Frame<'_>)) -> u64 {
        let mut released = 0;
        while let Some(first) = self.runs.first()
            && first.next() <= limit
        {
            released += self.give(first, limit, each);
        }
        released
    }

    /// Delivers the first run as long as it stays first and does not pass `limit`. Returns the number of frames.
    #[inline]
    fn give(&mut self, entry: Entry, limit: Key, each: &mut impl FnMut(Origin<'_, B>, &Frame<'_>)) -> u64 {
        let next = entry.next();
        let mut upto = self.runs.first_goes_to(entry, limit);
        let run = self.runs.run(entry);
        let late = run.timed && next < self.passed;
        let behind_ns = (late && next.era == self.passed.era).then(|| self.passed.time - next.time);
        if behind_ns.is_some() {
            upto = upto.min(self.passed.time - 1);
        }

        let (number, index, timed) = (run.batch, run.port as usize, run.timed);
        let port = &mut self.ports[index];
        let held = port.batch(number);
        let first = std::mem::replace(&mut held.untouched, false);
        let batch = held.batch.as_ref().expect("the batch of a run is held");
        let before = run.frames;
        let reached = run.give(next.time, upto, batch, Origin { port: index, batch, first }, each);
        let frames = u64::from(before - run.frames);
        port.tally.frames += frames;
        if late {
            port.tally.late += frames;
            port.tally.latest_ns = port.tally.latest_ns.max(behind_ns);
        } else if timed {
            self.passed = Key { time: reached.passed, ..next };
        }
        match reached.next {
            Some(time) => self.runs.first_goes_on(entry, time),
            None => {
                self.runs.first_ends(entry);
                self.end_run(index, number);
            }
        }
        frames
    }

    /// Ends a run; drops its batch if this was the batch's last run.
    fn end_run(&mut self, port: usize, batch: u32) {
        let port = &mut self.ports[port];
        let held = port.batch(batch);
        held.runs -= 1;
        if held.runs == 0 {
            held.batch = None;
            self.held.batches -= 1;
            self.held.octets -= held.octets;
            port.batches -= 1;
            port.forget();
        }
    }
}

/// Counters of the merge since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeTally {
    /// The ports, in the order of [`Merge::new`].
    pub ports: Vec<PortTally>,
    /// Frames delivered before all reporting ports had promised to deliver nothing older: they had reached the window, or the
    /// limit of unfinished batches was reached.
    pub forced: u64,
    /// Maximum number of unfinished batches.
    pub most_held_batches: u64,
    /// Maximum of captured octets in unfinished batches, without ring headers.
    pub most_held_octets: u64,
    /// How often the host's clock was set back by more than a second, seen in frame timestamps or in the `now` of the calls.
    pub clock_set_back: u64,
    /// How often it was set forward by more than a second, seen in the `now` of the calls.
    pub clock_set_forward: u64,
}

/// How far a run was delivered.
struct Reached {
    /// The time of the last frame that has a timestamp.
    passed: u64,
    /// The time of the next frame, if there is one.
    next: Option<u64>,
}

impl Run {
    /// Delivers frames up to and including the time `upto`, at least one. The first of them has the time `time`.
    #[inline]
    fn give<B: SeekableBatch>(
        &mut self,
        time: u64,
        upto: u64,
        batch: &B,
        mut origin: Origin<'_, B>,
        each: &mut impl FnMut(Origin<'_, B>, &Frame<'_>),
    ) -> Reached {
        let mut give = |frame: &Frame<'_>| {
            each(origin, frame);
            origin.first = false;
        };
        let mut place = self.place;
        if self.last <= upto {
            // No other run is left before `upto`, so frames need no comparison.
            while self.frames > 0 {
                let frame = batch.frame_at(&mut place).expect("every reading gives the same frames");
                give(&frame);
                self.frames -= 1;
            }
            return Reached { passed: self.last, next: None };
        }
        let mut passed = time;
        loop {
            let frame = batch.frame_at(&mut place).expect("every reading gives the same frames");
            if frame.time_ns > upto {
                return Reached { passed, next: Some(frame.time_ns) };
            }
            passed = passed.max(frame.time_ns);
            give(&frame);
            self.place = place;
            self.frames -= 1;
        }
    }
}
