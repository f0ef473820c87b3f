//! What can be wrong with a search goal.

use std::time::Duration;

use super::Width;
use crate::ratio::Ratio;

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
