//! Instructions of classic BPF (`linux/bpf_common.h`, `linux/filter.h`, the table of Documentation/networking/filter.rst).

/// Number of octets that a load reads from a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Four octets.
    Word,
    /// Two octets.
    Half,
    /// One octet.
    Byte,
}

/// Where an operand is: in the instruction, or in the index register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The operand in the instruction.
    Constant,
    /// The index register.
    Index,
}

/// Arithmetic operations on the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient; a division by 0 ends the program with 0.
    Divide,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Shift to the left.
    ShiftLeft,
    /// Shift to the right.
    ShiftRight,
    /// Remainder; a division by 0 ends the program with 0.
    Modulo,
    /// Bitwise exclusive or.
    Xor,
}

/// Conditions of a jump on the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It equals the operand.
    Equal,
    /// It is above the operand.
    Greater,
    /// It is at least the operand.
    GreaterOrEqual,
    /// Any of the operand's bits is set.
    AnySet,
}

/// Every instruction that Linux knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Loads octets of the frame, or ancillary data, into the accumulator.
    LoadAbsolute(Width),
    /// The same at an offset from the index register.
    LoadIndirect(Width),
    /// Loads the operand into the accumulator.
    LoadConstant,
    /// Loads a memory word into the accumulator.
    LoadMemory,
    /// Loads the frame's length into the accumulator.
    LoadLength,
    /// Loads the operand into the index register.
    IndexConstant,
    /// Loads a memory word into the index register.
    IndexMemory,
    /// Loads the frame's length into the index register.
    IndexLength,
    /// Loads four times the low half of an octet: the length of an IPv4 header.
    IndexHeaderLength,
    /// Stores the accumulator in memory.
    Store,
    /// Stores the index register in memory.
    StoreIndex,
    /// Arithmetic on the accumulator.
    Compute(Arithmetic, Operand),
    /// Negates the accumulator.
    Negate,
    /// Skips this number of instructions.
    Jump,
    /// Jumps to one of two instructions.
    JumpIf(Condition, Operand),
    /// Ends with the operand.
    ReturnConstant,
    /// Ends with the accumulator.
    ReturnAccumulator,
    /// Copies the accumulator (tax).
    AccumulatorToIndex,
    /// Copies the index register (txa).
    IndexToAccumulator,
}

impl Operation {
    /// The operation of a code. `None` for one that Linux does not know.
    pub fn of(code: u16) -> Option<Self> {
        let operand = if code & 0x08 == 0 { Operand::Constant } else { Operand::Index };
        Some(match code {
            0x00 => Self::LoadConstant,
            0x20 => Self::LoadAbsolute(Width::Word),
            0x28 => Self::LoadAbsolute(Width::Half),
            0x30 => Self::LoadAbsolute(Width::Byte),
            0x40 => Self::LoadIndirect(Width::Word),
            0x48 => Self::LoadIndirect(Width::Half),
            0x50 => Self::LoadIndirect(Width::Byte),
            0x60 => Self::LoadMemory,
            0x80 => Self::LoadLength,
            0x01 => Self::IndexConstant,
            0x61 => Self::IndexMemory,
            0x81 => Self::IndexLength,
            0xb1 => Self::IndexHeaderLength,
            0x02 => Self::Store,
            0x03 => Self::StoreIndex,
            0x04 | 0x0c => Self::Compute(Arithmetic::Add, operand),
            0x14 | 0x1c => Self::Compute(Arithmetic::Subtract, operand),
            0x24 | 0x2c => Self::Compute(Arithmetic::Multiply, operand),
            0x34 | 0x3c => Self::Compute(Arithmetic::Divide, operand),
            0x44 | 0x4c => Self::Compute(Arithmetic::Or, operand),
            0x54 | 0x5c => Self::Compute(Arithmetic::And, operand),
            0x64 | 0x6c => Self::Compute(Arithmetic::ShiftLeft, operand),
            0x74 | 0x7c => Self::Compute(Arithmetic::ShiftRight, operand),
            0x84 => Self::Negate,
            0x94 | 0x9c => Self::Compute(Arithmetic::Modulo, operand),
            0xa4 | 0xac => Self::Compute(Arithmetic::Xor, operand),
            0x05 => Self::Jump,
            0x15 | 0x1d => Self::JumpIf(Condition::Equal, operand),
            0x25 | 0x2d => Self::JumpIf(Condition::Greater, operand),
            0x35 | 0x3d => Self::JumpIf(Condition::GreaterOrEqual, operand),
            0x45 | 0x4d => Self::JumpIf(Condition::AnySet, operand),
            0x06 => Self::ReturnConstant,
            0x16 => Self::ReturnAccumulator,
            0x07 => Self::AccumulatorToIndex,
            0x87 => Self::IndexToAccumulator,
            _ => return None,
        })
    }
}

