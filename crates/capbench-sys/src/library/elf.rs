//! Why a file is no library for this process, from its first octets (elf(5)).

use std::fs::File;
use std::io::{ErrorKind, Read, Result};
use std::path::Path;

/// The beginning of an ELF header: `e_ident`, `e_type` and `e_machine`.
type Head = [u8; 20];

/// `ELFDATA2MSB` of `elf.h`, in `e_ident[EI_DATA]`.
const BIG_ENDIAN: u8 = 2;

/// Machines that Linux runs on, by their `EM_` numbers of `elf.h`.
const MACHINES: [(u16, &str); 11] = [
    (3, "x86 of 32 bits"),
    (8, "MIPS"),
    (20, "PowerPC of 32 bits"),
    (21, "PowerPC of 64 bits"),
    (22, "IBM Z"),
    (40, "ARM of 32 bits"),
    (43, "SPARC of 64 bits"),
    (62, "x86-64"),
    (183, "AArch64"),
    (243, "RISC-V"),
    (258, "LoongArch"),
];

/// What is wrong with a file; `None` where its header shows nothing.
pub(super) fn fault(path: &Path) -> Option<String> {
    let head = match head(path) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Some("it is no library: it is too short for one".into());
        }
        Err(error) => return Some(error.to_string()),
        Ok(head) => head,
    };
    // This program has the format of this machine's libraries.
    fault_of_head(&head, || self::head(Path::new("/proc/self/exe")).ok())
}

/// What is wrong with a file that begins so, where a library of this machine begins as `own` returns.
fn fault_of_head(head: &Head, own: impl FnOnce() -> Option<Head>) -> Option<String> {
    if head[..4] != *b"\x7fELF" {
        return Some("it is no library: it has no ELF header".into());
    }
    foreign(head, &own()?)
}

/// Any octets as the beginning of a file, for the fuzz target.
#[cfg(any(test, fuzzing))]
pub(crate) fn understand(octets: &[u8]) {
    if let Some((head, rest)) = octets.split_first_chunk() {
        std::hint::black_box(fault_of_head(head, || rest.first_chunk().copied()));
    }
}

fn head(path: &Path) -> Result<Head> {
    let mut head = [0; 20];
    File::open(path)?.read_exact(&mut head)?;
    Ok(head)
}

fn foreign(of: &Head, own: &Head) -> Option<String> {
    let (class, order) = (of[4] != own[4], of[5] != own[5]);
    (class || order || machine(of) != machine(own)).then(|| {
        format!("it is for {}, this machine is {}", words(of, class, order), words(own, class, order))
    })
}

fn machine(head: &Head) -> u16 {
    let number = [head[18], head[19]];
    if head[5] == BIG_ENDIAN { u16::from_be_bytes(number) } else { u16::from_le_bytes(number) }
}

/// A kind of machine, with its class and byte order where they distinguish it.
fn words(head: &Head, with_class: bool, with_order: bool) -> String {
    let number = machine(head);
    let known = MACHINES.iter().find(|&&(machine, _)| machine == number);
    let mut words = known.map_or_else(|| format!("machine number {number}"), |(_, name)| (*name).into());
    if with_class && !words.ends_with("bits") {
        words += if head[4] == 1 { " (32 bits)" } else { " (64 bits)" };
    }
    if with_order {
        words += if head[5] == BIG_ENDIAN { ", big-endian" } else { ", little-endian" };
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{Head, foreign};

    fn head(class: u8, order: u8, machine: u16) -> Head {
        let mut head = [0; 20];
        (head[4], head[5]) = (class, order);
        let number = if order == 2 { machine.to_be_bytes() } else { machine.to_le_bytes() };
        head[18..].copy_from_slice(&number);
        head
    }

    #[test]
    fn errors_name_both_machines() {
        let own = head(2, 1, 62);
        let reason = |class, order, machine| foreign(&head(class, order, machine), &own);
        assert_eq!(reason(2, 1, 62), None);
        assert_eq!(reason(2, 1, 183).unwrap(), "it is for AArch64, this machine is x86-64");
        assert_eq!(reason(2, 1, 4711).unwrap(), "it is for machine number 4711, this machine is x86-64");
        assert_eq!(reason(1, 1, 3).unwrap(), "it is for x86 of 32 bits, this machine is x86-64 (64 bits)");
        assert_eq!(reason(1, 1, 62).unwrap(), "it is for x86-64 (32 bits), this machine is x86-64 (64 bits)");
        assert_eq!(
            reason(2, 2, 21).unwrap(),
            "it is for PowerPC of 64 bits, big-endian, this machine is x86-64, little-endian"
        );
    }
}
