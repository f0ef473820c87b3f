//! The flaws of this host's CPUs and their mitigations in the kernel. Some mitigations make system calls and interrupts slower.

use std::collections::BTreeMap;

use super::tree::Tree;

const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";

/// Each flaw with the kernel's text; `None` if the kernel lists none (before Linux 4.15, or with a hidden /sys).
pub(super) fn read(root: &impl Tree) -> Option<BTreeMap<String, String>> {
    let flaws = root.names(FOLDER)?;
    let told = flaws.into_iter().filter_map(|flaw| {
        let words = root.word(&format!("{FOLDER}/{flaw}"))?;
        Some((flaw, words))
    });
    Some(told.collect())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::Made;
    use super::*;

    #[test]
    fn flaws_stand_with_what_is_done_about_them() {
        let tree = Made::of(&[
            ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
            ("sys/devices/system/cpu/vulnerabilities/retbleed", "Not affected\n"),
        ]);
        let told = read(&*tree).unwrap();
        assert_eq!(
            (told["meltdown"].as_str(), told["retbleed"].as_str()),
            ("Mitigation: PTI", "Not affected")
        );
        assert_eq!(read(&*Made::of(&[])), None);
    }
}
