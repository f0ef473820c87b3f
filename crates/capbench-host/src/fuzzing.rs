//! Entry point of the fuzz target `kernel` of `fuzz/`: readers of this crate on any octets. Unit tests run each on its corpus.

use std::hint::black_box;

use crate::accounts::cpu::CpuSnapshot;
use crate::accounts::irqtime::IrqAccounting;
use crate::accounts::softnet::SoftnetSnapshot;
use crate::accounts::threads::{ReceiveThread, ThreadTimes};
use crate::links::message;

/// Texts of /proc and answers of rtnetlink; the first octet selects the kind. Users choose names in them.
pub fn kernel(octets: &[u8]) {
    let Some((&kind, octets)) = octets.split_first() else { return };
    let text = String::from_utf8_lossy(octets);
    match kind {
        b'n' => black_box(SoftnetSnapshot::parse(&text).is_ok()),
        b'c' => black_box(CpuSnapshot::parse(&text, 10_000_000).is_ok()),
        b't' => black_box(ThreadTimes::parse(&text, &text) == ThreadTimes::parse("", "")),
        b'i' => black_box(IrqAccounting::parse(&text).hz.is_some()),
        b'r' => black_box(ReceiveThread::parse(&text).is_some()),
        b'l' => black_box(message::is_any(octets)),
        _ => false,
    };
}

#[cfg(test)]
mod tests {
    use capbench_testing::replay;

    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        replay("kernel", super::kernel);
    }
}
