//! Searches on computed paths.

mod buffered;
mod conduct;
mod guarded;
mod outcome;
mod paths;
mod properties;
mod ranking;
mod reference;
mod resume;
mod vectors;
