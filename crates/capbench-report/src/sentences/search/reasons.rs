//! The words of `Reason`, why a goal of a search has no regular result, and of `End`, how a search ended.

use capbench_judge::search::{End, MaximumSource, Reason};

/// How a search ended, in a clause.
pub(crate) fn end_words(end: &End) -> String {
    match end {
        End::Complete => "the search is complete".into(),
        End::Stopped => "the search was stopped before its end".into(),
        End::TimeUp => "the time allowed was used up".into(),
        End::TrafficUp => "the traffic allowed was used up".into(),
        End::Invalid { trials, because } => format!("trial {trials:?} is invalid: {because}"),
        End::AboveLineRate { trial } => {
            format!("trial {trial} counted more than the link can carry: counts or clock are wrong")
        }
        End::Failed { reason } => reason.clone(),
    }
}

/// Why a result is not regular, in a clause.
pub(crate) fn reason_words(reason: &Reason) -> String {
    let words = match reason {
        Reason::MaximumLoad { limit: MaximumSource::Generator } => "the generator sends no more",
        Reason::MaximumLoad { limit: MaximumSource::GeneratorAndReceiver } => {
            "generator and receiver together reach no more"
        }
        Reason::MaximumLoad { limit: MaximumSource::LineRate } => "the line rate is the limit",
        Reason::MaximumLoad { limit: MaximumSource::Given } => "the search was not allowed to go higher",
        Reason::GeneratorFellShort => "the generator left frames unsent at the next load",
        Reason::GeneratorAndReceiverFellShort => {
            "generator and receiver together left frames unsent at the next load"
        }
        Reason::LeastLoadNotHeld => "the lowest load of the search is not sustained",
        Reason::LeastLoadNotSent => "the generator left frames unsent even at the lowest load of the search",
        Reason::Ended { end } => return end_words(end),
    };
    words.into()
}

/// `: the generator sends no more`; empty without a reason.
pub(crate) fn after_colon(reason: Option<&Reason>) -> String {
    match reason {
        Some(reason) => format!(": {}", reason_words(reason)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{End, MaximumSource, Reason, end_words, reason_words};

    #[test]
    fn each_reason_has_its_words() {
        let maximum = |limit| Reason::MaximumLoad { limit };
        let words = [
            (maximum(MaximumSource::Generator), "the generator sends no more"),
            (maximum(MaximumSource::GeneratorAndReceiver), "generator and receiver together reach no more"),
            (maximum(MaximumSource::LineRate), "the line rate is the limit"),
            (maximum(MaximumSource::Given), "the search was not allowed to go higher"),
            (Reason::GeneratorFellShort, "the generator left frames unsent at the next load"),
            (
                Reason::GeneratorAndReceiverFellShort,
                "generator and receiver together left frames unsent at the next load",
            ),
            (Reason::LeastLoadNotHeld, "the lowest load of the search is not sustained"),
            (
                Reason::LeastLoadNotSent,
                "the generator left frames unsent even at the lowest load of the search",
            ),
        ];
        for (reason, expected) in words {
            assert_eq!(reason_words(&reason), expected);
        }
    }

    #[test]
    fn each_end_has_its_words_and_a_reason_has_those_of_its_end() {
        let because = "the ledger contradicts itself".to_string();
        let words = [
            (End::Complete, "the search is complete"),
            (End::Stopped, "the search was stopped before its end"),
            (End::TimeUp, "the time allowed was used up"),
            (End::TrafficUp, "the traffic allowed was used up"),
            (
                End::Invalid { trials: vec![1, 2], because },
                "trial [1, 2] is invalid: the ledger contradicts itself",
            ),
            (
                End::AboveLineRate { trial: 3 },
                "trial 3 counted more than the link can carry: counts or clock are wrong",
            ),
            (End::Failed { reason: "no link".into() }, "no link"),
        ];
        for (end, expected) in words {
            assert_eq!(end_words(&end), expected);
            assert_eq!(reason_words(&Reason::Ended { end }), expected);
        }
    }
}
