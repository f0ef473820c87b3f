//! The program for a socket: the user's filter, snap length and direction in one.

use capbench_model::filter::program::Filter;
use capbench_sys::packet::FilterInstruction;

use capbench_model::direction::Direction;
use capbench_model::units::SnapLength;

const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// `SKF_AD_OFF + SKF_AD_PKTTYPE`: the offset at which a filter loads the addressee of a frame.
const PACKET_TYPE: u32 = 0xffff_f000 + 4;
const OUTGOING: u32 = 4;

/// Which frames the program itself must select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Everything,
    OnlyOutgoing,
    NoOutgoing,
}

impl From<Direction> for Keep {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::In => Self::NoOutgoing,
            Direction::Out => Self::OnlyOutgoing,
            Direction::Both => Self::Everything,
        }
    }
}

/// The program, or `None` if every frame is kept whole.
pub(crate) fn program(
    keep: Keep,
    snap: SnapLength,
    filter: Option<&Filter>,
) -> Option<Vec<FilterInstruction>> {
    let instruction = |code, jt, jf, k| FilterInstruction { code, jt, jf, k };
    let mut program = Vec::new();
    match keep {
        Keep::Everything if !snap.cuts() && filter.is_none() => return None,
        Keep::Everything => {}
        Keep::OnlyOutgoing => {
            program.push(instruction(LOAD_WORD, 0, 0, PACKET_TYPE));
            program.push(instruction(JUMP_IF_EQUAL, 1, 0, OUTGOING));
            program.push(instruction(RETURN, 0, 0, 0));
        }
        Keep::NoOutgoing => {
            program.push(instruction(LOAD_WORD, 0, 0, PACKET_TYPE));
            program.push(instruction(JUMP_IF_EQUAL, 0, 1, OUTGOING));
            program.push(instruction(RETURN, 0, 0, 0));
        }
    }
    match filter {
        // Jumps are relative, so only the number of octets to keep has to change.
        Some(wanted) => program.extend(wanted.program().iter().map(|&at| match at.code {
            RETURN => FilterInstruction { k: at.k.min(snap.octets()), ..at },
            _ => at,
        })),
        None => program.push(instruction(RETURN, 0, 0, snap.octets())),
    }
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::{Filter, Keep, program};
    use capbench_model::units::SnapLength;

    /// Runs a program of the three instructions used here on a frame of this type.
    fn run(code: &[capbench_sys::packet::FilterInstruction], packet_type: u32) -> u32 {
        let (mut at, mut accumulator) = (0usize, 0u32);
        loop {
            let i = code[at];
            at += 1;
            match i.code {
                super::LOAD_WORD => accumulator = packet_type,
                super::JUMP_IF_EQUAL => at += usize::from(if accumulator == i.k { i.jt } else { i.jf }),
                _ => return i.k,
            }
        }
    }

    #[test]
    fn directions_and_snap_length() {
        let all = SnapLength::EVERYTHING.octets();
        assert!(program(Keep::Everything, SnapLength::EVERYTHING, None).is_none());
        assert_eq!(run(&program(Keep::Everything, SnapLength::new(96), None).unwrap(), 0), 96);
        let out = program(Keep::OnlyOutgoing, SnapLength::EVERYTHING, None).unwrap();
        assert_eq!((run(&out, 4), run(&out, 0)), (all, 0));
        let incoming = program(Keep::NoOutgoing, SnapLength::new(64), None).unwrap();
        assert_eq!((run(&incoming, 4), run(&incoming, 3)), (0, 64));
    }

    #[test]
    fn a_filter_keeps_to_the_snap_length() {
        // "greater 100" of tcpdump: the length in the accumulator, a jump, two returns.
        let text = "4\n128 0 0 0\n53 0 1 100\n6 0 0 262144\n6 0 0 0\n";
        let filter: Filter = text.parse().unwrap();
        let whole = program(Keep::Everything, SnapLength::EVERYTHING, Some(&filter)).unwrap();
        assert_eq!(whole, filter.program());
        let cut = program(Keep::NoOutgoing, SnapLength::new(96), Some(&filter)).unwrap();
        assert_eq!(cut[3..5], filter.program()[..2]);
        assert_eq!(cut[5..].iter().map(|at| at.k).collect::<Vec<_>>(), [96, 0], "a 0 stays a 0");
    }
}
