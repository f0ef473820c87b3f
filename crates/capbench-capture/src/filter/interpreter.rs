//! Runs a classic BPF program on frames of methods without a filter, as the kernel runs it on frames of a socket
//! (Documentation/networking/filter.rst, `bpf_convert_filter` of net/core/filter.c).
//!
//! The program is decoded and checked before the first frame. All jumps are forward, so that it ends. No frame content can
//! make it panic.

use capbench_model::filter::check::MEMORY;
use capbench_model::filter::operation::{Ancillary, Arithmetic, Condition, Operand, Operation, Width};
use capbench_model::filter::program::Filter;
use capbench_sys::packet::{FilterInstruction, Frame, PacketType};

use super::metadata::{Answer, FrameMetadata};
use crate::{CaptureError, Result};
use capbench_model::counters::Loss;
use capbench_model::places::Place;
use capbench_model::units::SnapLength;

/// A decoded program, and counts of the frames that it passed and filtered.
#[derive(Clone, Debug)]
pub struct SoftwareFilter {
    steps: Box<[Step]>,
    most: SnapLength,
    passed: u64,
    filtered: u64,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Word(u32),
    Half(u32),
    Byte(u32),
    WordFromIndex(u32),
    HalfFromIndex(u32),
    ByteFromIndex(u32),
    Answer(Answer),
    Constant(u32),
    Memory(u8),
    Length,
    IndexConstant(u32),
    IndexMemory(u8),
    IndexLength,
    IndexHeaderLength(u32),
    Store(u8),
    StoreIndex(u8),
    Compute(Arithmetic, u32),
    ComputeWithIndex(Arithmetic),
    Negate,
    Jump(u32),
    JumpEqual(u32, u8, u8),
    JumpAnySet(u32, u8, u8),
    JumpIf(Condition, u32, u8, u8),
    JumpIfIndex(Condition, u8, u8),
    Return(u32),
    ReturnAccumulator,
    AccumulatorToIndex,
    IndexToAccumulator,
}

impl SoftwareFilter {
    /// Prepares a program for frames with the metadata `metadata`. Frames are kept up to `most` octets.
    ///
    /// # Errors
    /// [`CaptureError::Filter`]: it needs metadata that these frames do not have.
    pub fn new(filter: &Filter, most: SnapLength, metadata: &FrameMetadata) -> Result<Self> {
        let step = |instruction: &FilterInstruction| {
            decode(instruction, metadata).map_err(|reason| CaptureError::Filter {
                expression: filter.expression().map(|expression| expression.text.clone()).unwrap_or_default(),
                reason,
                place: None,
            })
        };
        let steps = filter.program().iter().map(step).collect::<Result<_>>()?;
        Ok(Self { steps, most, passed: 0, filtered: 0 })
    }

    /// The number of octets to keep of a frame. `None` for an unwanted frame.
    ///
    /// Octets that were not captured cannot be loaded: the method has to capture frames whole.
    #[inline]
    pub fn matches(&self, frame: &Frame<'_>) -> Option<SnapLength> {
        match self.run(frame) {
            0 => None,
            octets => Some(SnapLength::new(octets).min(self.most)),
        }
    }

    /// The same, and counts the frame.
    #[inline]
    pub fn pass(&mut self, frame: &Frame<'_>) -> Option<SnapLength> {
        let kept = self.matches(frame);
        self.passed += u64::from(kept.is_some());
        self.filtered += u64::from(kept.is_none());
        kept
    }

    /// Frames that [`SoftwareFilter::pass`] passed.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Frames that [`SoftwareFilter::pass`] filtered on purpose.
    pub fn filtered(&self) -> Loss {
        Loss {
            place: Place::Filter,
            count: Some(self.filtered),
            source: "classic BPF program, run by capbench itself".into(),
        }
    }

