//! The kernel's data of each AF_PACKET and AF_XDP socket, by an iterator over the open files of all processes
//! (`packet_sockets.bpf.c`, Linux 5.11). It resets nothing.

use std::path::Path;

/// The kernel's description of its structures (BTF).
pub(crate) const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Octets of an interface's name, including the 0 at its end (IFNAMSIZ).
const NAME_OCTETS: usize = 16;

/// Declares the members of a record once, in the order of the C structure.
macro_rules! record {
    (u64: $($wide:ident),+; name: $($name:ident),+; u32: $($narrow:ident),+ $(,)?) => {
        /// One open file that is such a socket: `struct record` of the program.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub(super) struct Record {
            $(pub(super) $wide: u64,)+
            $(pub(super) $name: [u8; NAME_OCTETS],)+
            $(pub(super) $narrow: u32,)+
        }

        impl Record {
            /// Octets of the C structure, including padding at its end.
            const OCTETS: usize =
                (8 * [$(stringify!($wide)),+].len() + NAME_OCTETS * [$(stringify!($name)),+].len()
                    + 4 * [$(stringify!($narrow)),+].len()).next_multiple_of(8);

            fn parse(octets: &[u8]) -> Option<Self> {
                let mut rest = octets;
                let mut take = |length: usize| {
                    let (record, left) = rest.split_at_checked(length)?;
                    rest = left;
                    Some(record)
                };
                Some(Self {
                    $($wide: u64::from_ne_bytes(take(8)?.try_into().ok()?),)+
                    $($name: take(NAME_OCTETS)?.try_into().ok()?,)+
                    $($narrow: u32::from_ne_bytes(take(4)?.try_into().ok()?),)+
                })
            }
        }
    };
}

record! {
    u64: inode, packets, dropped, full, starved;
    name: name;
    u32: process, space, interface, family, readable, protocol, version, receive_buffer, filtered, ignores_outgoing,
        blocks, block_pages, frames, frame_octets, reserve, freezes, fanout_members, fanout_id, fanout_type, has_ring,
        queue, zero_copy,
}

impl Record {
    /// The interface that it is bound to, by name.
    pub(super) fn interface_name(&self) -> Option<String> {
        let name = self.name.split(|octet| *octet == 0).next().filter(|name| !name.is_empty())?;
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

/// Parses the program's output; a truncated record ends it.
pub(super) fn parse(written: &[u8]) -> Vec<Record> {
    written.chunks_exact(Record::OCTETS).filter_map(Record::parse).collect()
}

/// The loaded program.
#[derive(Debug)]
pub(super) struct Reader {
    #[cfg(feature = "bpf")]
    program: capbench_sys::bpf::object::Loaded,
}

#[cfg(feature = "bpf")]
impl Reader {
    /// Loads the program; `types` is the file with the kernel's structures. The error says why sockets cannot be read.
    pub(super) fn new(types: &Path) -> std::result::Result<Self, String> {
        use capbench_sys::bpf::object::{Opened, object_file};
        const EPERM: i32 = 1;
        const EACCES: i32 = 13;
        check_types(types)?;
        let load = || Opened::read("packet_sockets", object_file!("packet_sockets"))?.load();
        let program = load().map_err(|error| match error.errno() {
            Some(EPERM | EACCES) => {
                "needs the capabilities CAP_BPF and CAP_PERFMON, or root, outside a user namespace"
                    .to_string()
            }
            _ => format!("needs Linux 5.11: {error}"),
        })?;
        Ok(Self { program })
    }

    /// Every such socket that a process has open now, once per process.
    pub(super) fn read(&self) -> std::result::Result<Vec<Record>, String> {
        self.program.iterate().map(|written| parse(&written)).map_err(|error| error.to_string())
    }
}

#[cfg(not(feature = "bpf"))]
impl Reader {
    /// Returns the error that capbench was built without the program.
    pub(super) fn new(types: &Path) -> std::result::Result<Self, String> {
        check_types(types)?;
        Err("capbench was built without the feature bpf".into())
    }

    /// Never called: there is no such reader.
    pub(super) fn read(&self) -> std::result::Result<Vec<Record>, String> {
        Ok(parse(&[]))
    }
}

fn check_types(types: &Path) -> std::result::Result<(), String> {
    match types.try_exists() {
        Ok(true) => Ok(()),
        _ => Err(format!(
            "the kernel does not describe its structures (no {}); it has to be built with CONFIG_DEBUG_INFO_BTF",
            types.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_in_the_programs_order() {
        assert_eq!(Record::OCTETS, 5 * 8 + 16 + 22 * 4);
        let mut written = Vec::new();
        for number in 1..=5_u64 {
            written.extend(number.to_ne_bytes());
        }
        written.extend(*b"eth0\0\0\0\0\0\0\0\0\0\0\0\0");
        for number in 6..=27_u32 {
            written.extend(number.to_ne_bytes());
        }
        let found = parse(&written);
        assert_eq!((found.len(), found[0].inode, found[0].starved), (1, 1, 5));
        assert_eq!((found[0].process, found[0].zero_copy), (6, 27));
        assert_eq!(found[0].interface_name().as_deref(), Some("eth0"));
        written.push(0);
        assert_eq!(parse(&written).len(), 1);
        assert!(parse(&written[1..100]).is_empty());
    }

    #[test]
    fn a_kernel_without_types_is_said_to_have_none() {
        let reason = Reader::new(Path::new("/nonexistent/vmlinux")).unwrap_err();
        assert!(
            reason.contains("CONFIG_DEBUG_INFO_BTF") && reason.contains("/nonexistent/vmlinux"),
            "{reason}"
        );
    }
}
