//! bpf(2): the commands in use, each with its part of `union bpf_attr` (`linux/bpf.h`).

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::check;
use crate::{Result, SysError};

/// Commands of `enum bpf_cmd`.
const OBJ_GET: libc::c_int = 7;
const PROG_RUN: libc::c_int = 10;
const PROG_GET_FD_BY_ID: libc::c_int = 13;
const OBJ_GET_INFO_BY_FD: libc::c_int = 15;
const LINK_CREATE: libc::c_int = 28;
#[cfg(feature = "bpf")]
const ENABLE_STATS: libc::c_int = 32;
const LINK_DETACH: libc::c_int = 34;

/// `BPF_STATS_RUN_TIME` of `enum bpf_stats_type`.
#[cfg(feature = "bpf")]
const RUN_TIME: u32 = 0;

/// `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;

#[cfg(feature = "bpf")]
#[repr(C)]
struct EnableStats {
    kind: u32,
}

/// The part of the attributes that `BPF_LINK_CREATE` reads for an interface.
#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// The part that `BPF_LINK_DETACH` reads.
#[repr(C)]
struct LinkDetach {
    link: u32,
}

/// The part that `BPF_OBJ_GET` reads.
#[repr(C)]
struct GetPinned {
    path: u64,
    descriptor: u32,
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

/// The part that `BPF_PROG_RUN` reads and writes (Linux 5.18).
#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    verdict: u32,
    data_in_octets: u32,
    data_out_octets: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_in_octets: u32,
    context_out_octets: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    padding: u32,
}

const LIVE_FRAMES: u32 = 1 << 1;

/// The beginning of `struct bpf_map_info`.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct MapInfo {
    /// `enum bpf_map_type`.
    pub(super) kind: u32,
    id: u32,
    key_size: u32,
    pub(super) value_size: u32,
    pub(super) entries: u32,
    pub(super) flags: u32,
}

/// The beginning of `struct bpf_prog_info`, up to its name (Linux 4.15). The kernel fills as much of its
/// structure as this has room for.
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

/// Takes a link's program off its interface (`BPF_LINK_DETACH`, Linux 5.9), whoever else holds a descriptor of the link.
pub(super) fn detach_link(link: BorrowedFd<'_>) -> Result<()> {
    let mut attributes = LinkDetach { link: link.as_raw_fd() as u32 };
    // SAFETY: the attributes are those of the command (`linux/bpf.h`) and hold no address.
    check(unsafe { call(LINK_DETACH, &mut attributes) }, || "bpf(BPF_LINK_DETACH)".into()).map(drop)
}

#[cfg(feature = "bpf")]
pub(super) fn enable_run_time_statistics() -> Result<OwnedFd> {
    let mut attributes = EnableStats { kind: RUN_TIME };
    call_for_descriptor(ENABLE_STATS, &mut attributes, || "bpf(BPF_ENABLE_STATS)".into())
}

/// A program or map that is pinned in a BPF file system (`BPF_OBJ_GET`, Linux 4.4).
pub(crate) fn pinned(path: &Path) -> Result<OwnedFd> {
    let what = || format!("bpf(BPF_OBJ_GET, {})", path.display());
    let text = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SysError::argument("bpf(BPF_OBJ_GET)", "a path has no octet 0"))?;
    let mut attributes = GetPinned { path: text.as_ptr() as u64, descriptor: 0, flags: 0 };
    // SAFETY: the attributes are those of the command (`linux/bpf.h`). The kernel reads the path, which is alive and ends with 0.
    let descriptor = check(unsafe { call(OBJ_GET, &mut attributes) }, what)?;
    // SAFETY: the descriptor has just been made, so that it is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
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
    // SAFETY: the structure consists of integers without padding.
    unsafe {
        fill_info(program.as_fd(), &mut info, || format!("bpf(BPF_OBJ_GET_INFO_BY_FD, program {id})"))
    }?;
    let name = CStr::from_bytes_until_nul(&info.name).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

pub(super) fn map_info(map: BorrowedFd<'_>) -> Result<MapInfo> {
    let mut info = MapInfo::default();
    // SAFETY: the structure consists of integers without padding.
    unsafe { fill_info(map, &mut info, || "bpf(BPF_OBJ_GET_INFO_BY_FD, map)".into()) }?;
    Ok(info)
}

/// Runs an XDP program on `repeat` frames with the content of `template`. The kernel obeys the verdict for each.
pub(super) fn run_live(program: BorrowedFd<'_>, template: &[u8], repeat: u32, batch: u32) -> Result<()> {
    let mut attributes = Run {
        program: program.as_raw_fd() as u32,
        data_in: template.as_ptr() as u64,
        data_in_octets: template.len() as u32,
        repeat,
        batch,
        flags: LIVE_FRAMES,
        ..Run::default()
    };
    // SAFETY: the attributes are those of the command (`linux/bpf.h`). The kernel reads `template`, which is alive and as
    // long as stated, and writes only the attributes.
    let code = unsafe { call(PROG_RUN, &mut attributes) };
    check(code, || format!("bpf(BPF_PROG_RUN, {repeat} live frames)")).map(drop)
}

/// Asks what the kernel knows of a program or map.
///
/// # Safety
/// Any octets must be a value of `T`.
unsafe fn fill_info<T>(object: BorrowedFd<'_>, info: &mut T, what: impl FnOnce() -> String) -> Result<()> {
    let mut attributes = GetInfo {
        descriptor: object.as_raw_fd() as u32,
        length: size_of::<T>() as u32,
        info: std::ptr::from_mut(info) as u64,
    };
    // SAFETY: the attributes are those of the command (`linux/bpf.h`). `info` is ours alone, as long as
    // stated, alive during the call, and valid with any octets.
    check(unsafe { call(OBJ_GET_INFO_BY_FD, &mut attributes) }, what).map(drop)
}

/// A command that returns a new descriptor. Its attributes contain no address.
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
    // SAFETY: bpf(2) reads and writes `length` octets, all of `attributes`, which is exclusively ours. The caller
    // answers for what they refer to.
    let code = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), length) };
    // Descriptors and error codes fit.
    code as libc::c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_have_the_kernels_layout() {
        #[cfg(feature = "bpf")]
        assert_eq!(size_of::<EnableStats>(), 4);
        assert_eq!(size_of::<LinkCreate>(), 16);
        assert_eq!(size_of::<LinkDetach>(), 4);
        assert_eq!(size_of::<GetById>(), 12);
        assert_eq!(size_of::<GetPinned>(), 16);
        assert_eq!(size_of::<GetInfo>(), 16);
        assert_eq!((size_of::<Run>(), std::mem::offset_of!(Run, batch)), (80, 72));
        assert_eq!((size_of::<MapInfo>(), std::mem::offset_of!(MapInfo, flags)), (24, 20));
        assert_eq!(std::mem::offset_of!(ProgramInfo, name), 64);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = program_name(u32::MAX).unwrap_err();
        assert!(matches!(error.errno(), Some(libc::ENOENT | libc::EPERM)), "{error}");
    }
}