    /// The program's return value.
    #[inline]
    fn run(&self, frame: &Frame<'_>) -> u32 {
        let (mut accumulator, mut index) = (0u32, 0u32);
        let mut memory = [0u32; MEMORY];
        let mut at = 0usize;
        // A load beyond the frame ends the program: the frame is not wanted.
        macro_rules! load {
            ($width:ty, $offset:expr) => {
                match octets(frame.data, $offset) {
                    Some(found) => u32::from(<$width>::from_be_bytes(found)),
                    None => return 0,
                }
            };
        }
        while let Some(step) = self.steps.get(at) {
            at += 1;
            match *step {
                Step::Word(offset) => accumulator = load!(u32, offset),
                Step::Half(offset) => accumulator = load!(u16, offset),
                Step::Byte(offset) => accumulator = load!(u8, offset),
                Step::WordFromIndex(offset) => accumulator = load!(u32, index.wrapping_add(offset)),
                Step::HalfFromIndex(offset) => accumulator = load!(u16, index.wrapping_add(offset)),
                Step::ByteFromIndex(offset) => accumulator = load!(u8, index.wrapping_add(offset)),
                Step::Answer(answer) => match answer_of(answer, frame, accumulator, index) {
                    Some(value) => accumulator = value,
                    None => return 0,
                },
                Step::Constant(value) => accumulator = value,
                Step::Memory(word) => accumulator = memory[usize::from(word) % MEMORY],
                Step::Length => accumulator = frame.wire_length,
                Step::IndexConstant(value) => index = value,
                Step::IndexMemory(word) => index = memory[usize::from(word) % MEMORY],
                Step::IndexLength => index = frame.wire_length,
                Step::IndexHeaderLength(offset) => index = (load!(u8, offset) & 0xf) << 2,
                Step::Store(word) => memory[usize::from(word) % MEMORY] = accumulator,
                Step::StoreIndex(word) => memory[usize::from(word) % MEMORY] = index,
                Step::Compute(arithmetic, value) => match compute(arithmetic, accumulator, value) {
                    Some(value) => accumulator = value,
                    None => return 0,
                },
                Step::ComputeWithIndex(arithmetic) => match compute(arithmetic, accumulator, index) {
                    Some(value) => accumulator = value,
                    None => return 0,
                },
                Step::Negate => accumulator = accumulator.wrapping_neg(),
                Step::Jump(distance) => at += distance as usize,
                Step::JumpEqual(value, then, otherwise) => {
                    at += usize::from(if accumulator == value { then } else { otherwise });
                }
                Step::JumpAnySet(value, then, otherwise) => {
                    at += usize::from(if accumulator & value != 0 { then } else { otherwise });
                }
                Step::JumpIf(condition, value, then, otherwise) => {
                    at += usize::from(if holds(condition, accumulator, value) { then } else { otherwise });
                }
                Step::JumpIfIndex(condition, then, otherwise) => {
                    at += usize::from(if holds(condition, accumulator, index) { then } else { otherwise });
                }
                Step::Return(octets) => return octets,
                Step::ReturnAccumulator => return accumulator,
                Step::AccumulatorToIndex => index = accumulator,
                Step::IndexToAccumulator => accumulator = index,
            }
        }
        0
    }
}

/// Decodes an instruction. The error names metadata that the frames do not have.
fn decode(instruction: &FilterInstruction, metadata: &FrameMetadata) -> std::result::Result<Step, String> {
    let FilterInstruction { code, jt, jf, k } = *instruction;
    let operation = Operation::of(code).ok_or_else(|| format!("the kernel knows no code {code}"))?;
    // Checked when the filter was made.
    let word = k as u8;
    Ok(match operation {
        Operation::LoadAbsolute(width) => match (Ancillary::of(k).flatten(), width) {
            (Some(asked), _) => match metadata.answer(asked) {
                Some(Answer::Constant(value)) => Step::Constant(value),
                Some(answer) => Step::Answer(answer),
                None => return Err(unreported(asked)),
            },
            (None, Width::Word) => Step::Word(k),
            (None, Width::Half) => Step::Half(k),
            (None, Width::Byte) => Step::Byte(k),
        },
        Operation::LoadIndirect(Width::Word) => Step::WordFromIndex(k),
        Operation::LoadIndirect(Width::Half) => Step::HalfFromIndex(k),
        Operation::LoadIndirect(Width::Byte) => Step::ByteFromIndex(k),
        Operation::LoadConstant => Step::Constant(k),
        Operation::LoadMemory => Step::Memory(word),
        Operation::LoadLength => Step::Length,
        Operation::IndexConstant => Step::IndexConstant(k),
        Operation::IndexMemory => Step::IndexMemory(word),
        Operation::IndexLength => Step::IndexLength,
        Operation::IndexHeaderLength => Step::IndexHeaderLength(k),
        Operation::Store => Step::Store(word),
        Operation::StoreIndex => Step::StoreIndex(word),
        Operation::Compute(arithmetic, Operand::Constant) => Step::Compute(arithmetic, k),
        Operation::Compute(arithmetic, Operand::Index) => Step::ComputeWithIndex(arithmetic),
        Operation::Negate => Step::Negate,
        Operation::Jump => Step::Jump(k),
        Operation::JumpIf(Condition::Equal, Operand::Constant) => Step::JumpEqual(k, jt, jf),
        Operation::JumpIf(Condition::AnySet, Operand::Constant) => Step::JumpAnySet(k, jt, jf),
        Operation::JumpIf(condition, Operand::Constant) => Step::JumpIf(condition, k, jt, jf),
        Operation::JumpIf(condition, Operand::Index) => Step::JumpIfIndex(condition, jt, jf),
        Operation::ReturnConstant => Step::Return(k),
        Operation::ReturnAccumulator => Step::ReturnAccumulator,
        Operation::AccumulatorToIndex => Step::AccumulatorToIndex,
        Operation::IndexToAccumulator => Step::IndexToAccumulator,
    })
}

fn unreported(asked: Ancillary) -> String {
    let next = match asked {
        Ancillary::VlanTag | Ancillary::VlanTagPresent | Ancillary::VlanProtocol => {
            "; the NIC may remove tags from frames: turn that off (ethtool -K INTERFACE rxvlan off), or use a method with a \
             socket filter"
        }
        _ => "; a method with a socket filter can",
    };
    format!("it asks for {}, which this method does not report{next}", in_messages(asked))
}

