//! What trials captured with: it tells set-ups apart where a run has several that are alike otherwise.
//!
//! A host grants sizes as it can, and the next kernel others: what both runs have one of is compared, and the difference is
//! said. What one run has several of must not fall into one sample, though: its median would be that of neither.

use crate::trial::TrialResult;

/// What stands between sizes and the source of times, which can depend on what arrived.
const TIME: &str = "; time: ";
const MODERATION: &str = ", interrupt moderation";

/// Ring, blocks and whatever else a trial captured with, as it was granted; absent where it does not say.
pub(crate) fn of(trial: &TrialResult) -> Option<String> {
    let running = running(trial);
    let (sizes, times) = running.split_once(TIME).unwrap_or((&running, ""));
    let moderation = times.find(MODERATION).map_or("", |at| &times[at..]);
    Some(format!("{sizes}{moderation}")).filter(|text| !text.is_empty())
}

/// The same with the source of times. The interfaces of a bed of capbench's own have other names in every run.
pub(crate) fn running(trial: &TrialResult) -> String {
    let is_sign = |letter: char| !letter.is_ascii_alphanumeric();
    let words = trial.running.split_inclusive(is_sign).map(|word| {
        let name = word.trim_end_matches(is_sign);
        if is_own_interface(name) { word.replacen(name, "{interface}", 1) } else { word.to_string() }
    });
    words.collect()
}

/// `cbt` or `cbr`, the number of the process in hexadecimal digits, and a letter that is none.
fn is_own_interface(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("cbt").or_else(|| name.strip_prefix("cbr")) else { return false };
    let Some((letter, number)) = rest.as_bytes().split_last() else { return false };
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_hexdigit);
    is_number && matches!(letter, b'g'..=b'z')
}

#[cfg(test)]
mod tests {
    use super::is_own_interface;

    #[test]
    fn interfaces_of_its_own_are_known_by_their_names() {
        assert!(["cbt1fg", "cbr3fffffz"].into_iter().all(is_own_interface));
        assert!(
            !["cbt", "cbtg", "cbr12", "cbx12g", "eth0", "", "cbr1G", "cbr1\u{e9}"]
                .into_iter()
                .any(is_own_interface)
        );
    }
}
