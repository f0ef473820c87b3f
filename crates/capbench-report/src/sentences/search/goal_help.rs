//! The words of goals: what their keys mean, where presets are from, and a goal with all its attributes.

use capbench_judge::search::{Goal, Width};

/// The meaning of a key of a goal.
#[derive(Clone, Copy, Debug)]
pub struct KeyHelp {
    /// The key.
    pub key: &'static str,
    /// The attribute of RFC 9971, and what it decides.
    pub meaning: &'static str,
    /// The value if a goal does not have the key, in words; empty if the key has no such value.
    pub default: &'static str,
}

/// All keys of a goal.
#[rustfmt::skip]
pub const KEYS: [KeyHelp; 9] = [
    KeyHelp { key: "loss", meaning: "Goal Loss Ratio: a trial that loses more is a high-loss trial", default: "needed, or `from`" },
    KeyHelp { key: "duration", meaning: "Goal Final Trial Duration", default: "needed, or `from`" },
    KeyHelp { key: "sum", meaning: "Goal Duration Sum: the trial time that decides a load", default: "one trial" },
    KeyHelp { key: "exceed", meaning: "Goal Exceed Ratio: the share of that time that may be high-loss", default: "0.5" },
    KeyHelp { key: "width", meaning: "Goal Width, of the upper bound; `0.1%max` is of the maximum load", default: "0.5 %" },
    KeyHelp { key: "initial", meaning: "Goal Initial Trial Duration", default: "1 s, up to `duration`" },
    KeyHelp { key: "targets", meaning: "coarser targets before the goal", default: "2" },
    KeyHelp { key: "strategy", meaning: "`mlr` or `binary`", default: "`mlr`" },
    KeyHelp { key: "from", meaning: "a preset of one goal, for all other keys", default: "" },
];

/// The document that the attributes of a preset's goal are from.
pub fn source(goal: &str) -> &'static str {
    match goal {
        "rfc2544" => "RFC 2544 26.1: throughput",
        "tst009" => "ETSI GS NFV-TST 009 12.3.3: binary search with loss verification, max(r) = 2",
        "ndr" => "FD.io CSIT: no-drop rate",
        "pdr" => "FD.io CSIT: partial-drop rate, half a per cent",
        "strict-capture" => "capbench: 60 s a load without a single loss",
        "trex-like" => "attributes of TRex's NDR benchmark",
        "nfvbench-ndr" => "attributes of OPNFV NFVbench: NDR",
        "nfvbench-pdr" => "attributes of OPNFV NFVbench: PDR",
        _ => "capbench: a first look",
    }
}

/// A goal with all its attributes.
pub fn words(goal: &Goal) -> String {
    format!(
        "{}: loss up to {}, trials of {:?}, {:?} per load, exceed ratio {}, width {}, strategy {}",
        goal.name,
        goal.loss_ratio,
        goal.final_duration,
        goal.duration_sum,
        goal.exceed_ratio,
        width_words(goal.width),
        goal.strategy
    )
}

/// The width of a goal.
pub(super) fn width_words(width: Width) -> String {
    match width {
        Width::Relative(ratio) => ratio.to_string(),
        Width::OfMaximum(ratio) => format!("{ratio} of the maximum load"),
    }
}

#[cfg(test)]
mod tests {
    use capbench_judge::search;

    use super::{KEYS, words};

    #[test]
    fn presets_are_as_their_documents_have_them() {
        let mut table = Vec::new();
        for row in search::presets() {
            table.push(format!("{:14} {}", row.preset, words(&row.goal)));
        }
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn the_documentation_has_these_keys() {
        let text = include_str!("../../../../../docs/search.md");
        let mut rows = String::new();
        for help in KEYS {
            rows += &format!("| `{}` | {} | {} |\n", help.key, help.meaning, help.default);
        }
        let rows = rows.replace("|  |", "| |");
        assert!(text.contains(&rows), "docs/search.md lacks:\n{rows}");
        assert_eq!(KEYS.map(|help| help.key), search::KEYS);
    }
}
