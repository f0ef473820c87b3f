//! Counts consecutive ready slots or blocks.

/// How many numbers from 0 on are `ready`, of those below `of`, if none is ready after the first that is not. It looks as
/// often as `of` has binary digits.
///
/// If the other side makes more of them ready meanwhile, the result is between the numbers at the beginning and at the end.
pub(super) fn ready_in_a_row(of: u32, ready: impl Fn(u32) -> bool) -> u32 {
    let (mut least, mut most) = (0, of);
    while least < most {
        let middle = least + (most - least) / 2;
        if ready(middle) { least = middle + 1 } else { most = middle }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::ready_in_a_row;
    use std::cell::Cell;

    #[test]
    fn every_length_is_found_in_few_looks() {
        for of in [0, 1, 2, 3, 64, 100] {
            for length in 0..=of {
                assert_eq!(ready_in_a_row(of, |number| number < length), length, "{length} of {of}");
            }
        }
        let looks = Cell::new(0);
        let count = |number| {
            looks.set(looks.get() + 1);
            number < 3_000_000_000
        };
        assert_eq!((ready_in_a_row(u32::MAX, count), looks.get()), (3_000_000_000, 32));
    }

    #[test]
    fn blocks_that_become_ready_meanwhile_may_count() {
        let length = Cell::new(10);
        let grows = |number| {
            length.set(length.get() + 1);
            number < length.get()
        };
        let found = ready_in_a_row(100, grows);
        assert!((10..=length.get()).contains(&found), "{found}");
    }
}
