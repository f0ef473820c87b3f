//! Reports and settings of an interface's driver: the ethtool ioctl (linux/ethtool.h), in the calling thread's network
//! namespace. Only changes need a privilege.
//!
//! | file | what |
//! |---|---|
//! | `change.rs` | a change of a setting that is ready to be made |
//! | `groups.rs` | settings that are saved and set again as they were |
//! | `settings.rs` | driver, rings, queues, interrupt moderation, pause frames, RSS, offloads |
//! | `named.rs` | named items of drivers and the kernel: counters, switches, features |

mod change;
mod groups;
mod named;
mod settings;

use super::interface;
use crate::Result;
use crate::memory::GuardedMemory;

pub use change::Change;
pub(super) use change::Prepared;
pub use groups::Group;
pub use named::{DriverCounter, changeable_features, counters, features, switches};
pub use settings::{
    Coalescing, DriverInfo, Moderation, Offload, PauseFrames, Queues, Rings, Sharing, driver, offload,
    offload_change, pause_frames, queues, receive_queues, rings, set_offload, sharing,
};

#[derive(Clone, Copy, Debug)]
struct Command {
    number: u32,
    name: &'static str,
}

macro_rules! commands {
    ($($name:ident = $number:literal)+) => {
        $(const $name: Command = Command { number: $number, name: concat!("ETHTOOL_", stringify!($name)) };)+
    };
}

// From linux/ethtool.h. No structure of theirs has an address in it.
commands! {
    GDRVINFO = 0x03
    GCOALESCE = 0x0e
    SCOALESCE = 0x0f
    GRINGPARAM = 0x10
    SRINGPARAM = 0x11
    GPAUSEPARAM = 0x12
    GRXCSUM = 0x14
    SRXCSUM = 0x15
    GTXCSUM = 0x16
    STXCSUM = 0x17
    GSTRINGS = 0x1b
    GSTATS = 0x1d
    GTSO = 0x1e
    STSO = 0x1f
    GGSO = 0x23
    SGSO = 0x24
    GFLAGS = 0x25
    SFLAGS = 0x26
    GPFLAGS = 0x27
    GRXFH = 0x29
    GGRO = 0x2b
    SGRO = 0x2c
    GSSET_INFO = 0x37
    GFEATURES = 0x3a
    GCHANNELS = 0x3c
    SCHANNELS = 0x3d
    GRSSH = 0x46
    SRSSH = 0x47
}

/// Makes a call with a structure of `length` octets. It begins with the command and `question`, the rest is 0. Returns the
/// structure as the kernel leaves it.
fn ask(interface: &str, command: Command, question: &[u32], length: usize) -> Result<Vec<u8>> {
    let mut memory = filled(command, question, length)?;
    let socket = interface::request_socket()?;
    let data = libc::__c_anonymous_ifr_ifru { ifru_data: memory.bytes().as_mut_ptr().cast() };
    // SAFETY: SIOCETHTOOL reads and writes from `ifr_data` on what the command says, in which there are no addresses. The memory
    // is exclusively ours, alive, and ends at a guard page: where the structure is longer, the kernel stops there with EFAULT.
    unsafe { interface::request(&socket, interface, libc::SIOCETHTOOL, data, command.name) }?;
    Ok(memory.bytes()[..length].to_vec())
}

/// Memory for a structure of `length` octets, which begins with the command and `question`.
fn filled(command: Command, question: &[u32], length: usize) -> Result<GuardedMemory> {
    let mut memory = GuardedMemory::new(length)?;
    let words = memory.bytes().as_chunks_mut::<4>().0;
    for (to, word) in words.iter_mut().zip([&[command.number], question].concat()) {
        *to = word.to_ne_bytes();
    }
    Ok(memory)
}

/// The same for a structure whose length the kernel decides. If it has become longer meanwhile, it is all zeroes: the caller asks
/// again. Kernels before 6.12 write as much as there is at that moment, not as much as there is room for.
fn ask_for_list(interface: &str, command: Command, question: &[u32], length: usize) -> Result<Vec<u8>> {
    match ask(interface, command, question, length) {
        Err(error) if error.errno() == Some(libc::EFAULT) => Ok(vec![0; length]),
        answered => answered,
    }
}

/// Makes a call with a structure of words, the command the first of them.
fn call<const WORDS: usize>(interface: &str, command: Command, question: &[u32]) -> Result<[u32; WORDS]> {
    let answer = ask(interface, command, question, WORDS * size_of::<u32>())?;
    Ok(std::array::from_fn(|at| word(&answer, at * size_of::<u32>())))
}

/// `None` where the driver does not support a command.
fn supported<T>(answered: Result<T>) -> Result<Option<T>> {
    match answered {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(None),
        answered => answered.map(Some),
    }
}

fn word(structure: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(structure[at..at + 4].try_into().expect("four octets"))
}

/// The text of a field: up to its NUL, or all of it.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|octet| *octet == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_at_their_nul_or_at_their_end() {
        assert_eq!(text(b"e1000\0\0junk"), "e1000");
        assert_eq!(text(b"e1000"), "e1000");
        assert_eq!(text(b""), "");
        assert_eq!(text(b"\xff\0"), "\u{fffd}");
    }

    #[test]
    fn an_answer_that_is_longer_than_its_memory_is_refused() {
        // The names of features are counted in a word behind these four.
        let question = [0, 1 << 4, 0];
        assert_eq!(ask("lo", GSSET_INFO, &question, 16).unwrap_err().errno(), Some(libc::EFAULT));
        assert_eq!(ask_for_list("lo", GSSET_INFO, &question, 16).unwrap(), [0; 16]);
    }

    #[test]
    fn the_loopback_interface_has_no_hardware() {
        assert_eq!((counters("lo").unwrap(), switches("lo").unwrap()), (None, None));
        assert_eq!(
            (rings("lo").unwrap(), queues("lo").unwrap(), pause_frames("lo").unwrap()),
            (None, None, None)
        );
        assert_eq!((sharing("lo").unwrap(), Coalescing::read("lo").unwrap()), (None, None));
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        const NONE: &str = "no-such-if";
        for (command, error) in [
            ("GSSET_INFO", counters(NONE).unwrap_err()),
            ("GSSET_INFO", switches(NONE).unwrap_err()),
            ("GSSET_INFO", features(NONE).unwrap_err()),
            ("GDRVINFO", driver(NONE).unwrap_err()),
            ("GRINGPARAM", rings(NONE).unwrap_err()),
            ("GCHANNELS", queues(NONE).unwrap_err()),
            ("GCHANNELS", receive_queues(NONE).unwrap_err()),
            ("GPAUSEPARAM", pause_frames(NONE).unwrap_err()),
            ("GRSSH", sharing(NONE).unwrap_err()),
            ("GCOALESCE", Coalescing::read(NONE).unwrap_err()),
            ("GGRO", offload(NONE, Offload::Gro).unwrap_err()),
        ] {
            assert_eq!(error.errno(), Some(libc::ENODEV));
            let text = error.to_string();
            assert!(text.starts_with(&format!("ioctl(ETHTOOL_{command}, {NONE}): ")), "{text}");
        }
        assert_eq!(call::<2>("", GGRO, &[]).unwrap_err().errno(), Some(libc::ENODEV));
        for name in ["a-name-that-is-too-long", "a\0b"] {
            assert_eq!(call::<2>(name, GGRO, &[]).unwrap_err().errno(), None);
        }
    }
}
