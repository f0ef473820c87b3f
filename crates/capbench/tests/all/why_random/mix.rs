//! What a mix consists of, drawn from a seed.

use capbench_testing::stacks::Draw;

/// IPv4, which the kernel handles.
pub const KNOWN: u16 = 0x0800;
/// LLDP, which nothing on the host handles.
pub const UNKNOWN: u16 = 0x88cc;
/// A VLAN tag with LLDP behind it.
pub const TAGGED: u16 = 0x8100;
/// The program in generic XDP drops it, where there is one.
pub const OF_XDP: u16 = 0x88b5;
/// A program of tc or a rule of nft drops it behind the packet sockets, where there is one.
pub const OF_HOOK: u16 = 0x88b6;

/// What receives frames between the packet sockets and the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A queueing discipline without filters.
    Empty,
    /// A program of tc that drops [`OF_HOOK`].
    Tc,
    /// A rule of nft that drops [`OF_HOOK`].
    Nft,
}

/// A program that captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// tcpdump, which reads its counters once, at its end.
    Tcpdump,
    /// `capbench record` with this method, which reads its counters once a second.
    Record(&'static str),
}

/// A program of the mix.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub kind: Kind,
    /// Whether it is stopped before the first frame comes.
    pub is_stopped: bool,
    /// The step before which it starts.
    pub starts_at: usize,
}

/// What happens in a mix.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Frames of one EtherType arrive.
    Burst { ethertype: u16, frames: u64, crowded: Option<Crowded> },
    /// The interface goes down and up.
    DownUp,
}

/// The interface whose frames find the backlog full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowded {
    /// The watched one.
    This,
    /// Another one.
    Other,
}

/// A mix of causes of loss, and of what is none.
#[derive(Debug)]
pub struct Mix {
    pub hook: Option<Hook>,
    pub has_xdp: bool,
    pub programs: Vec<Program>,
    pub steps: Vec<Step>,
}

impl Mix {
    /// The mix of this number. The first one loses nothing: every frame counts in rx_dropped and is captured, while another
    /// interface loses frames in the backlog.
    pub fn draw(seed: u64, number: u64) -> Self {
        if number == 0 {
            let burst = |crowded| Step::Burst { ethertype: UNKNOWN, frames: 2000, crowded };
            let programs = vec![Program { kind: Kind::Tcpdump, is_stopped: false, starts_at: 0 }];
            let steps = vec![burst(None), burst(Some(Crowded::Other))];
            return Self { hook: Some(Hook::Empty), has_xdp: false, programs, steps };
        }
        let mut draw = Draw(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let hook = pick(&mut draw, &[None, Some(Hook::Empty), Some(Hook::Tc), Some(Hook::Nft)]);
        let has_xdp = draw.below(2) == 0;
        let steps: Vec<_> = (0..2 + draw.below(3)).map(|_| step(&mut draw)).collect();
        let kinds =
            [Kind::Tcpdump, Kind::Record("recv"), Kind::Record("packet-v2"), Kind::Record("packet-v3")];
        let first = draw.below(4);
        let programs = (0..1 + draw.below(3)).map(|nth| Program {
            kind: kinds[((first + nth) % 4) as usize],
            is_stopped: draw.below(3) == 0,
            starts_at: if nth > 0 && draw.below(4) == 0 { steps.len() - 1 } else { 0 },
        });
        let programs = programs.collect();
        Self { hook, has_xdp, programs, steps }
    }
}

fn step(draw: &mut Draw) -> Step {
    if draw.below(8) == 0 {
        return Step::DownUp;
    }
    let ethertype = pick(draw, &[KNOWN, UNKNOWN, TAGGED, OF_XDP, OF_HOOK]);
    // A loss on either side of one in a thousand frames.
    let frames = pick(draw, &[3, 40, 1000, 8000]) + draw.below(20);
    let crowded = pick(draw, &[None, None, None, Some(Crowded::This), Some(Crowded::Other)]);
    Step::Burst { ethertype, frames, crowded }
}

fn pick<T: Copy>(draw: &mut Draw, choices: &[T]) -> T {
    choices[draw.below(choices.len() as u64) as usize]
}
