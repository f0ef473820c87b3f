//! An open libpcap capture: created, configured, activated, and closed once, in the order that pcap(3PCAP) requires.

use std::ffi::{CString, c_int};
use std::fmt;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::time::Duration;

use super::engine::{self, Engine};
use super::filter::LinkType;
use super::functions::{
    ERROR, ERROR_PERMISSION, ERROR_PROMISCUOUS_PERMISSION, ERROR_TEXT, NANOSECONDS, Opaque, WARNING,
};
use super::library::{PcapLibrary, text};
use super::read::Current;
use super::ticker::Ticker;
use crate::error::{Result, SysError, by_code};
use crate::host::wait;
use crate::library_call::{broken, c_string};
use crate::packet::{PacketSocket, Readiness};

/// Settings before a capture is activated.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Captured octets of each packet (`pcap_set_snaplen`).
    pub snap_length: u32,
    /// Whether the interface accepts frames for other hosts (`pcap_set_promisc`).
    pub promiscuous: bool,
    /// How long libpcap may delay packets to form batches, in milliseconds (`pcap_set_timeout`); not 0, which means forever.
    pub timeout_ms: u32,
    /// Bytes of its buffer (`pcap_set_buffer_size`).
    pub buffer: u32,
    /// Whether packets are delivered immediately (`pcap_set_immediate_mode`, since libpcap 1.5).
    pub immediate: bool,
    /// Direction of packets (`pcap_setdirection`); both needs no call.
    pub direction: Direction,
}

/// Direction of an interface's packets (`pcap_direction_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Direction {
    /// All of them.
    Both = 0,
    /// Received packets.
    In = 1,
    /// Packets that this host sends.
    Out = 2,
}

/// libpcap's three counters since activation (`struct pcap_stat`). They have 32 bits and wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Statistics {
    /// `ps_recv`.
    pub received: u32,
    /// `ps_drop`.
    pub dropped: u32,
    /// `ps_ifdrop`.
    pub interface_dropped: u32,
}

/// An open capture. It stays on the thread that opened it.
pub struct Pcap {
    pub(super) handle: NonNull<Opaque>,
    pub(super) current: Option<Current>,
    pub(super) copy: Vec<u8>,
    pub(super) ticker: Option<Ticker>,
    /// Nanoseconds per unit of a time stamp's second member.
    pub(super) unit_ns: u64,
    /// The error text at the last look: it says nothing about a later call.
    pub(super) known_text: Option<CString>,
    is_blocking: bool,
    engine: Engine,
    warning: Option<String>,
    // Last, so that it outlives the handle.
    pub(super) library: PcapLibrary,
}

impl fmt::Debug for Pcap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pcap")
            .field("library", &self.library)
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

impl Drop for Pcap {
    fn drop(&mut self) {
        // Dropped before the handle, which its signals use.
        self.ticker = None;
        // SAFETY: the handle came from pcap_create, is closed here only, and nothing borrows from it any more.
        unsafe { (self.library.functions.pcap_close)(self.handle.as_ptr()) }
    }
}

impl Pcap {
    /// A handle of no interface, to compile expressions for packets of a link type (pcap_open_dead(3PCAP)).
    ///
    /// # Errors
    /// The library has no such function, or has no memory.
    pub fn dead(library: PcapLibrary, link_type: LinkType, snap_length: u32) -> Result<Self> {
        const WHAT: &str = "pcap_open_dead";
        let Some(open) = library.functions.pcap_open_dead else {
            return Err(broken(library.name(), WHAT, "this library has no such function"));
        };
        let snap_length = c_int::try_from(snap_length).unwrap_or(c_int::MAX);
        // SAFETY: the function only takes two numbers.
        let handle = unsafe { open(link_type.0, snap_length) };
        match NonNull::new(handle) {
            Some(handle) => Ok(Self::of_handle(handle, library)),
            None => Err(broken(library.name(), WHAT, "it gave no handle")),
        }
    }

    /// From here on dropping it closes the handle.
    fn of_handle(handle: NonNull<Opaque>, library: PcapLibrary) -> Self {
        Self {
            handle,
            current: None,
            copy: Vec::new(),
            ticker: None,
            unit_ns: 1000,
            known_text: None,
            is_blocking: true,
            engine: Engine::Hidden,
            warning: None,
            library,
        }
    }

