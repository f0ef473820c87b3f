//! Searches on computed paths.

mod buffered;
mod conduct;
mod guarded;
mod noise;
mod outcome;
mod paths;
mod properties;
mod reference;
mod resume;
mod vectors;
