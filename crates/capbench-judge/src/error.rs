//! The error of this crate. Every message is one line: what is wrong, and what to write instead.

use std::time::Duration;

use crate::comparison::LeftOut;
use crate::ratio::Ratio;
use crate::search::Width;

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
        /// Trials that were left out.
        left_out: Vec<LeftOut>,
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

/// What is wrong with a goal, and what to write instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum GoalFault {
    #[error("a name has letters, digits, -, _ and . only")]
    Name,
    #[error("durations are above 0")]
    ZeroDuration,
    #[error("duration, sum and initial are at most 30 days")]
    TooLong,
    #[error("sum={sum:?} is shorter than one trial of duration={last:?}; give at least that")]
    SumBelowTrial { sum: Duration, last: Duration },
    #[error("initial={first:?} is longer than duration={last:?}; first trials are the short ones")]
    LongInitial { first: Duration, last: Duration },
    #[error("width=0 is never reached; 0.5% is usual")]
    ZeroWidth,
    #[error("width={width} is finer than rates can be distinguished; give at least {least}")]
    TooNarrow { width: Width, least: Ratio },
    #[error(
        "sum={sum:?} asks for more than {most} trials of duration={last:?} at a load; give a smaller sum or longer trials"
    )]
    TooManyTrials { sum: Duration, last: Duration, most: u128 },
    #[error(
        "width={width} is below loss={loss}: within the loss that it allows, a narrower interval says nothing (RFC 9971); give a \
         width of at least {loss}"
    )]
    WidthBelowLoss { width: Width, loss: Ratio },
    #[error("a width of the maximum load needs strategy=binary")]
    WidthOfMaximum,
    #[error("targets={targets} is more than {most}")]
    TooManyTargets { targets: u32, most: u32 },
    #[error("width={width} doubled {targets} times is the whole; give a smaller width or fewer targets")]
    WholeWidth { width: Width, targets: u32 },
}

fn nothing_in_common([then, now]: &[String; 2]) -> String {
    if then == now {
        return "no set-up was measured in both".into();
    }
    format!("A is of `capbench {then}` and B of `capbench {now}`, and no set-up was measured in both")
}

/// The trials left out, for the end of a sentence.
fn listed(left_out: &[LeftOut]) -> String {
    let mut text = String::new();
    for LeftOut { of, because, trials } in left_out {
        text += &format!("; of {of} {trials} left out: {because}");
    }
    text
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, JudgeError>;