    /// Opens a capture on an interface in the calling thread's network namespace, with time stamps in nanoseconds if the
    /// library supports them. It does not block: [`Pcap::wait`] does.
    ///
    /// # Errors
    /// [`SysError::Call`] with `EPERM` if libpcap reports a missing permission; otherwise [`SysError::Library`] with its
    /// message.
    pub fn open(library: PcapLibrary, interface: &str, settings: &Settings) -> Result<Self> {
        let name = c_string("pcap_create", interface)?;
        let before = engine::descriptors();
        let mut message = [0; ERROR_TEXT];
        // SAFETY: the name ends with a zero octet, and libpcap writes at most PCAP_ERRBUF_SIZE octets of text.
        let handle = unsafe { (library.functions.pcap_create)(name.as_ptr(), message.as_mut_ptr()) };
        let Some(handle) = NonNull::new(handle) else {
            return Err(broken(library.name(), "pcap_create", &reason(text(message.as_ptr()))));
        };
        let mut pcap = Self::of_handle(handle, library);
        pcap.set(settings)?;
        pcap.activate()?;
        if settings.direction != Direction::Both {
            // SAFETY: the handle is open and active.
            let code = unsafe {
                (pcap.library.functions.pcap_setdirection)(pcap.handle.as_ptr(), settings.direction as c_int)
            };
            pcap.check(code, "pcap_setdirection")?;
        }
        pcap.set_blocking(false)?;
        pcap.engine = engine::find(pcap.descriptor(), pcap.selectable(), &before);
        pcap.look_at_text();
        Ok(pcap)
    }

    fn set(&mut self, settings: &Settings) -> Result<()> {
        let functions = &self.library.functions;
        let handle = self.handle.as_ptr();
        for (name, set, value) in [
            ("pcap_set_snaplen", functions.pcap_set_snaplen, settings.snap_length),
            ("pcap_set_promisc", functions.pcap_set_promisc, settings.promiscuous.into()),
            ("pcap_set_timeout", functions.pcap_set_timeout, settings.timeout_ms),
            ("pcap_set_buffer_size", functions.pcap_set_buffer_size, settings.buffer),
        ] {
            let value = c_int::try_from(value)
                .map_err(|_| SysError::argument(name, format!("{value} is out of range")))?;
            // SAFETY: the handle is open and not yet active, here and below.
            self.check(unsafe { set(handle, value) }, name)?;
        }
        if settings.immediate {
            const NAME: &str = "pcap_set_immediate_mode";
            let set = functions.pcap_set_immediate_mode;
            let set = set.ok_or_else(|| self.failed(NAME, "this library has no immediate mode".into()))?;
            // SAFETY: as above.
            self.check(unsafe { set(handle, 1) }, NAME)?;
        }
        if let Some(set_precision) = functions.pcap_set_tstamp_precision {
            // SAFETY: as above.
            if unsafe { set_precision(handle, NANOSECONDS) } == 0 {
                self.unit_ns = 1;
            }
        }
        Ok(())
    }

    fn activate(&mut self) -> Result<()> {
        // SAFETY: the handle is open and not yet active.
        let code = unsafe { (self.library.functions.pcap_activate)(self.handle.as_ptr()) };
        if code == WARNING {
            self.warning = Some(self.error_text().unwrap_or_else(|| "a warning without words".into()));
        } else if code > 0 {
            self.warning = Some(self.status_text(code));
        }
        self.check(code, "pcap_activate")
    }

    /// What an error code of libpcap's means here. Errors of permission become `EPERM`, as they were.
    pub(super) fn check(&self, code: c_int, function: &'static str) -> Result<()> {
        if code >= 0 {
            return Ok(());
        }
        let reason = match (code, self.error_text()) {
            (ERROR, text) => reason(text),
            (code, Some(detail)) => format!("{} ({detail})", self.status_text(code)),
            (code, None) => self.status_text(code),
        };
        if code == ERROR_PERMISSION || code == ERROR_PROMISCUOUS_PERMISSION {
            return Err(by_code(format!("{function} of {}: {reason}", self.library.name()), libc::EPERM));
        }
        Err(self.failed(function, reason))
    }