/// `SKF_AD_OFF`: absolute loads from this offset on read ancillary data.
const ANCILLARY: u32 = 0xffff_f000;

/// Ancillary data: the kernel's metadata of a frame (`SKF_AD_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancillary {
    /// The frame's protocol.
    Protocol,
    /// The addressee of the frame.
    PacketType,
    /// The number of the interface.
    InterfaceIndex,
    /// A netlink attribute.
    NetlinkAttribute,
    /// A nested netlink attribute.
    NestedNetlinkAttribute,
    /// The mark.
    Mark,
    /// The receive queue.
    Queue,
    /// The type of the interface.
    HardwareType,
    /// The flow hash.
    Hash,
    /// The CPU that runs the program.
    Cpu,
    /// Not data: combines the accumulator with the index register.
    XorIndex,
    /// The VLAN tag removed from the frame.
    VlanTag,
    /// Whether there is such a tag.
    VlanTagPresent,
    /// The offset of the payload.
    PayloadOffset,
    /// A random number.
    Random,
    /// The tag's protocol.
    VlanProtocol,
}

impl Ancillary {
    /// All of them, by their numbers divided by 4.
    const ALL: [Self; 16] = [
        Self::Protocol,
        Self::PacketType,
        Self::InterfaceIndex,
        Self::NetlinkAttribute,
        Self::NestedNetlinkAttribute,
        Self::Mark,
        Self::Queue,
        Self::HardwareType,
        Self::Hash,
        Self::Cpu,
        Self::XorIndex,
        Self::VlanTag,
        Self::VlanTagPresent,
        Self::PayloadOffset,
        Self::Random,
        Self::VlanProtocol,
    ];

    /// The source of an absolute load: `None` for octets of the frame, `Some(None)` for ancillary data that Linux does not
    /// know.
    pub fn of(offset: u32) -> Option<Option<Self>> {
        let number = offset.checked_sub(ANCILLARY)?;
        if !number.is_multiple_of(4) {
            return Some(None);
        }
        Some(Self::ALL.get(number as usize / 4).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::{Ancillary, Operation};

    #[test]
    fn codes_and_offsets_are_those_of_the_kernel() {
        // BPF_LD|BPF_H|BPF_ABS, BPF_JMP|BPF_JSET|BPF_X, BPF_RET|BPF_X, BPF_ALU|BPF_NEG|BPF_X, BPF_LDX|BPF_H|BPF_MEM.
        assert!(Operation::of(0x28).is_some() && Operation::of(0x4d).is_some());
        for unknown in [0x0e, 0x8c, 0x69, 0x100, 0x128, 0xffff] {
            assert_eq!(Operation::of(unknown), None, "{unknown:#x}");
        }
        assert_eq!((0..=u16::MAX).filter(|&code| Operation::of(code).is_some()).count(), 49);
        let at = |number: u32| Ancillary::of(0xffff_f000 + number);
        assert_eq!(at(44), Some(Some(Ancillary::VlanTag)));
        assert_eq!(at(60), Some(Some(Ancillary::VlanProtocol)));
        assert_eq!((at(64), at(2)), (Some(None), Some(None)));
        assert_eq!(Ancillary::of(0xffff_efff), None);
    }
}
