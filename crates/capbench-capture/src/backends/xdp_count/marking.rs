//! The mark of a trial's frames as constants of `count.bpf.c`: octets become machine words under masks, so that the program
//! compares eight octets at once.

use capbench_model::mark::FrameMark;

/// `MOST_WORDS` of `count.bpf.c`.
const MOST_WORDS: usize = 11;
const WORD: u16 = 8;

/// The verdict on frames of the trial (`enum xdp_action` of `linux/bpf.h`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    /// Drops them.
    Drop = 1,
    /// Passes them to the stack.
    Pass = 2,
}

/// One word to compare, its octets in the order of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Word {
    at: u16,
    mask: [u8; 8],
    value: [u8; 8],
}

/// The content of `mark` in `count.bpf.c`. Without a mark no frame is marked.
///
/// # Errors
/// The reason why the mark is invalid.
pub(super) fn constants(mark: Option<&FrameMark>, verdict: Verdict) -> Result<Vec<u8>, String> {
    let least = mark.map_or(0, least);
    let words = mark.map_or(Ok(Vec::new()), |mark| words(mark, least))?;
    let mut padded = words.clone();
    padded.resize(MOST_WORDS, Word::default());
    let (stamp_at, trial) = mark.map_or((0, 0), |mark| (mark.stamp_at, mark.trial));
    let mut octets = Vec::new();
    octets.extend(padded.iter().flat_map(|word| word.mask));
    octets.extend(padded.iter().flat_map(|word| word.value));
    octets.extend(padded.iter().flat_map(|word| u32::from(word.at).to_ne_bytes()));
    let numbers = [words.len() as u32, least.into(), stamp_at.into(), trial.into(), verdict as u32];
    octets.extend(numbers.into_iter().flat_map(u32::to_ne_bytes));
    // The structure is aligned as its largest field.
    octets.resize(octets.len().next_multiple_of(8), 0);
    Ok(octets)
}

/// The minimum frame length that includes all compared octets.
fn least(mark: &FrameMark) -> u16 {
    let last = mark.octets.iter().map(|octet| octet.at.saturating_add(1)).max().unwrap_or(0);
    last.max(mark.stamp_at.saturating_add(WORD))
}

/// Words that cover all octets and fit in the shortest frame.
fn words(mark: &FrameMark, least: u16) -> Result<Vec<Word>, String> {
    let mut words: Vec<Word> = Vec::new();
    for octet in &mark.octets {
        let at = (octet.at / WORD * WORD).min(least - WORD);
        if words.last().is_none_or(|last| last.at != at) {
            words.push(Word { at, ..Word::default() });
        }
        let offset = usize::from(octet.at - at);
        if let Some(word) = words.last_mut() {
            (word.mask[offset], word.value[offset]) = (octet.mask, octet.value & octet.mask);
        }
    }
    if words.is_empty() {
        return Err("no octet distinguishes frames of the trial from others".into());
    }
    if words.len() > MOST_WORDS {
        return Err(format!(
            "frames of the trial are recognised by octets in {} words, and {MOST_WORDS} can be compared",
            words.len()
        ));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Verdict, Word, constants, words};
    use capbench_model::mark::{FrameMark, MaskedOctet};

    fn mark(octets: &[(u16, u8, u8)], stamp_at: u16) -> FrameMark {
        let octets = octets.iter().map(|&(at, mask, value)| MaskedOctet { at, mask, value }).collect();
        FrameMark { octets, stamp_at, trial: 7 }
    }

    #[test]
    fn octets_become_words_inside_the_shortest_frame() {
        let mark = mark(&[(0, 0xff, 1), (7, 0xf0, 0x20), (12, 0xff, 3), (26, 0xff, 4)], 14);
        let expected = [
            Word { at: 0, mask: [0xff, 0, 0, 0, 0, 0, 0, 0xf0], value: [1, 0, 0, 0, 0, 0, 0, 0x20] },
            Word { at: 8, mask: [0, 0, 0, 0, 0xff, 0, 0, 0], value: [0, 0, 0, 0, 3, 0, 0, 0] },
            // 24 would reach to octet 31 of a frame that may have 27.
            Word { at: 19, mask: [0, 0, 0, 0, 0, 0, 0, 0xff], value: [0, 0, 0, 0, 0, 0, 0, 4] },
        ];
        assert_eq!(words(&mark, super::least(&mark)).unwrap(), expected);
    }

    #[test]
    fn the_constants_have_the_programs_size_with_and_without_a_mark() {
        for mark in [None, Some(mark(&[(0, 0xff, 1)], 42))] {
            assert_eq!(constants(mark.as_ref(), Verdict::Drop).unwrap().len(), 11 * 20 + 5 * 4);
        }
    }

    #[test]
    fn marks_that_cannot_be_compared_are_refused() {
        let many: Vec<_> = (0..12).map(|word| (word * 8, 0xff, 0)).collect();
        for octets in [&[][..], &many] {
            assert!(constants(Some(&mark(octets, 4)), Verdict::Pass).is_err());
        }
    }

    proptest! {
        #[test]
        fn words_say_the_same_as_octets(
            known in proptest::collection::btree_map(0..80_u16, (1..=255_u8, any::<u8>()), 1..80),
            stamp_at in 0..80_u16,
            frame in proptest::collection::vec(any::<u8>(), 88),
            agrees: bool,
        ) {
            let octets: Vec<_> = known.iter().map(|(at, (mask, value))| (*at, *mask, value & mask)).collect();
            let mark = mark(&octets, stamp_at);
            let mut frame = frame;
            if agrees {
                octets.iter().for_each(|(at, mask, value)| {
                    let octet = &mut frame[usize::from(*at)];
                    *octet = *octet & !mask | value;
                });
            }
            let is_marked =
                octets.iter().all(|(at, mask, value)| frame[usize::from(*at)] & mask == *value);
            let matches = |word: &Word| {
                (0..8).all(|offset| frame[usize::from(word.at) + offset] & word.mask[offset] == word.value[offset])
            };
            let least = super::least(&mark);
            let words = words(&mark, least).unwrap();
            prop_assert!(words.iter().all(|word| word.at + 8 <= least));
            prop_assert_eq!(words.iter().all(matches), is_marked);
        }
    }
}