    pub(super) fn failed(&self, function: &'static str, reason: String) -> SysError {
        broken(self.library.name(), function, &reason)
    }

    pub(super) fn error_text(&self) -> Option<String> {
        // SAFETY: the handle is open; its text is copied before the next call on it.
        text(unsafe { (self.library.functions.pcap_geterr)(self.handle.as_ptr()) })
    }

    fn status_text(&self, code: c_int) -> String {
        // SAFETY: no preconditions; the text is static.
        let known = text(unsafe { (self.library.functions.pcap_statustostr)(code) });
        known.unwrap_or_else(|| format!("status {code}"))
    }

    /// Whether reading may block. pcap_loop has to; the others find an empty buffer at once when they may not.
    pub(super) fn set_blocking(&mut self, is_blocking: bool) -> Result<()> {
        if self.is_blocking == is_blocking {
            return Ok(());
        }
        let mut message = [0; ERROR_TEXT];
        // SAFETY: the handle is open and active, and libpcap writes at most PCAP_ERRBUF_SIZE octets of text.
        let code = unsafe {
            (self.library.functions.pcap_setnonblock)(
                self.handle.as_ptr(),
                c_int::from(!is_blocking),
                message.as_mut_ptr(),
            )
        };
        if code < 0 {
            return Err(self.failed("pcap_setnonblock", reason(text(message.as_ptr()))));
        }
        self.is_blocking = is_blocking;
        Ok(())
    }

    /// The library of the capture.
    pub fn library(&self) -> &PcapLibrary {
        &self.library
    }

    /// The engine below, determined from the descriptors of this process.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// libpcap's warning at activation.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Whether time stamps are in nanoseconds instead of microseconds.
    pub fn has_nanoseconds(&self) -> bool {
        self.unit_ns == 1
    }

    /// libpcap's counters.
    pub fn statistics(&mut self) -> Result<Statistics> {
        let mut counts = Statistics::default();
        // SAFETY: the handle is open and active, and the structure is live and of the interface's layout.
        let code = unsafe { (self.library.functions.pcap_stats)(self.handle.as_ptr(), &raw mut counts) };
        self.check(code, "pcap_stats").map(|()| counts)
    }

    pub(super) fn descriptor(&self) -> Option<RawFd> {
        // SAFETY: the handle is open and active.
        let fd = unsafe { (self.library.functions.pcap_fileno)(self.handle.as_ptr()) };
        (fd >= 0).then_some(fd)
    }

    /// The packet socket below, with another descriptor: it exists until both are closed. `None` if another engine captures.
    pub fn packet_socket(&self) -> Result<Option<PacketSocket>> {
        if !matches!(self.engine, Engine::Packet { .. }) {
            return Ok(None);
        }
        let Some(descriptor) = self.descriptor() else { return Ok(None) };
        // SAFETY: pcap_fileno returned the descriptor of an open handle, which pcap_close alone closes; that takes the handle,
        // and this borrows it.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        PacketSocket::duplicate_of(descriptor).map(Some)
    }

    fn selectable(&self) -> Option<RawFd> {
        // SAFETY: the handle is open and active.
        let fd = unsafe { (self.library.functions.pcap_get_selectable_fd)(self.handle.as_ptr()) };
        (fd >= 0).then_some(fd)
    }

    /// Waits until there may be packets to read. Engines without a descriptor are polled again after a millisecond, as
    /// pcap_get_required_select_timeout(3PCAP) specifies.
    pub fn wait(&mut self, timeout: Duration) -> Result<Readiness> {
        /// Pause between two looks at a device that cannot be polled.
        const LOOK_AGAIN: Duration = Duration::from_millis(1);
        let Some(fd) = self.selectable() else {
            std::thread::sleep(timeout.min(LOOK_AGAIN));
            return Ok(Readiness::Ready);
        };
        let mut entry = [libc::pollfd { fd, events: libc::POLLIN, revents: 0 }];
        let is_ready = wait::poll(&mut entry, timeout, "libpcap's descriptor")?;
        Ok(if is_ready { Readiness::Ready } else { Readiness::Nothing })
    }
}

fn reason(text: Option<String>) -> String {
    text.unwrap_or_else(|| "it gave no reason".into())
}
