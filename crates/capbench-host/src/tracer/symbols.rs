//! Names of kernel functions: `/proc/kallsyms`, which shows addresses to processes with CAP_SYSLOG.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::sync::{Mutex, PoisonError};

/// Names by address, each looked up once.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    known: Mutex<HashMap<u64, Option<String>>>,
}

impl Symbols {
    /// The function that contains an address; `None` if unknown.
    pub(super) fn function(&self, address: u64) -> Option<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(address).or_insert_with(|| find(address)).clone()
    }
}

fn find(address: u64) -> Option<String> {
    let file = std::fs::File::open("/proc/kallsyms").ok()?;
    nearest(BufReader::new(file), address)
}

/// A module outside the kernel's tree with function names of the kernel: its `packet_rcv` is not that of AF_PACKET. Its
/// functions are named with the module, as the kernel prints them.
const NAMESAKE: &str = "[pf_ring]";

/// The last function that starts at or before the address; the file is unsorted.
fn nearest(lines: impl BufRead, address: u64) -> Option<String> {
    let mut best: Option<(u64, String)> = None;
    for line in lines.lines().map_while(Result::ok) {
        let mut words = line.split_ascii_whitespace();
        let (Some(start), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Ok(start) = u64::from_str_radix(start, 16) else { continue };
        // Hidden addresses are all 0.
        let is_nearer = start != 0 && start <= address && best.as_ref().is_none_or(|(best, _)| start > *best);
        if is_nearer && matches!(kind, "t" | "T" | "w" | "W") {
            // Compilers name variants of a function NAME.part.0, NAME.isra.0 and so on.
            let name = name.split('.').next().unwrap_or_default();
            let module = words.next().filter(|module| *module == NAMESAKE);
            best = Some((start, module.map_or_else(|| name.into(), |module| format!("{name} {module}"))));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn an_address_is_named_by_its_function() {
        let text = "00000000ffff1000 T first\n00000000ffff3000 t third.isra.0 [veth]\n00000000ffff2000 D data\n\
                    00000000ffff1800 T second\nnothing\n";
        let named = |address| nearest(text.as_bytes(), address);
        assert_eq!(named(0xffff_17ff).as_deref(), Some("first"));
        assert_eq!(named(0xffff_2fff).as_deref(), Some("second"));
        assert_eq!(named(0xffff_3001).as_deref(), Some("third"));
        assert_eq!(named(0xffff_0fff), None);
        let two =
            "00000000ffff1000 t packet_rcv [af_packet]\n00000000ffff2000 t packet_rcv.isra.0 [pf_ring]\n";
        assert_eq!(nearest(two.as_bytes(), 0xffff_1001).as_deref(), Some("packet_rcv"));
        assert_eq!(nearest(two.as_bytes(), 0xffff_2001).as_deref(), Some("packet_rcv [pf_ring]"));
        assert_eq!(nearest("0000000000000000 T first\n".as_bytes(), 0xffff), None, "hidden");
    }
}
