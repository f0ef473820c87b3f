//! The record of a soak, whose size is bounded for any duration, the segments that it adds up, and what puts its result in doubt.

pub mod doubts;
pub mod noise;
pub mod record;
pub mod segment;
