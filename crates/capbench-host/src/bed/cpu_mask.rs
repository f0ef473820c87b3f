//! CPU sets for people, as a list, and in the notation of `rps_cpus`: comma-separated hexadecimal words of 32 bits, the highest first
//! (Documentation/networking/scaling.rst, `bitmap_parse` of lib/bitmap-str.c).

use capbench_sys::host::CpuId;

const WORD_BITS: u32 = u32::BITS;

/// The numbers of these CPUs, with commas.
pub(super) fn list(cpus: &[CpuId]) -> String {
    cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(",")
}

/// The mask that contains these CPUs.
pub(super) fn of(cpus: &[CpuId]) -> String {
    let words = cpus.iter().map(|cpu| cpu.number() / WORD_BITS + 1).max().unwrap_or(1);
    let word = |position: u32| {
        let here = cpus.iter().filter(|cpu| cpu.number() / WORD_BITS == position);
        here.fold(0u32, |word, cpu| word | 1 << (cpu.number() % WORD_BITS))
    };
    // Each lower word has all its eight digits.
    let lower = (0..words - 1).rev().map(|position| format!(",{:08x}", word(position)));
    format!("{:x}{}", word(words - 1), lower.collect::<String>())
}

/// The CPUs in a mask, ascending; `None` if the text is no mask.
pub fn parse(text: &str) -> Option<Vec<CpuId>> {
    let mut cpus = Vec::new();
    for (position, word) in (0u32..).zip(text.trim().rsplit(',')) {
        // from_str_radix would accept a sign.
        if word.is_empty() || word.len() > 8 || !word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let word = u32::from_str_radix(word, 16).ok()?;
        let first = position.checked_mul(WORD_BITS)?;
        cpus.extend((0..WORD_BITS).filter(|bit| word >> bit & 1 == 1).map(|bit| CpuId::new(first + bit)));
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_grouped_with_the_highest_first() {
        assert_eq!(of(&[CpuId::new(0)]), "1");
        assert_eq!(of(&[CpuId::new(5)]), "20");
        assert_eq!(of(&[CpuId::new(31)]), "80000000");
        assert_eq!(of(&[CpuId::new(32)]), "1,00000000");
        assert_eq!(of(&[CpuId::new(70)]), "40,00000000,00000000");
    }

    #[test]
    fn the_kernels_masks_are_read() {
        let numbers = |text| parse(text).map(|cpus| cpus.into_iter().map(CpuId::number).collect::<Vec<_>>());
        assert_eq!(numbers("00000000,00000003\n"), Some(vec![0, 1]));
        assert_eq!(numbers("1,00000000"), Some(vec![32]));
        assert_eq!(numbers("0"), Some(vec![]));
        for text in ["", ",", "g", "+1", "123456789", "1,", "0x1"] {
            assert_eq!(numbers(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in 0u32..8192) {
            prop_assert_eq!(parse(&of(&[CpuId::new(number)])), Some(vec![CpuId::new(number)]));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-f,+ x]{0,80}") {
            let _ = parse(&text);
        }
    }
}
