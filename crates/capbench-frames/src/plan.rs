//! A frame plan: all properties of a trial's frames, fixed and checked before it starts.

use crate::{Flow, Flows, FrameLayout, FrameSize, FrameWriter, Mtu, Result, SizeSequence, Sizes};

/// Layout, sizes and flows of the frames, with prepared headers.
///
/// Frame `i` has the size at `i mod period` and the flow `(i + i / period) mod flows`. The additional step per period
/// prevents that a flow always gets the same sizes when period and number of flows have a common divisor.
#[derive(Debug, Clone)]
pub struct FramePlan {
    layout: FrameLayout,
    asked: Sizes,
    sequence: SizeSequence,
    writer: FrameWriter,
}

impl FramePlan {
    /// A plan of this layout and these sizes for an interface with this MTU.
    ///
    /// # Errors
    /// A size that the layout or the MTU does not allow. The message names the limit.
    pub fn new(layout: FrameLayout, sizes: Sizes, mtu: Mtu) -> Result<Self> {
        let sequence = sizes.sequence(&layout)?;
        layout.check(sequence.least(), mtu)?;
        layout.check(sequence.largest(), mtu)?;
        Ok(Self { layout, asked: sizes, sequence, writer: FrameWriter::new(&layout) })
    }

    /// The frames of `dain-2004`: TCP with 4 octets of payload, 58 octets (62 with the FCS), one flow.
    ///
    /// # Errors
    /// An MTU below 44.
    pub fn dain_2004(mtu: Mtu) -> Result<Self> {
        let layout = FrameLayout::dain_2004();
        Self::new(layout, Sizes::Fixed(layout.minimum_size()), mtu)
    }

    /// The headers.
    pub fn layout(&self) -> &FrameLayout {
        &self.layout
    }

    /// The requested sizes.
    pub fn asked(&self) -> &Sizes {
        &self.asked
    }

    /// The sizes that are sent, and which of them were raised.
    pub fn sizes(&self) -> &SizeSequence {
        &self.sequence
    }

    /// The writer of the frames.
    pub fn writer(&self) -> &FrameWriter {
        &self.writer
    }

    /// Size and flow of frame `number`, counted from 0.
    pub fn frame(&self, number: u64) -> (FrameSize, Flow) {
        let sizes = self.sequence.sizes();
        (sizes[(number % sizes.len() as u64) as usize], self.flow_order().flow(number))
    }

    /// The flow of each frame.
    pub fn flow_order(&self) -> FlowOrder {
        FlowOrder { period: self.sequence.sizes().len() as u64, flows: self.layout.flows }
    }

    /// Sizes and flows from frame 0 on, endless. The same as [`Self::frame`], but without divisions.
    pub fn frames(&self) -> PlannedFrames<'_> {
        PlannedFrames { sizes: self.sequence.sizes(), flows: self.layout.flows.get() as u16, at: 0, flow: 0 }
    }
}

/// The flow of each frame of a plan, from its number alone. A receiver can use it for lost frames, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowOrder {
    period: u64,
    flows: Flows,
}

impl Default for FlowOrder {
    /// One flow.
    fn default() -> Self {
        Self { period: 1, flows: Flows::ONE }
    }
}

impl FlowOrder {
    /// Number of flows of the plan. For some periods of sizes, some flows get no frame.
    pub fn flows(&self) -> u32 {
        self.flows.get()
    }

    /// The flow of frame `number`, counted from 0.
    pub fn flow(&self, number: u64) -> Flow {
        let flows = u64::from(self.flows.get());
        let skipped = if self.period > 1 { number / self.period } else { 0 };
        Flow(((number % flows + skipped % flows) % flows) as u16)
    }

    /// How many of the frames 0 to `frames` (exclusive) belong to each flow.
    pub fn frames_of_flows(&self, frames: u64) -> Vec<u64> {
        let flows = u64::from(self.flows.get());
        let mut rounds = Rounds { full: 0, steps: vec![0; flows as usize + 1] };
        if self.period == 1 {
            rounds.add(0, frames, 1);
            return rounds.sum();
        }
        // A period uses the flows in turn, and the next period starts one flow further. After as many periods as there are
        // flows it starts where the first one did.
        let (periods, rest) = (frames / self.period, frames % self.period);
        let begin = |nth: u64| (nth % flows) * ((self.period + 1) % flows) % flows;
        for nth in 0..flows.min(periods) {
            rounds.add(begin(nth), self.period, (periods - nth).div_ceil(flows));
        }
        rounds.add(begin(periods), rest, 1);
        rounds.sum()
    }
}

