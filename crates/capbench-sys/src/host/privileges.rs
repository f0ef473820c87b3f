//! Drops privileges in every thread, permanently: capabilities(7), `PR_SET_NO_NEW_PRIVS` of prctl(2).
//!
//! All sets of a thread are lowered: permitted, effective, inheritable, ambient and, with CAP_SETPCAP, the bounding set. Then
//! each thread's remaining sets are read back, and any excess is an error.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::thread::{
    self, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::capability::{Capability, CapabilitySet, Sets};
use super::every_thread::{on_every_thread, threads};
use super::identity::{Identity, become_user};
use super::proc_file;
use crate::error::named;
use crate::{Result, SysError};

/// Keeps only these capabilities of the process, in every thread, and sets `no_new_privs`. With `user`, the process becomes
/// that user with only that user's groups, and keeps none.
///
/// # Errors
/// The kernel's refusal, or a thread with excess capabilities. Some privileges may already be dropped.
pub fn keep_only(kept: CapabilitySet, user: Option<(&str, Identity)>) -> Result<()> {
    const WHAT: &str = "give up capabilities";
    let before = Sets::of_current_thread()?;
    let kept = if user.is_some() { CapabilitySet::EMPTY } else { kept.and(before.permitted) };
    // Another user has no CAP_SETPCAP any more: so the bounding set comes first.
    // SAFETY: prctl(2) is a system call that touches no memory of ours, and no code relies on the bounding set.
    unsafe { on_every_thread(WHAT, Box::new(move || lower_bounding(kept))) }?;
    if let Some((name, identity)) = user {
        become_user(name, identity)?;
    }
    // SAFETY: prctl(2) and capset(2) are system calls that touch no memory but what is on the handler's stack. That calls fail
    // from here on which the thread's own code makes is what is wanted.
    unsafe { on_every_thread(WHAT, Box::new(move || lower(kept))) }?;
    check(kept, before.effective.has(Capability::SetPcap))
}

/// Whether the process could create files in a folder without these capabilities.
pub fn may_write_without(folder: &Path, without: CapabilitySet) -> Result<bool> {
    let path = folder.to_path_buf();
    // Capabilities belong to a thread: this one gives them up, is asked, and ends.
    let asked = move || {
        let sets = Sets::of_current_thread()?;
        named(lower(sets.permitted.less(without)), || "capset of a thread".into())?;
        Ok(accessat(CWD, &path, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS).is_ok())
    };
    let started = named(std::thread::Builder::new().spawn(asked), || {
        format!("a thread to ask about {}", folder.display())
    });
    started?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Takes everything but `kept` out of the bounding set of the calling thread, where it may do so.
fn lower_bounding(kept: CapabilitySet) -> rustix::io::Result<()> {
    for number in (0..u64::BITS).filter(|number| kept.bits() >> number & 1 == 0) {
        let one = thread::CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(one) {
            Ok(true) => {}
            Ok(false) => continue,
            // The kernel knows no more.
            Err(_) => break,
        }
        match remove_capability_from_bounding_set(one) {
            // Without CAP_SETPCAP the set remains; with no_new_privs nothing can be had by it.
            Err(Errno::PERM) => break,
            removed => removed?,
        }
    }
    Ok(())
}

fn lower(kept: CapabilitySet) -> rustix::io::Result<()> {
    let kept = thread::CapabilitySet::from_bits_retain(kept.bits());
    let inheritable = thread::CapabilitySet::empty();
    clear_ambient_capability_set()?;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?;
    set_no_new_privs(true)
}

/// Compares what the kernel says of each thread with what it shall have.
fn check(kept: CapabilitySet, is_bounded: bool) -> Result<()> {
    for thread in threads()? {
        let file = format!("/proc/self/task/{thread}/status");
        // A thread that has ended meanwhile has nothing.
        let Ok(text) = proc_file::read(&file) else { continue };
        let sets = Sets::parse(&text).ok_or_else(|| SysError::argument(&file, "no lines of capabilities"))?;
        let wanted = Sets {
            permitted: kept,
            effective: kept,
            inheritable: CapabilitySet::EMPTY,
            ambient: CapabilitySet::EMPTY,
            bounding: if is_bounded { sets.bounding.and(kept) } else { sets.bounding },
        };
        if sets != wanted || proc_file::field(&text, "NoNewPrivs") != Some("1") {
            let what = format!("give up capabilities, thread {thread}");
            let reason =
                format!("the kernel says that it has {sets}, where it shall have {wanted} and no_new_privs");
            return Err(SysError::argument(what, reason));
        }
    }
    Ok(())
}
