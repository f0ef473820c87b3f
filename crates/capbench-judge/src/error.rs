//! The error of this crate. Every message is one line: what is wrong, and what to write instead.

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A search goal is not valid, or contradicts itself.
    #[error("goal {goal}: {reason}")]
    Goal {
        /// Its name, as the user wrote it.
        goal: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// Two runs are one.
    #[error("compare: the two are one run, or copies of it; name two runs")]
    OneRun,
    /// Two runs have no set-up in common.
    #[error(
        "compare: {}: method, placement, frame size, traffic, transmit method, work and load have to be the same, and ring and \
         buffers where a run has several; --across names what may differ{}",
        nothing_in_common(commands),
        listed(left_out)
    )]
    NothingInCommon {
        /// The commands of the runs.
        commands: [String; 2],
        /// Trials that were left out, and why.
        left_out: Vec<String>,
    },
    /// Runs that cannot be compared.
    #[error("compare: {reason}")]
    Runs {
        /// Why they cannot be compared, and which runs to name.
        reason: String,
    },
    /// Values of a column that cannot be compared.
    #[error("{reason}")]
    Values {
        /// Why, with the flag.
        reason: String,
    },
    /// A list of goals is not valid.
    #[error("search: {reason}")]
    Goals {
        /// What is wrong, and what to write instead.
        reason: String,
    },
}

fn nothing_in_common([then, now]: &[String; 2]) -> String {
    if then == now {
        return "no set-up was measured in both".into();
    }
    format!("A is of `capbench {then}` and B of `capbench {now}`, and no set-up was measured in both")
}

/// The trials left out, for the end of a sentence.
fn listed(left_out: &[String]) -> String {
    let mut text = String::new();
    for trials in left_out {
        text += &format!("; {trials}");
    }
    text
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, JudgeError>;
