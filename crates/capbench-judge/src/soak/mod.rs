//! The record of a soak, whose size is bounded for any duration, and the segments that it adds up.

pub mod noise;
pub mod record;
pub mod segment;
