//! Validates programs with the checks of the kernel (`bpf_check_classic` and `check_load_and_stores` of net/core/filter.c).
//! The kernel accepts a program that passes here, and the program is safe to run here.

use capbench_sys::packet::FilterInstruction;

use super::operation::{Ancillary, Arithmetic, Operand, Operation};

/// Words of scratch memory (`BPF_MEMWORDS`).
pub const MEMORY: usize = 16;

/// Why the kernel refuses an instruction.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the kernel knows no code {0}")]
    UnknownCode(u16),
    #[error("it jumps backward, as a loop of protochain does, which the kernel does not take")]
    JumpsBackward,
    #[error("it jumps behind the end")]
    JumpsBehindTheEnd,
    #[error("there is no word {0} of memory, {last} is the last", last = MEMORY - 1)]
    NoWord(u32),
    #[error("it reads word {0} of memory, which may not be written before")]
    UnwrittenWord(u32),
    #[error("it divides by 0")]
    DividesByZero,
    #[error("it shifts by {0} bits")]
    Shifts(u32),
    #[error("the kernel knows no such ancillary data")]
    UnknownAncillary,
}

/// Checks a program. The error has the number of the instruction, from 0, and the reason.
pub fn check(program: &[FilterInstruction]) -> Result<(), String> {
    let returns =
        |code| matches!(Operation::of(code), Some(Operation::ReturnConstant | Operation::ReturnAccumulator));
    match program.last() {
        None => return Err("it has no instructions".into()),
        Some(last) if !returns(last.code) => return Err("it does not end with a return".into()),
        Some(_) => {}
    }
    // Bits of the memory words that are written on every path to an instruction. Unreachable instructions may read all.
    let mut written = vec![u16::MAX; program.len()];
    let mut here = 0u16;
    for (number, instruction) in program.iter().enumerate() {
        let refuse = |fault: Fault| Err(format!("instruction {number}: {fault}"));
        let Some(operation) = Operation::of(instruction.code) else {
            return refuse(Fault::UnknownCode(instruction.code));
        };
        here &= written[number];
        let k = instruction.k;
        let mut jump = |distance: u32, here: u16| {
            let target = written.get_mut(number + 1..).and_then(|rest| rest.get_mut(distance as usize));
            match target {
                Some(target) => *target &= here,
                // libpcap compiles `protochain` to a loop, with a distance below 0.
                None if distance > i32::MAX as u32 => {
                    return refuse(Fault::JumpsBackward);
                }
                None => return refuse(Fault::JumpsBehindTheEnd),
            }
            Ok(())
        };
        match operation {
            Operation::Store | Operation::StoreIndex | Operation::LoadMemory | Operation::IndexMemory
                if k as usize >= MEMORY =>
            {
                return refuse(Fault::NoWord(k));
            }
            Operation::Store | Operation::StoreIndex => here |= 1 << k,
            Operation::LoadMemory | Operation::IndexMemory if here & (1 << k) == 0 => {
                return refuse(Fault::UnwrittenWord(k));
            }
            Operation::Compute(Arithmetic::Divide | Arithmetic::Modulo, Operand::Constant) if k == 0 => {
                return refuse(Fault::DividesByZero);
            }
            Operation::Compute(Arithmetic::ShiftLeft | Arithmetic::ShiftRight, Operand::Constant)
                if k >= u32::BITS =>
            {
                return refuse(Fault::Shifts(k));
            }
            Operation::LoadAbsolute(_) if Ancillary::of(k) == Some(None) => {
                return refuse(Fault::UnknownAncillary);
            }
            Operation::Jump => {
                jump(k, here)?;
                here = u16::MAX;
            }
            Operation::JumpIf(..) => {
                jump(instruction.jt.into(), here)?;
                jump(instruction.jf.into(), here)?;
                here = u16::MAX;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FilterInstruction, check};

    fn checked(program: &[(u16, u8, u8, u32)]) -> Result<(), String> {
        let instruction = |&(code, jt, jf, k)| FilterInstruction { code, jt, jf, k };
        check(&program.iter().map(instruction).collect::<Vec<_>>())
    }

    const ALL: (u16, u8, u8, u32) = (6, 0, 0, 1);

    #[test]
    fn risky_values_are_refused_with_their_place() {
        for (program, what) in [
            (vec![], "no instructions"),
            (vec![(0x28, 0, 0, 12)], "end with a return"),
            (vec![(0xff, 0, 0, 0), ALL], "instruction 0: the kernel knows no code 255"),
            (vec![(0x15, 0, 1, 0), ALL], "instruction 0: it jumps behind the end"),
            (vec![(0x15, 1, 0, 0), ALL], "it jumps behind the end"),
            (vec![(0x05, 0, 0, 1), ALL], "it jumps behind the end"),
            (vec![(0x05, 0, 0, u32::MAX), ALL], "it jumps backward"),
            (vec![(0x02, 0, 0, 16), ALL], "no word 16"),
            (vec![(0x61, 0, 0, 3), ALL], "word 3 of memory, which may not be written"),
            (vec![(0x34, 0, 0, 0), ALL], "divides by 0"),
            (vec![(0x94, 0, 0, 0), ALL], "divides by 0"),
            (vec![(0x64, 0, 0, 32), ALL], "shifts by 32"),
            (vec![(0x20, 0, 0, 0xffff_f000 + 64), ALL], "no such ancillary"),
            // Written on one of two ways only.
            (vec![(0x15, 0, 1, 0), (0x02, 0, 0, 1), (0x60, 0, 0, 1), ALL], "instruction 2: it reads word 1"),
        ] {
            let said = checked(&program).unwrap_err();
            assert!(said.contains(what), "{said}");
        }
        checked(&[(0x15, 1, 0, 0), ALL, ALL]).unwrap();
        checked(&[(0x03, 0, 0, 15), (0x05, 0, 0, 0), (0x60, 0, 0, 15), (0x3c, 0, 0, 0), ALL]).unwrap();
    }
}
