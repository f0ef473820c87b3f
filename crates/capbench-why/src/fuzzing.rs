//! The fuzz target `kernel` of `fuzz/`: runs this crate's parsers on any octets. Unit tests run each on its corpus.

use std::hint::black_box;

use capbench_host::links::exchange::Answer;

use crate::sockets::{by_netlink, processes};

/// Texts of /proc and answers of sock_diag(7); the first octet selects the kind. Users choose the names in them.
pub fn kernel(octets: &[u8]) {
    let Some((&kind, octets)) = octets.split_first() else { return };
    match kind {
        b'p' => black_box(processes::parse(&String::from_utf8_lossy(octets)).is_some()),
        b'd' => black_box(
            by_netlink::parse(&Answer { kind: by_netlink::SOCK_DIAG_BY_FAMILY, body: octets.into() })
                .is_some(),
        ),
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
