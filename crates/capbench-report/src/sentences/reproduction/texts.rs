//! The words of `ClaimText` and `TableNote`: what a publication says, with the measured values, and notes below its tables.

use std::time::Duration;

use capbench_judge::reproduction::claim_text::fill;
use capbench_judge::reproduction::{
    ClaimText, ClaimValue, Comparison, Quantity, Reproduction, TableNote, TrialConditions, Undecided,
};
use capbench_model::figures::{percent, shortest};
use capbench_model::ledger::LostAt;

use crate::naming::many;

/// A text of a claim, with the values that it names.
pub(super) fn claim_text(text: &ClaimText) -> String {
    fill(&text.text, |name| text.values.get(name).map(value_words))
}

/// A value as a text of a claim has it. Some values are whole sentences that begin with a space, so that nothing is left of them
/// where they do not apply.
fn value_words(value: &ClaimValue) -> String {
    match value {
        ClaimValue::Words { words } => words.clone(),
        ClaimValue::Figure { quantity, value } => quantity.text(*value),
        ClaimValue::Unmeasured => "-".into(),
        ClaimValue::LeastShare { share } if *share < 1.0 => {
            format!("at least {}", Quantity::Captured.text(*share))
        }
        ClaimValue::LeastShare { share } => Quantity::Captured.text(*share),
        ClaimValue::WorkTime { ns } => format!("{:.2}", ns / 1e3),
        ClaimValue::Places { labels } if labels.is_empty() => "none".into(),
        ClaimValue::Places { labels } => labels.join(", "),
        ClaimValue::Losses { losses } => losses_words(losses),
        ClaimValue::Undecided { why } => undecided_words(*why).into(),
        ClaimValue::Buffered { share } => format!(
            " Up to {} % of what was sent was in buffers when sending ended.",
            Quantity::Captured.text(*share)
        ),
        ClaimValue::GeneratorSlowed => {
            " The receiver's work slowed the generator in some of these trials.".into()
        }
        ClaimValue::Nothing => String::new(),
        ClaimValue::Text(text) => claim_text(text),
        ClaimValue::Texts { texts, joined_by } => {
            let all: Vec<String> = texts.iter().map(claim_text).collect();
            all.join(joined_by)
        }
    }
}

/// How many frames were lost in each place.
fn losses_words(losses: &[LostAt]) -> String {
    let mut places = Vec::new();
    for lost in losses {
        places.push(format!("{} in {}", Quantity::Count.text(lost.frames as f64), lost.place.key()));
    }
    places.join(", ")
}

/// Why a claim is undecided, after a colon or "because".
fn undecided_words(why: Undecided) -> &'static str {
    match why {
        Undecided::NotMeasured => "it was not measured",
        Undecided::OneVisit => "one visit is not enough",
        Undecided::Buffered => {
            "buffers absorbed the excess until sending had ended, so it needs a longer trial (--scale)"
        }
        Undecided::VisitsDisagree => "its visits do not agree",
        Undecided::LoadNotReached => "the generator does not reach the wire's rate",
    }
}

/// How a run measured: the publication's words, then the conditions of its trials.
pub(crate) fn here_words(reproduction: &Reproduction) -> Vec<String> {
    let Some(conditions) = &reproduction.conditions else { return reproduction.here.clone() };
    // The texts behind the first are those of an earlier version about the conditions.
    let mut words = Vec::from_iter(reproduction.here.first().cloned());
    words.push(conditions_words(conditions));
    words
}

/// The conditions of the trials of a reproduction: how long, how often and how exactly it measured.
fn conditions_words(conditions: &TrialConditions) -> String {
    let lengths = match conditions.length_range_s {
        None => "none".into(),
        Some([shortest, longest]) if shortest == longest => format!("{shortest:.2} s"),
        Some([shortest, longest]) => format!("{shortest:.2} to {longest:.2} s"),
    };
    format!(
        "Scale {}: trials of {lengths}, {} of each point where nothing else is said, searches to {} %; {:?} of waiting for missing \
         frames.",
        conditions.scale,
        many(conditions.visits.into(), "visit", "visits"),
        shortest(conditions.search_width * 100.0, 3),
        Duration::from_secs_f64(conditions.quiet_s),
    )
}

/// The notes below a table: the facts, or in files of earlier versions the texts.
pub fn table_notes(table: &Comparison) -> Vec<String> {
    if table.note_facts.is_empty() {
        return table.notes.clone();
    }
    table.note_facts.iter().map(note_words).collect()
}

