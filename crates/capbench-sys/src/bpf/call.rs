//! bpf(2): the commands that are used here, each with the part of `union bpf_attr` (`linux/bpf.h`) that it reads.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::Result;
use crate::error::check;

/// Commands of `enum bpf_cmd`.
const PROG_GET_FD_BY_ID: libc::c_int = 13;
const OBJ_GET_INFO_BY_FD: libc::c_int = 15;
const LINK_CREATE: libc::c_int = 28;

/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;

/// The part of the attributes that `BPF_LINK_CREATE` reads for an interface.
#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// The part that `BPF_PROG_GET_FD_BY_ID` reads.
#[repr(C)]
struct GetById {
    id: u32,
    next_id: u32,
    open_flags: u32,
}

/// The part that `BPF_OBJ_GET_INFO_BY_FD` reads; the kernel writes the length that it filled.
#[repr(C)]
struct GetInfo {
    descriptor: u32,
    length: u32,
    info: u64,
}

/// The beginning of `struct bpf_prog_info`, up to its name (Linux 4.15). The kernel fills as much of its own structure
/// as it is given room for.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    kind: u32,
    id: u32,
    tag: [u8; 8],
    jited_length: u32,
    translated_length: u32,
    jited: u64,
    translated: u64,
    load_time: u64,
    user: u32,
    maps: u32,
    map_ids: u64,
    name: [u8; 16],
}

/// Attaches an XDP program to an interface (`BPF_LINK_CREATE`, Linux 5.9); it stays as long as the descriptor is open.
pub(super) fn create_xdp_link(
    program: BorrowedFd<'_>,
    interface: u32,
    flags: u32,
    what: impl FnOnce() -> String,
) -> Result<OwnedFd> {
    let program = program.as_raw_fd() as u32;
    let mut attributes = LinkCreate { program, interface, attach_type: ATTACH_XDP, flags };
    call_for_descriptor(LINK_CREATE, &mut attributes, what)
}

/// The name that the program with this number was loaded with.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN, `ENOENT` when there is none.
pub(super) fn program_name(id: u32) -> Result<String> {
    let what = || format!("bpf(BPF_PROG_GET_FD_BY_ID, {id})");
    let mut by_id = GetById { id, next_id: 0, open_flags: 0 };
    let program = call_for_descriptor(PROG_GET_FD_BY_ID, &mut by_id, what)?;
    let mut info = ProgramInfo::default();
    let mut attributes = GetInfo {
        descriptor: program.as_raw_fd() as u32,
        length: size_of::<ProgramInfo>() as u32,
        info: std::ptr::from_mut(&mut info) as u64,
    };
    // SAFETY: the attributes are those of the command (`linux/bpf.h`). `info` is ours alone, has the length that is
    // given with it, is alive during the call, and any octets are a value of its type.
    let code = unsafe { call(OBJ_GET_INFO_BY_FD, &mut attributes) };
    check(code, || format!("bpf(BPF_OBJ_GET_INFO_BY_FD, program {id})"))?;
    let name = CStr::from_bytes_until_nul(&info.name).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// A command that gives a new descriptor and whose attributes hold no address.
fn call_for_descriptor<A>(
    command: libc::c_int,
    attributes: &mut A,
    what: impl FnOnce() -> String,
) -> Result<OwnedFd> {
    // SAFETY: the attributes are those of the command (`linux/bpf.h`) and hold no address, so that the kernel touches
    // nothing but them.
    let descriptor = check(unsafe { call(command, attributes) }, what)?;
    // SAFETY: the descriptor has just been made, so that it is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Makes the call.
///
/// # Safety
/// `attributes` must be what `command` reads, and every address in it must be valid for what the command does with it.
unsafe fn call<A>(command: libc::c_int, attributes: &mut A) -> libc::c_int {
    let length = size_of::<A>();
    // SAFETY: bpf(2) reads and writes as many octets of the attributes as it is told, which are all of `attributes`,
    // exclusively ours; what they refer to is the caller's promise.
    let code = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), length) };
    // Descriptors and error codes fit.
    code as libc::c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_kernels_layout() {
        assert_eq!(size_of::<LinkCreate>(), 16);
        assert_eq!(size_of::<GetById>(), 12);
        assert_eq!(size_of::<GetInfo>(), 16);
        assert_eq!(std::mem::offset_of!(ProgramInfo, name), 64);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = program_name(u32::MAX).unwrap_err();
        assert!(matches!(error.errno(), Some(libc::ENOENT | libc::EPERM)), "{error}");
    }
}
