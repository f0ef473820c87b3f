//! The Environment Abstraction Layer, DPDK's initialization (EAL parameters, Linux guide 22.11).
//!
//! It starts once per process and never again. It starts at its first use, on a thread that then ends: a trial needs another
//! affinity and network namespace.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::arguments::{EalArguments, START};
use super::ffi;
use super::name::DeviceName;
use crate::error::named;
use crate::host::affinity;
use crate::host::namespace::{NetNamespace, unshare_net};
use crate::{Result, SysError};

/// The running EAL.
#[derive(Debug)]
pub struct Eal {
    arguments: EalArguments,
}

#[derive(Clone, Debug)]
enum State {
    Untouched,
    Running(&'static Eal),
    /// It keeps state of rejected arguments, so it refuses all later ones.
    Refused {
        arguments: EalArguments,
        reason: String,
    },
}

/// The lock also serialises all calls that open or close something. So a thread or descriptor that appears meanwhile
/// belongs to that call.
static STATE: Mutex<State> = Mutex::new(State::Untouched);

/// The right to open and close devices.
pub(super) struct Turn(#[allow(dead_code, reason = "held for its drop")] MutexGuard<'static, State>);

impl Eal {
    /// Starts the EAL with the defaults for a device and these arguments, or returns the one that runs if it suits.
    ///
    /// # Errors
    /// The EAL's objection to the arguments or this host; or it already runs with other arguments, which only another process
    /// can change.
    pub fn start(name: DeviceName, wanted: &[String]) -> Result<&'static Self> {
        let cpus = affinity::allowed_cpus()?;
        let cpu = cpus.first().ok_or_else(|| SysError::argument("sched_getaffinity", "no CPU is allowed"))?;
        let arguments = EalArguments::new(name.is_virtual(), wanted, *cpu)?;
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        let once = |did: String| {
            let needed = format!("what needs \"{arguments}\" needs a separate run");
            Err(SysError::argument(START, format!("DPDK starts once per process, and {did}; {needed}")))
        };
        match &*state {
            State::Untouched => {}
            State::Running(eal) if arguments.are_met_by(&eal.arguments) => return Ok(eal),
            State::Running(eal) => return once(format!("runs with \"{}\" already", eal.arguments)),
            State::Refused { arguments: refused, reason } if arguments.are_met_by(refused) => {
                return Err(SysError::argument(START, reason.clone()));
            }
            State::Refused { arguments, .. } => return once(format!("refused to with \"{arguments}\"")),
        }
        match call(&arguments) {
            Ok(()) => {
                let eal: &'static Self = Box::leak(Box::new(Self { arguments }));
                *state = State::Running(eal);
                Ok(eal)
            }
            Err(error) => {
                *state = State::Refused { arguments, reason: error.to_string() };
                Err(error)
            }
        }
    }

    /// The arguments of its start.
    pub fn arguments(&self) -> &EalArguments {
        &self.arguments
    }

    pub(super) fn turn(&self) -> Turn {
        Turn(STATE.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn call(arguments: &EalArguments) -> Result<()> {
    // The EAL keeps pointers to its arguments; addresses can go to another thread.
    let mut addresses = vec![leak("capbench")? as usize];
    for argument in arguments.words() {
        addresses.push(leak(argument)? as usize);
    }
    forget_what_was_said();
    let starter = thread::Builder::new().name("dpdk-eal".into()).spawn(move || {
        leave_the_namespace();
        let mut pointers: Vec<*mut c_char> =
            addresses.into_iter().map(|address| address as *mut c_char).collect();
        let count = pointers.len() as i32;
        pointers.push(ptr::null_mut());
        // SAFETY: the array has `count` arguments and a null behind them, as for main(); the strings are leaked, so
        // that they outlive the EAL. The lock that the caller holds makes this the only call at any time.
        unsafe { ffi::capbench_dpdk_start(count, pointers.as_mut_ptr()) }
    });
    match named(starter, || "spawn of the thread dpdk-eal".into())?.join() {
        Ok(code) if code >= 0 => Ok(()),
        Ok(code) => Err(refused(format!("{START}({arguments})"), code)),
        Err(_) => Err(SysError::argument(START, "the thread that started it panicked")),
    }
}

/// Threads that the EAL leaves behind would keep the namespace of a trial, and its interfaces, alive as long as the
/// process. So they are started in the one that the process is in, or in an empty one where that is forbidden.
fn leave_the_namespace() {
    let moved = NetNamespace::of_process().and_then(|namespace| namespace.enter());
    if moved.is_err() {
        // Without this privilege there was none to make a namespace for the trial either.
        let _ = unshare_net();
    }
}

/// The library's version, for example `DPDK 22.11.11`.
pub fn version() -> String {
    // SAFETY: rte_version(3) returns a constant string.
    text(unsafe { ffi::capbench_dpdk_version() })
}

/// Checks that the EAL will find the driver `name` among its plugins, for example `net_af_packet`.
pub fn has_driver(name: &str) -> std::result::Result<(), String> {
    // SAFETY: a constant string.
    let directory = text(unsafe { ffi::capbench_dpdk_driver_directory() });
    let path = Path::new(&directory).join(format!("librte_{name}.so"));
    if path.exists() { Ok(()) } else { Err(format!("DPDK's driver {} is not installed", path.display())) }
}

/// A failed call: DPDK's own words where it said any, else the error's name.
pub(super) fn refused(what: String, code: i32) -> SysError {
    let said = what_was_said();
    if !said.is_empty() {
        return SysError::argument(what, said);
    }
    // SAFETY: returns a string that is valid until this thread's next call; it is copied here.
    SysError::argument(what, text(unsafe { ffi::capbench_dpdk_reason(-code) }))
}

/// Forgets what DPDK said so far, so that an error does not quote older complaints.
pub(super) fn forget_what_was_said() {
    let _ = what_was_said();
}

/// The last lines that DPDK said since it was asked last, as one line.
fn what_was_said() -> String {
    const LINES: usize = 4;
    let mut bytes = [0u8; 8192];
    // SAFETY: the function writes at most as many bytes as the length says, and `bytes` has that many.
    let length = unsafe { ffi::capbench_dpdk_said(bytes.as_mut_ptr().cast(), bytes.len()) };
    let said = String::from_utf8_lossy(&bytes[..length]).into_owned();
    let mut lines: Vec<&str> = said.lines().map(str::trim).filter(|line| is_informative(line)).collect();
    lines.dedup();
    let last = lines.split_off(lines.len().saturating_sub(LINES));
    last.join("; ")
}

/// Whether a line says more than progress, or than the end that another line explains.
fn is_informative(line: &str) -> bool {
    const NOISE: [&str; 10] = [
        "EAL: Probe PCI driver",
        "EAL: Detected",
        "EAL: Selected IOVA",
        "EAL: Physical addresses",
        "EAL: FATAL",
        "EAL: VFIO support",
        "EAL: Driver cannot attach",
        "EAL: Failed to attach",
        "libbpf: elf:",
        "libxdp: No bpffs",
    ];
    !line.is_empty() && !NOISE.iter().any(|start| line.starts_with(start))
}

fn leak(argument: &str) -> Result<*mut c_char> {
    CString::new(argument)
        .map(CString::into_raw)
        .map_err(|_| SysError::argument(START, "an argument contains a NUL"))
}

/// A C string of DPDK's, copied.
pub(super) fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return "unknown".into();
    }
    // SAFETY: the callers pass strings that DPDK keeps for ever, or that are valid until its next call on this thread.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_has_a_version_and_drivers() {
        assert!(version().starts_with("DPDK 2"), "{}", version());
        let missing = has_driver("net_no_such").unwrap_err();
        assert!(missing.contains("librte_net_no_such.so"), "{missing}");
    }
}
