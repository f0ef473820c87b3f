//! Reproductions of published experiments: whether a publication's claims hold here, and the saved outcome.
//!
//! | file | what |
//! |---|---|
//! | [`measured`] | the measurements, ready for comparison, and texts that name them |
//! | [`claim`] | claims as defined in the file of a publication, and a rule a file |
//! | [`judging`] | answers: the supporting trials, reasons to withdraw them, and the probability of chance |
//! | `testable` | when a claim cannot be tested here |
//! | `outcome` | the saved data: cells published and measured, claims and answers |
//! | [`claim_text`] | texts of claims as saved: the publication's words, and the values that they name |
//! | `table_note` | notes below a published table as saved |
//! | `quantity` | what a number is, and how it is printed |

pub mod claim;
pub mod claim_text;
pub mod judging;
pub mod measured;
mod outcome;
mod quantity;
mod table_note;
mod testable;

pub use claim::Claim;
pub use claim_text::{ClaimText, ClaimValue, Undecided};
pub use measured::{Done, LeftOut};
pub use outcome::{
    Answer, Cell, ClaimEvidence, Column, Comparison, EffectOfMethod, Judgement, Reproduction, Row, RowHeader,
    Side, TrialConditions,
};
pub use quantity::Quantity;
pub use table_note::TableNote;
