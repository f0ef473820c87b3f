//! Searches on computed paths.

mod conduct;
mod noise;
mod paths;
mod properties;
mod reference;
mod resume;
mod vectors;