/// Metadata of a frame, as messages name it.
fn in_messages(asked: Ancillary) -> &'static str {
    match asked {
        Ancillary::Protocol => "the protocol",
        Ancillary::PacketType => "the addressee of the frame (inbound, outbound)",
        Ancillary::InterfaceIndex => "the number of the interface",
        Ancillary::NetlinkAttribute | Ancillary::NestedNetlinkAttribute => "a netlink attribute",
        Ancillary::Mark => "the mark",
        Ancillary::Queue => "the receive queue",
        Ancillary::HardwareType => "the type of the interface",
        Ancillary::Hash => "the flow hash",
        Ancillary::Cpu => "the CPU",
        Ancillary::XorIndex => "nothing",
        Ancillary::VlanTag => "the VLAN tag",
        Ancillary::VlanTagPresent => "whether there is a VLAN tag",
        Ancillary::PayloadOffset => "the offset of the payload",
        Ancillary::Random => "a random number",
        Ancillary::VlanProtocol => "the protocol of the VLAN tag",
    }
}

/// `N` octets at an offset.
#[inline]
fn octets<const N: usize>(data: &[u8], offset: u32) -> Option<[u8; N]> {
    match data.get(offset as usize..).and_then(|from| from.first_chunk()) {
        Some(found) => Some(*found),
        None => octets_behind(data, offset),
    }
}

/// The same for negative offsets, which count from the network header or from the frame's (`SKF_NET_OFF`, `SKF_LL_OFF`).
#[cold]
fn octets_behind<const N: usize>(data: &[u8], offset: u32) -> Option<[u8; N]> {
    const NETWORK: u32 = -0x10_0000_i32 as u32;
    const LINK: u32 = -0x20_0000_i32 as u32;
    /// Of Ethernet.
    const HEADER: usize = 14;
    let from = match (offset.checked_sub(NETWORK), offset.checked_sub(LINK)) {
        (Some(behind), _) => HEADER + behind as usize,
        (None, Some(behind)) => behind as usize,
        (None, None) => return None,
    };
    data.get(from..)?.first_chunk().copied()
}

#[inline]
fn holds(condition: Condition, accumulator: u32, operand: u32) -> bool {
    match condition {
        Condition::Equal => accumulator == operand,
        Condition::Greater => accumulator > operand,
        Condition::GreaterOrEqual => accumulator >= operand,
        Condition::AnySet => accumulator & operand != 0,
    }
}

/// `None` for a division by 0, which ends the program. Shifts are by the lower five bits, as since Linux 5.13.
#[inline]
fn compute(arithmetic: Arithmetic, accumulator: u32, operand: u32) -> Option<u32> {
    Some(match arithmetic {
        Arithmetic::Add => accumulator.wrapping_add(operand),
        Arithmetic::Subtract => accumulator.wrapping_sub(operand),
        Arithmetic::Multiply => accumulator.wrapping_mul(operand),
        Arithmetic::Divide => accumulator.checked_div(operand)?,
        Arithmetic::Or => accumulator | operand,
        Arithmetic::And => accumulator & operand,
        Arithmetic::ShiftLeft => accumulator.wrapping_shl(operand),
        Arithmetic::ShiftRight => accumulator.wrapping_shr(operand),
        Arithmetic::Modulo => accumulator.checked_rem(operand)?,
        Arithmetic::Xor => accumulator ^ operand,
    })
}

/// Ancillary data of a frame. `None` if the method does not report it although it declared so.
#[inline]
fn answer_of(answer: Answer, frame: &Frame<'_>, accumulator: u32, index: u32) -> Option<u32> {
    Some(match answer {
        Answer::Constant(value) => value,
        Answer::Protocol => protocol(frame.data)?,
        Answer::PacketType => match frame.packet_type {
            PacketType::Host => 0,
            PacketType::Broadcast => 1,
            PacketType::Multicast => 2,
            PacketType::OtherHost => 3,
            PacketType::Outgoing => 4,
            PacketType::Other(value) => value.into(),
            PacketType::Unknown => return None,
        },
        Answer::Hash => frame.hash.unwrap_or(0),
        Answer::XorIndex => accumulator ^ index,
        Answer::VlanTag => frame.vlan.map_or(0, |tag| tag.tci.into()),
        Answer::VlanTagPresent => frame.vlan.is_some().into(),
        Answer::VlanProtocol => frame.vlan.map_or(0, |tag| tag.tpid.into()),
    })
}

/// The protocol as the kernel derives it from an Ethernet header (`eth_type_trans` of net/ethernet/eth.c).
fn protocol(frame: &[u8]) -> Option<u32> {
    /// `ETH_P_802_3_MIN`: smaller values are lengths.
    const SMALLEST: u16 = 0x0600;
    /// `ETH_P_802_3` and `ETH_P_802_2`.
    const RAW: u32 = 1;
    const LLC: u32 = 4;
    let kind = u16::from_be_bytes(octets(frame, 12)?);
    if kind >= SMALLEST {
        return Some(kind.into());
    }
    Some(if frame.get(14..16) == Some(&[0xff, 0xff]) { RAW } else { LLC })
}
