//! Patterns of counter names: literal text, `{n}` for a number, and alternatives separated by `|`.

/// Whether `pattern` matches the whole `name`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    pattern.split('|').any(|alternative| matches_one(alternative, name))
}

fn matches_one(pattern: &str, name: &str) -> bool {
    let Some((literal, rest)) = pattern.split_once("{n}") else { return pattern == name };
    let Some(after) = name.strip_prefix(literal) else { return false };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && matches_one(rest, &after[digits..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::matches;

    #[test]
    fn a_number_stands_for_any_queue() {
        assert!(matches("rx_queue_{n}_drops", "rx_queue_0_drops"));
        assert!(matches("rx_queue_{n}_drops", "rx_queue_127_drops"));
        assert!(matches("[{n}]: rx_discards", "[3]: rx_discards"));
        assert!(matches("rx{n}_drops|rx_queue_{n}_drops", "rx_queue_1_drops"));
        for name in ["rx_queue__drops", "rx_queue_x_drops", "rx_queue_1_drops_", " rx_queue_1_drops", ""] {
            assert!(!matches("rx_queue_{n}_drops", name), "{name:?}");
        }
        assert!(!matches("rx_missed_errors", "port.rx_missed_errors"), "the whole name");
    }

    proptest! {
        #[test]
        fn any_name_is_looked_at_without_a_panic(pattern in "\\PC{0,20}", name in "\\PC{0,40}") {
            matches(&pattern, &name);
            matches("rx{n}_{n}é{n}", &name);
            prop_assert!(matches("rx{n}|x", "rx7"), "whatever was asked before");
        }
    }
}
