//! Random changes to a capture file, half of them such that the lengths of its blocks still fit, so that what lies deeper is
//! reached.

/// Random numbers (splitmix64).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Less than `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Numbers at which something may change: sizes, limits, types of blocks.
const NUMBERS: [u32; 24] = [
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    9,
    12,
    16,
    28,
    32,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x10000,
    16 << 20,
    (16 << 20) + 4,
    0x7fff_ffff,
    0x8000_0000,
    0x0a0d_0d0a,
    u32::MAX,
];

/// A file of the pool with a few changes, of at most so many octets.
pub(super) fn changed(pool: &[Vec<u8>], dice: &mut Dice, largest: usize) -> Vec<u8> {
    let mut octets = pool[dice.below(pool.len())].clone();
    for _ in 0..=dice.below(6) {
        change(&mut octets, pool, dice);
    }
    octets.truncate(largest);
    if dice.below(2) == 0 {
        mend(&mut octets);
    }
    octets
}

fn change(octets: &mut Vec<u8>, pool: &[Vec<u8>], dice: &mut Dice) {
    if octets.len() < 8 {
        octets.extend(&pool[dice.below(pool.len())]);
        return;
    }
    let at = dice.below(octets.len());
    let length = (1 << dice.below(8)).min(octets.len() - at);
    match dice.below(9) {
        0 => octets[at] ^= 1 << dice.below(8),
        1 => octets[at] = dice.next() as u8,
        2 | 3 => {
            let number = dice.pick(&NUMBERS);
            let bytes = if dice.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
            let at = at & !3;
            let end = octets.len().min(at + 4);
            octets[at..end].copy_from_slice(&bytes[..end - at]);
        }
        4 => {
            // An option's code and length.
            let (code, length) = (dice.below(20) as u16, dice.pick(&[0, 1, 4, 5, 8, 9, 0xffff_u16]));
            let big = dice.below(2) == 0;
            let turned = |number: u16| if big { number.to_be_bytes() } else { number.to_le_bytes() };
            let bytes = [turned(code), turned(length)].concat();
            let at = at & !3;
            let end = octets.len().min(at + 4);
            octets[at..end].copy_from_slice(&bytes[..end - at]);
        }
        5 => drop(octets.drain(at..at + length)),
        6 => {
            let copy = octets[at..at + length].to_vec();
            let to = dice.below(octets.len());
            octets.splice(to..to, copy);
        }
        7 => {
            let other = &pool[dice.below(pool.len())];
            let from = dice.below(other.len().max(1)) & !3;
            octets.truncate(at & !3);
            octets.extend(other.get(from..).unwrap_or_default());
        }
        _ => octets.truncate(at.max(8)),
    }
}

/// Makes the two lengths of blocks agree, block after block, as far as that goes.
fn mend(octets: &mut [u8]) {
    let (mut at, mut big) = (0, false);
    while let Some(head) = octets.get(at..at + 12) {
        if head[..4] == [0x0a, 0x0d, 0x0d, 0x0a] {
            big = head[8] == 0x1a;
        }
        let told = [head[4], head[5], head[6], head[7]];
        let told = if big { u32::from_be_bytes(told) } else { u32::from_le_bytes(told) };
        let left = (octets.len() - at) & !3;
        let length = ((told as usize).clamp(12, 1 << 20) & !3).min(left);
        let number = length as u32;
        let bytes = if big { number.to_be_bytes() } else { number.to_le_bytes() };
        octets[at + 4..at + 8].copy_from_slice(&bytes);
        octets[at + length - 4..at + length].copy_from_slice(&bytes);
        at += length;
    }
}
