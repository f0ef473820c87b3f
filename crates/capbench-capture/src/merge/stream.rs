//! The merge itself: batches and reports go in, frames come out in time order.

use std::time::Duration;

use capbench_sys::packet::Frame;

use super::eras::{Eras, Moment};
use super::place::Revisit;
use super::port::{Held, Port, PortPlan};
use super::run::{Key, Order, Run, Runs, stretches};
use super::tally::MergeTally;

/// Several ports as one stream in time order.
///
/// It owns the batches that it is given until their last frame is out. Nothing in it waits or reads a clock: whoever
/// drives it gives it what ports brought and said, then calls [`Merge::drain_ready`], and does so at least four times
/// while the window passes.
///
/// ```
/// # use std::time::Duration;
/// # use capbench_capture::merge::{Merge, Moment, PortPlan};
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
    /// Runs so far.
    number: u64,
    /// The greatest time given out in the newest era that was given out.
    passed: Key,
    held: Holding,
    most: Holding,
    forced: u64,
}

/// What lies in batches that have frames left.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    batches: u64,
    octets: u64,
}

/// Whence a frame comes.
#[derive(Debug)]
pub struct Origin<'b, B> {
    /// The port, as numbered by the order in which ports were given.
    pub port: usize,
    /// The batch in which it lies, for what only batches know.
    pub batch: &'b B,
    /// Whether it is the first frame of its batch that goes out. What the batch says of losses before it belongs here:
    /// see [`crate::Batch::loss_mark`].
    pub first: bool,
}

impl<B> Clone for Origin<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Origin<'_, B> {}

impl<B: Revisit> Merge<B> {
    /// A merge of these ports. A port that reports nothing for longer than `window` is not waited for, and no frame is
    /// held for longer.
    ///
    /// # Panics
    /// When there are more than 65536 ports.
    pub fn new(ports: Vec<PortPlan>, window: Duration) -> Self {
        assert!(ports.len() <= Order::PORTS, "{} ports: at most {} can be merged", ports.len(), Order::PORTS);
        Self {
            ports: ports.into_iter().map(Port::new).collect(),
            eras: Eras::new(window),
            runs: Runs::default(),
            number: 0,
            passed: Key::LEAST,
            held: Holding::default(),
            most: Holding::default(),
            forced: 0,
        }
    }

    /// A port gave a batch. One without frames is dropped at once: what it says of losses is to be read before.
    ///
    /// # Panics
    /// When there is no such port.
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
            runs.insert(Run {
                next,
                order: Order::new(index, *number),
                last: greatest,
                place: stretch.place,
                frames: stretch.frames,
                batch: batch_number,
                timed,
            });
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

    /// A port's thread found no frame. `looked_ns` is CLOCK_REALTIME as it was read before looking, in ns.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn idle(&mut self, port: usize, looked_ns: u64) {
        let port = &mut self.ports[port];
        port.reported_ns = self.eras.elapsed_ns;
        let era = self.eras.of_look(&mut port.reached, looked_ns);
        port.looked(Key { era, time: looked_ns });
    }

    /// A port has ended: nothing more comes from it, and nothing waits for it.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn ended(&mut self, port: usize) {
        self.ports[port].promises = false;
    }

    /// Gives to `each` the frames for whose place in the stream nothing more needs to be known, and those that may not be
    /// held any longer; how many.
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

    /// Gives all that is left to `each`, in order; what was counted.
    pub fn finish(mut self, mut each: impl FnMut(Origin<'_, B>, &Frame<'_>)) -> MergeTally {
        self.release(Key::GREATEST, &mut each);
        self.tally()
    }

    /// What was counted so far.
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

    /// What all ports together promise: nothing older will come.
    fn promised(&self) -> Key {
        let waited_for = |port: &&Port<B>| port.promises && !self.eras.is_past(port.reported_ns);
        self.ports.iter().filter(waited_for).map(|port| port.promise).min().unwrap_or(Key::GREATEST)
    }

    /// The greatest time in batches that have been held for the whole window.
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

    /// Gives out all frames up to and with `limit`; how many.
    fn release(&mut self, limit: Key, each: &mut impl FnMut(Origin<'_, B>, &Frame<'_>)) -> u64 {
        let mut released = 0;
        while let Some(&run) = self.runs.first()
            && run.next <= limit
        {
            released += self.give(run, limit, each);
        }
        released
    }

    /// Gives out the first run as far as it stays first and does not pass `limit`; how many frames.
    #[inline]
    fn give(&mut self, mut run: Run, limit: Key, each: &mut impl FnMut(Origin<'_, B>, &Frame<'_>)) -> u64 {
        let of_era = |key: Key| if key.era > run.next.era { u64::MAX } else { key.time };
        let mut upto = of_era(limit);
        if let Some(second) = self.runs.second() {
            upto = upto.min(
                of_era(second.next)
                    .saturating_sub(u64::from(second.next.era == run.next.era && second.order < run.order)),
            );
        }
        let late = run.timed && run.next < self.passed;
        let behind_ns = (late && run.next.era == self.passed.era).then(|| self.passed.time - run.next.time);
        if behind_ns.is_some() {
            upto = upto.min(self.passed.time - 1);
        }

        let index = run.order.port();
        let port = &mut self.ports[index];
        let held = port.batch(run.batch);
        let first = std::mem::replace(&mut held.untouched, false);
        let batch = held.batch.as_ref().expect("the batch of a run is held");
        let before = run.frames;
        let passed = run.give(upto, batch, Origin { port: index, batch, first }, each);
        let given = u64::from(before - run.frames);
        port.tally.frames += given;
        if late {
            port.tally.late += given;
            port.tally.latest_ns = port.tally.latest_ns.max(behind_ns);
        } else if run.timed {
            self.passed = Key { time: passed, ..run.next };
        }
        if run.frames > 0 {
            self.runs.replace_first(run);
        } else {
            self.runs.remove_first();
            self.end_run(index, run.batch);
        }
        given
    }

    /// A run is done with; drops its batch if it was the last of it.
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

impl Run {
    /// Gives out its frames up to and with the time `upto`, at least one; the time of the last of them that has one.
    #[inline]
    fn give<B: Revisit>(
        &mut self,
        upto: u64,
        batch: &B,
        mut origin: Origin<'_, B>,
        each: &mut impl FnMut(Origin<'_, B>, &Frame<'_>),
    ) -> u64 {
        let mut give = |frame: &Frame<'_>| {
            each(origin, frame);
            origin.first = false;
        };
        if self.last <= upto {
            // Nothing else comes in between: no frame is compared with anything.
            while self.frames > 0 {
                let frame = batch.frame_at(&mut self.place).expect("every reading gives the same frames");
                give(&frame);
                self.frames -= 1;
            }
            return self.last;
        }
        let mut passed = self.next.time;
        loop {
            let mut behind = self.place;
            let frame = batch.frame_at(&mut behind).expect("every reading gives the same frames");
            if frame.time_ns > upto {
                self.next.time = frame.time_ns;
                return passed;
            }
            passed = passed.max(frame.time_ns);
            give(&frame);
            self.place = behind;
            self.frames -= 1;
        }
    }
}
