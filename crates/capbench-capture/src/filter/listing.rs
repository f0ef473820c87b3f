//! Prints a program as tcpdump does.

use std::fmt::Write;

use capbench_model::filter::program::Filter;
use capbench_sys::pcap::PcapLibrary;

use super::compile::library;
use crate::{CaptureError, Result};

/// The formats in which tcpdump(8) prints programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// `-d`: in words, by libpcap.
    Words,
    /// `-dd`: as C code.
    C,
    /// `-ddd`: as decimal numbers, the number of instructions first. [`Filter`] parses this format.
    Decimal,
}

impl Listing {
    /// The format for a count of `-d`. `None` for 0.
    pub fn of_count(count: u8) -> Option<Self> {
        match count {
            0 => None,
            1 => Some(Self::Words),
            2 => Some(Self::C),
            _ => Some(Self::Decimal),
        }
    }

    /// Prints a program, one line per instruction.
    ///
    /// # Errors
    /// [`CaptureError::Library`]: [`Listing::Words`] needs libpcap, and there is none.
    pub fn of(self, filter: &Filter) -> Result<String> {
        let mut lines = String::new();
        let all = filter.program();
        match self {
            Self::Words => return words(&library()?, filter),
            // Writing into a String cannot fail.
            Self::C => all.iter().for_each(|at| {
                let _ = writeln!(lines, "{{ {:#x}, {}, {}, 0x{:08x} }},", at.code, at.jt, at.jf, at.k);
            }),
            Self::Decimal => {
                let _ = writeln!(lines, "{}", all.len());
                all.iter().for_each(|at| {
                    let _ = writeln!(lines, "{} {} {} {}", at.code, at.jt, at.jf, at.k);
                });
            }
        }
        Ok(lines)
    }
}

fn words(library: &PcapLibrary, filter: &Filter) -> Result<String> {
    let line = |(at, number)| library.image(at, number).map(|line| line + "\n");
    let lines = filter.program().iter().zip(0..).map(line).collect::<capbench_sys::Result<_>>();
    lines.map_err(|source| CaptureError::Library { method: "a filter in words".into(), source })
}

#[cfg(test)]
mod tests {
    use super::{Filter, Listing};

    #[test]
    fn a_listing_in_decimal_can_be_read_again() {
        let text = "4\n128 0 0 0\n53 0 1 100\n6 0 0 262144\n6 0 0 0\n";
        let filter: Filter = text.parse().unwrap();
        assert_eq!(Listing::Decimal.of(&filter).unwrap(), text);
        let c = Listing::C.of(&filter).unwrap();
        assert!(c.starts_with("{ 0x80, 0, 0, 0x00000000 },\n{ 0x35, 0, 1, 0x00000064 },\n"), "{c}");
        assert_eq!(
            [0, 1, 2, 3, 9].map(|count| Listing::of_count(count).is_some()),
            [false, true, true, true, true]
        );
    }
}