/// Counts frames per flow. Stores ranges of flows that get one more frame.
struct Rounds {
    /// Frames that every flow gets.
    full: u64,
    /// Differences between the counts of neighbouring flows, modulo 2^64 so that they can be negative.
    steps: Vec<u64>,
}

impl Rounds {
    /// Counts `frames` frames, one per flow from `first` on and cyclically, `times` times.
    fn add(&mut self, first: u64, frames: u64, times: u64) {
        let flows = self.steps.len() as u64 - 1;
        self.full += times * (frames / flows);
        let end = first + frames % flows;
        for (from, to) in [(first, end.min(flows)), (0, end.saturating_sub(flows))] {
            self.steps[from as usize] = self.steps[from as usize].wrapping_add(times);
            self.steps[to as usize] = self.steps[to as usize].wrapping_sub(times);
        }
    }

    fn sum(self) -> Vec<u64> {
        let flows = self.steps.len() - 1;
        let add = |count: &mut u64, step: &u64| {
            *count = count.wrapping_add(*step);
            Some(*count)
        };
        self.steps[..flows].iter().scan(self.full, add).collect()
    }
}

/// Sizes and flows of the frames of a plan, in order.
#[derive(Debug, Clone)]
pub struct PlannedFrames<'a> {
    sizes: &'a [FrameSize],
    flows: u16,
    at: usize,
    flow: u16,
}

impl PlannedFrames<'_> {
    /// Octets of the last frames, FCS included.
    pub fn octets_of_last(&self, frames: u64) -> u64 {
        let count = self.sizes.len() as u64;
        let size = |back: u64| self.sizes[((self.at as u64 + count - back % count) % count) as usize];
        (1..=frames).map(|back| u64::from(size(back).octets())).sum()
    }

    /// The next frame.
    #[inline]
    pub fn next_frame(&mut self) -> (FrameSize, Flow) {
        let frame = (self.sizes[self.at], Flow(self.flow));
        self.at += 1;
        self.step_flow();
        if self.at == self.sizes.len() {
            self.at = 0;
            if self.sizes.len() > 1 {
                self.step_flow();
            }
        }
        frame
    }

    #[inline]
    fn step_flow(&mut self) {
        self.flow += 1;
        if self.flow == self.flows {
            self.flow = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Flows;

    fn plan(flows: u32, sizes: &str) -> Result<FramePlan> {
        let layout = FrameLayout { flows: Flows::new(flows)?, ..FrameLayout::default() };
        FramePlan::new(layout, sizes.parse()?, Mtu(1500))
    }

    #[test]
    fn sizes_that_do_not_pass_are_refused_before_the_trial() {
        let error = plan(1, "9999").unwrap_err().to_string();
        assert!(
            error.contains("frame size 9999 needs an MTU of 9981, but the interface has 1500"),
            "{error}"
        );
        assert!(plan(1, "64,1519").is_err());
        assert!(plan(1, "63").unwrap_err().to_string().contains("frame size 63 is not allowed"));
        assert!(plan(1, "imix").is_ok());
    }

    proptest! {
        #[test]
        fn frames_of_flows_are_counted_without_counting(flows in 1..40_u32, list in 0..3_usize, frames in 0..3000_u64) {
            let plan = plan(flows, ["64", "64,128,256", "imix"][list]).unwrap();
            let mut counts = vec![0; flows as usize];
            for number in 0..frames {
                counts[plan.flow_order().flow(number).number() as usize] += 1;
            }
            prop_assert_eq!(plan.flow_order().frames_of_flows(frames), counts);
        }
    }

    #[test]
    fn dain_sent_58_octets() {
        let plan = FramePlan::dain_2004(Mtu(1500)).unwrap();
        let (size, flow) = plan.frame(499_999);
        assert_eq!((size.captured(), size.octets(), flow.number()), (58, 62, 0));
    }

    #[test]
    fn every_flow_gets_every_size() {
        let plan = plan(4, "imix").unwrap();
        let mut frames = plan.frames();
        let pairs: HashSet<(u16, u32)> = (0..12 * 4)
            .map(|_| {
                let (size, flow) = frames.next_frame();
                (size.octets(), flow.number())
            })
            .collect();
        assert_eq!(pairs.len(), 3 * 4);
    }

    proptest! {
        #[test]
        fn in_order_and_by_number_agree(flows in 1..40_u32, sizes in prop_oneof![
            Just("64"), Just("64,128,256"), Just("imix"), Just("64-100/1"), Just("64,128,256,512")
        ]) {
            let plan = plan(flows, sizes).unwrap();
            let mut frames = plan.frames();
            for number in 0..500 {
                prop_assert_eq!(frames.next_frame(), plan.frame(number));
            }
        }
    }
}