/// A note below a table. Where it begins with a letter or `!`, that marks the fields which it is about.
fn note_words(note: &TableNote) -> String {
    match note {
        TableNote::Publication { words } => words.clone(),
        TableNote::CannotRun { method, because } => format!("{method} cannot run here: {because}"),
        TableNote::AboveLineRate => {
            "!: published, but above the line rate of 1 Gbit/s: an effect of time stamps in milliseconds.".into()
        }
        TableNote::LoadNotReached => {
            "g: the generator sent less than the load of the publication; captured is the share of what it did send.".into()
        }
        TableNote::Buffered { above } => format!(
            "b: more than {} of what was sent was still in buffers when sending ended, and counts as captured; a longer trial may \
             lose as much in the same time.",
            percent(*above)
        ),
        TableNote::LoadNotReachedAndBuffered { above } => format!(
            "x: both: the generator sent less than the load, and buffers held more than {} of what it sent.",
            percent(*above)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use capbench_model::places::Place;

    use super::{
        ClaimText, ClaimValue, Comparison, LostAt, Quantity, Reproduction, TableNote, TrialConditions,
        Undecided, claim_text, conditions_words, here_words, table_notes,
    };

    /// The words of a text that names two values, of which only the first is known.
    fn filled(value: ClaimValue) -> String {
        let values = BTreeMap::from([("a".to_string(), value)]);
        claim_text(&ClaimText { text: "Here {a}, {b}.".into(), values })
    }

    #[test]
    fn a_text_of_a_claim_has_its_values_in_words() {
        let losses =
            vec![LostAt { place: Place::Ring, frames: 1200 }, LostAt { place: Place::Link, frames: 5 }];
        let percent_of = |share| {
            let value = ClaimValue::Figure { quantity: Quantity::Captured, value: share };
            ClaimText {
                text: "{0.captured} %".into(),
                values: BTreeMap::from([("0.captured".into(), value)]),
            }
        };
        let texts =
            ClaimValue::Texts { texts: vec![percent_of(0.5), percent_of(0.25)], joined_by: "; ".into() };
        for (value, words) in [
            (ClaimValue::Unmeasured, "-"),
            (ClaimValue::LeastShare { share: 1.0 }, "100"),
            (ClaimValue::LeastShare { share: 0.98 }, "at least 98"),
            (ClaimValue::WorkTime { ns: 5624.0 }, "5.62"),
            (ClaimValue::Places { labels: Vec::new() }, "none"),
            (ClaimValue::Losses { losses }, "1,200 in ring, 5 in link"),
            (ClaimValue::Undecided { why: Undecided::OneVisit }, "one visit is not enough"),
            (ClaimValue::Nothing, ""),
            (texts, "50 %; 25 %"),
        ] {
            assert_eq!(filled(value), format!("Here {words}, {{b}}."), "a name without a value stays");
        }
    }

    #[test]
    fn conditions_of_trials_follow_the_words_of_the_publication() {
        let conditions = TrialConditions {
            scale: 0.005,
            length_range_s: None,
            visits: 1,
            search_width: 0.05,
            quiet_s: 0.2,
        };
        let text = |length_range_s, visits| {
            conditions_words(&TrialConditions { length_range_s, visits, ..conditions })
        };
        assert_eq!(
            text(Some([0.3, 0.6]), 2),
            "Scale 0.005: trials of 0.30 to 0.60 s, 2 visits of each point where nothing else is said, searches to 5 %; 200ms of \
             waiting for missing frames."
        );
        assert!(text(Some([0.3, 0.3]), 1).contains("trials of 0.30 s, 1 visit of"));
        assert!(text(None, 1).contains("trials of none,"));
        let earlier = Reproduction { here: vec!["So.".into(), "Scale 1.".into()], ..Reproduction::default() };
        assert_eq!(here_words(&earlier), ["So.", "Scale 1."]);
        let now = Reproduction { conditions: Some(conditions), ..earlier };
        assert_eq!(here_words(&now), ["So.".to_string(), conditions_words(&conditions)]);
    }

    #[test]
    fn texts_of_earlier_versions_stay_where_there_are_no_facts() {
        let text = r#"{"id": "a", "caption": "A", "rows_are": {"heading": "bytes", "quantity": "frame_bytes"}, "columns": [],
            "rows": [], "notes": ["A note."]}"#;
        let mut table: Comparison = serde_json::from_str(text).unwrap();
        assert_eq!(table_notes(&table), ["A note."]);
        table.note_facts = vec![TableNote::LoadNotReachedAndBuffered { above: 0.001 }];
        assert_eq!(
            table_notes(&table),
            [
                "x: both: the generator sent less than the load, and buffers held more than 0.1 % of what it sent."
            ]
        );
        let earlier: ClaimText = serde_json::from_str(r#"{"text": "It is {so}."}"#).unwrap();
        assert_eq!(claim_text(&earlier), "It is {so}.");
    }
}
