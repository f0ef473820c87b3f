//! Reproductions of published experiments: whether a publication's claims hold here, and the saved outcome.
//!
//! | file | what |
//! |---|---|
//! | [`measured`] | the measurements, ready for comparison, and texts that name them |
//! | [`claim`] | claims as defined in the file of a publication, and a rule a file |
//! | [`judging`] | answers: the supporting trials, reasons to withdraw them, and the probability of chance |
//! | `outcome` | the saved data: cells published and measured, claims and answers |

pub mod claim;
pub mod judging;
pub mod measured;
mod outcome;

pub use claim::Claim;
pub use measured::{Done, LeftOut};
pub use outcome::{
    Answer, Cell, ClaimEvidence, Column, Comparison, EffectOfMethod, Judgement, Quantity, Reproduction, Row,
    RowHeader, Side,
};
