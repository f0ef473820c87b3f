//! The granted buffers of trials. They distinguish set-ups that are otherwise equal within a run.
//!
//! Hosts and kernels grant different sizes. If each run has one value, the runs are compared and the difference is reported. If
//! a run has several, they must not form one sample: its median would represent none of them.

use capbench_model::trial::TrialResult;

/// Separates sizes from the source of timestamps, which can depend on the frames that arrived.
const TIME: &str = "; time: ";
const MODERATION: &str = ", interrupt moderation";

/// Ring, blocks and other granted settings of a trial; absent if unknown.
pub fn of(trial: &TrialResult) -> Option<String> {
    let running = running(trial);
    let (sizes, times) = running.split_once(TIME).unwrap_or((&running, ""));
    let moderation = times.find(MODERATION).map_or("", |at| &times[at..]);
    Some(format!("{sizes}{moderation}")).filter(|text| !text.is_empty())
}

/// The same with the source of timestamps. The interfaces of a test bed that capbench made have other names in every run.
pub fn running(trial: &TrialResult) -> String {
    let is_sign = |letter: char| !letter.is_ascii_alphanumeric();
    let words = trial.running.split_inclusive(is_sign).map(|word| {
        let name = word.trim_end_matches(is_sign);
        if is_own_interface(name) { word.replacen(name, "{interface}", 1) } else { word.to_string() }
    });
    words.collect()
}

/// Whether the name is `cbt` or `cbr`, the number of the process in hexadecimal digits, and a letter that is not one.
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
