//! Encoders and reader against each other, and the reader against files as others write them.

mod converting;
mod foreign;
mod reading;
mod round_trip;
mod verbatim;

pub(super) use super::fuzzing::{Kept, KeptPacket, Whole, packets};
pub(super) use foreign::{Foreign, example, pcap_example};
pub(super) use verbatim::small_example;
