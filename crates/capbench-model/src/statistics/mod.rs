//! What repeats say, and what is chance: exact for whatever distribution the repeats have, as loss has none that is normal.
//!
//! | file | what |
//! |---|---|
//! | [`interval`] | the median of repeats, and an interval for it |
//! | `ranks`, `shift` | whether repeats lie higher in one place than in another, and by how much they may |
//! | `aligned` | the same over strata, and by how much, with an interval |
//! | `holm` | what one probability is worth among many |
//! | `counts` | shares and rates of which a few were counted |

pub mod aligned;
pub mod counts;
pub mod holm;
pub mod interval;
pub mod ranks;
pub mod shift;

/// A search among many comparisons may say something false with this probability, whatever their number.
pub const FALSE_ALARMS: f64 = 0.05;
