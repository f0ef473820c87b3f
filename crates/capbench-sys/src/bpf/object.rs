//! BPF programs: C files that the build script of their crate compiles, libbpf verifies and loads, and [`XdpLink`] attaches.
//!
//! libbpf writes messages to standard error by default. Here they are collected and become part of the error.

use std::cell::RefCell;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Once;

use libbpf_rs::{
    Link, Map, MapCore, MapFlags, Object, ObjectBuilder, OpenMapMut, OpenObject, PrintLevel, TC_INGRESS,
    TcHook, set_print,
};

use super::statistics::Runs;
use super::{XdpLink, XdpMode};
use crate::error::named;
use crate::host::InterfaceIndex;
use crate::{Result, SysError};

/// An object file, aligned as ELF requires.
#[repr(C, align(8))]
pub struct ObjectFile<T: ?Sized>(pub T);

/// The object that the build script compiled from `NAME.bpf.c`.
#[macro_export]
macro_rules! bpf_object_file {
    ($name:literal) => {{
        static OBJECT: &$crate::bpf::object::ObjectFile<[u8]> =
            &$crate::bpf::object::ObjectFile(*include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")));
        &OBJECT.0
    }};
}
pub use bpf_object_file as object_file;

/// An object file that was read. Its map sizes and constants can still be set.
#[derive(Debug)]
pub struct Opened {
    name: &'static str,
    object: OpenObject,
}

impl Opened {
    /// Reads an object file; `name` is the file's name.
    pub fn read(name: &'static str, file: &'static [u8]) -> Result<Self> {
        listen();
        let object =
            ObjectBuilder::default().open_memory(file).map_err(|error| failed(name, "read", &error))?;
        Ok(Self { name, object })
    }

    /// Sets the program's constants: the content of its only `const volatile` variable.
    pub fn set_constants(&mut self, octets: &[u8]) -> Result<()> {
        self.on_map(".rodata", |map| map.set_initial_value(octets))
    }

    /// Sets the number of entries of a map.
    pub fn set_entries(&mut self, map: &str, entries: u32) -> Result<()> {
        self.on_map(map, |map| map.set_max_entries(entries))
    }

    /// Sets the size of a map's values in octets.
    pub fn set_value_size(&mut self, map: &str, octets: u32) -> Result<()> {
        self.on_map(map, |map| map.set_value_size(octets))
    }

    fn on_map(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut OpenMapMut<'_>) -> libbpf_rs::Result<()>,
    ) -> Result<()> {
        // libbpf puts the beginning of the object's name in front of that of a section.
        let mut found = self.object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(name));
        let map = found.as_mut().ok_or_else(|| lacks(self.name, name))?;
        work(map).map_err(|error| failed(self.name, &format!("set up {name} of"), &error))
    }

    /// Omits a program, for example because the kernel lacks its tracepoint.
    pub fn leave_out(&mut self, program: &str) {
        for mut found in self.object.progs_mut().filter(|found| found.name() == program) {
            found.set_autoload(false);
        }
    }

    /// Makes the maps and lets the kernel verify the programs.
    pub fn load(self) -> Result<Loaded> {
        let object = self.object.load().map_err(|error| failed(self.name, "load", &error))?;
        Ok(Loaded { name: self.name, object })
    }
}

/// Programs and maps in the kernel. They exist as long as this value or another user in the kernel.
#[derive(Debug)]
pub struct Loaded {
    name: &'static str,
    object: Object,
}

impl Loaded {
    /// Attaches the object's only program to an interface of the calling thread's network namespace.
    pub fn attach(&self, interface: InterfaceIndex, mode: XdpMode) -> Result<XdpLink> {
        XdpLink::attach(self.program_fd()?.as_fd(), interface, mode)
    }

    /// Attaches every program that `is_wanted` and was not omitted to the target in its section name, for example a tracepoint.
    ///
    /// # Errors
    /// The kernel's reason; programs attached before are detached again.
    pub fn attach_traces(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Traces> {
        let attached = |program: libbpf_rs::ProgramMut<'_>| {
            let attempt = format!("attach {} of", program.name().to_string_lossy());
            program.attach().map_err(|error| failed(self.name, &attempt, &error))
        };
        let is_wanted = |name: &std::ffi::OsStr| name.to_str().is_some_and(&is_wanted);
        let programs =
            self.object.progs_mut().filter(|program| program.autoload() && is_wanted(program.name()));
        programs.map(attached).collect::<Result<_>>().map(|links| Traces { _links: links })
    }

    /// Attaches the object's only program to the ingress hook of an interface of the calling thread's network namespace, behind all
    /// other filters there. It stays until the interface or its hook is deleted (tc-bpf(8), direct action).
    ///
    /// # Errors
    /// A kernel without `clsact` or BPF classifier; missing privilege.
    pub fn attach_ingress(&self, interface: InterfaceIndex) -> Result<()> {
        /// The largest: filters run in ascending order.
        const LAST: u32 = 0xffff;
        listen();
        let program = self.program_fd()?;
        let mut hook = TcHook::new(program.as_fd());
        hook.ifindex(interface.number() as i32).attach_point(TC_INGRESS).priority(LAST).handle(1);
        let attached = hook.create().and_then(|mut hook| hook.attach());
        attached.map(drop).map_err(|error| failed(self.name, "attach", &error))
    }

    /// The runs so far of all programs of this name, or of all programs; 0 if the kernel does not report them.
    pub fn runs(&self, program: Option<&str>) -> Runs {
        let wanted = |found: &libbpf_rs::Program<'_>| {
            found.autoload() && program.is_none_or(|name| found.name() == name)
        };
        self.object.progs().filter(wanted).filter_map(|found| Runs::of(found.as_fd())).sum()
    }

    /// A descriptor of the object's only program.
    pub fn program_fd(&self) -> Result<OwnedFd> {
        let program = self.object.progs().next().ok_or_else(|| lacks(self.name, "a program"))?;
        duplicate(program.as_fd(), "a program")
    }

    /// The octets of the programs' zero-initialized global variables.
    pub fn variables(&self) -> Result<Vec<u8>> {
        let value = self.bss()?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(|error| failed(self.name, "read the variables of", &error))?;
        value.ok_or_else(|| lacks(self.name, "variables"))
    }

    /// Sets the programs' zero-initialized global variables.
    pub fn set_variables(&self, octets: &[u8]) -> Result<()> {
        let done = self.bss()?.update(&0_u32.to_ne_bytes(), octets, MapFlags::ANY);
        done.map_err(|error| failed(self.name, "set the variables of", &error))
    }

    fn bss(&self) -> Result<Map<'_>> {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        map.ok_or_else(|| lacks(self.name, "variables"))
    }

    /// Every key of a map with its values on each possible CPU.
    pub fn all_per_cpu(&self, map: &str) -> Result<Vec<PerCpu>> {
        let map = self.map(map)?;
        let with_values = |key: Vec<u8>| match map.lookup_percpu(&key, MapFlags::ANY) {
            Ok(values) => values.map(|values| Ok((key, values))),
            Err(error) => Some(Err(failed(self.name, "read a map of", &error))),
        };
        map.keys().filter_map(with_values).collect()
    }

    /// The map with this name.
    pub fn map(&self, name: &str) -> Result<Map<'_>> {
        self.object.maps().find(|map| map.name() == name).ok_or_else(|| lacks(self.name, name))
    }

    /// A map's descriptor, for mmap or for a call.
    pub fn map_fd(&self, name: &str) -> Result<OwnedFd> {
        duplicate(self.map(name)?.as_fd(), name)
    }

    /// Sets an entry of a map with 32-bit keys and values.
    pub fn update_number(&self, map: &str, key: u32, value: u32) -> Result<()> {
        let done = self.map(map)?.update(&key.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY);
        done.map_err(|error| failed(self.name, &format!("set {map}[{key}] of"), &error))
    }

    /// Puts a socket into a map of sockets. Its values are descriptors.
    pub fn update_socket(&self, map: &str, key: u32, socket: BorrowedFd<'_>) -> Result<()> {
        self.update_number(map, key, socket.as_raw_fd() as u32)
    }

    /// Runs the object's only program on a frame as if `interface` had just received it, and applies the program's verdict
    /// (`BPF_PROG_RUN` with `BPF_F_TEST_XDP_LIVE_FRAMES`, Linux 5.18).
    ///
    /// # Errors
    /// `EINVAL` before Linux 5.18, or if the interface or queue does not exist in the calling thread's namespace.
    pub fn run_live(&mut self, frame: &[u8], interface: InterfaceIndex, queue: u32) -> Result<()> {
        const LIVE_FRAMES: u32 = 1 << 1;
        let program = self.object.progs_mut().next().ok_or_else(|| lacks(self.name, "a program"))?;
        // `struct xdp_md`: data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex.
        let mut context = [0; 24];
        for (at, value) in [(4, frame.len() as u32), (12, interface.number()), (16, queue)] {
            context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let input = libbpf_rs::ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(frame),
            flags: LIVE_FRAMES,
            repeat: 1,
            ..libbpf_rs::ProgramInput::default()
        };
        program.test_run(input).map(drop).map_err(|error| failed(self.name, "run", &error))
    }

    /// Runs the object's only program, an iterator (`SEC("iter/...")`, Linux 5.8), over all objects and returns its output.
    ///
    /// # Errors
    /// The program is no iterator, or a privilege is missing.
    pub fn iterate(&self) -> Result<Vec<u8>> {
        let mut program = self.object.progs_mut();
        let program = program.next().ok_or_else(|| lacks(self.name, "a program"))?;
        let link = program.attach().map_err(|error| failed(self.name, "attach", &error))?;
        let mut iterator = libbpf_rs::Iter::new(&link).map_err(|error| failed(self.name, "start", &error))?;
        let mut written = Vec::new();
        let read = iterator.read_to_end(&mut written);
        named(read, || format!("read(iterator {})", self.name)).map(|_| written)
    }

    /// The values of a key on each possible CPU.
    pub fn per_cpu(&self, map: &str, key: u32) -> Result<Vec<Vec<u8>>> {
        let values = self.map(map)?.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY);
        let values = values.map_err(|error| failed(self.name, &format!("read {map}[{key}] of"), &error))?;
        values.ok_or_else(|| lacks(self.name, map))
    }
}

/// A key of a map and its values on each CPU.
pub type PerCpu = (Vec<u8>, Vec<Vec<u8>>);

/// Attached programs. Dropping this detaches them.
#[derive(Debug)]
pub struct Traces {
    _links: Vec<Link>,
}

/// Checks that the kernel accepts an object.
pub fn probe(name: &'static str, file: &'static [u8]) -> std::result::Result<(), String> {
    Opened::read(name, file).and_then(Opened::load).map(drop).map_err(|error| match error.errno() {
        Some(EPERM) => {
            format!("needs the capabilities {CAPABILITIES} over the host, outside a user namespace")
        }
        _ => error.to_string(),
    })
}

thread_local! {
    /// What libbpf has said in this thread since it was last asked.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes libbpf write its messages to a list, not to standard error.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_print(Some((PrintLevel::Warn, |_, text| SAID.with_borrow_mut(|said| said.push_str(&text)))));
    });
    SAID.with_borrow_mut(String::clear);
}

/// A descriptor that does not borrow from libbpf's view of the thing.
fn duplicate(fd: BorrowedFd<'_>, thing: &str) -> Result<OwnedFd> {
    named(fd.try_clone_to_owned(), || format!("duplicating the descriptor of {thing}"))
}

/// An object without the thing: it and the program do not fit together.
fn lacks(object: &str, thing: &str) -> SysError {
    SysError::argument(format!("BPF object {object}"), format!("it has no {thing}"))
}

/// libbpf's error with what it said about it.
#[cold]
fn failed(object: &str, attempt: &str, error: &libbpf_rs::Error) -> SysError {
    let what = format!("cannot {attempt} the BPF program {object}");
    let said = SAID.with_borrow_mut(std::mem::take);
    let text = format!("{error:#}");
    let errno = errno(&text);
    let source = errno.map_or_else(|| std::io::Error::other(text), std::io::Error::from_raw_os_error);
    let reason = summary(&said);
    // A missing privilege needs no more words; libbpf guesses at memory limits then.
    if reason.is_empty() || errno == Some(EPERM) {
        return SysError::Call { what, source };
    }
    SysError::Refused { what, reason, source }
}

/// Capabilities to load and attach a program, in the initial user namespace.
pub const CAPABILITIES: &str = "CAP_BPF and CAP_NET_ADMIN";

const EPERM: i32 = 1;

/// The number in libbpf-rs's text of an error of the kernel, which it gives in no other way.
fn errno(text: &str) -> Option<i32> {
    text.rsplit_once("(os error ")?.1.strip_suffix(')')?.parse().ok()
}

/// The last three lines that say something: the verifier's log ends with its reason.
fn summary(said: &str) -> String {
    let says_something = |line: &&str| {
        !line.is_empty()
            && !["-- BEGIN", "-- END", "processed ", "verification time", "stack depth"]
                .iter()
                .any(|framing| line.contains(framing))
    };
    let lines: Vec<_> =
        said.lines().map(|line| line.trim().trim_start_matches("libbpf: ")).filter(says_something).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::{errno, summary};

    #[test]
    fn the_number_of_an_error_is_found() {
        assert_eq!(errno("failed to load: Operation not permitted (os error 1)"), Some(1));
        assert_eq!(errno("no such thing"), None);
    }

    #[test]
    fn the_verifiers_reason_is_kept() {
        let said = "libbpf: prog 'count': BPF program load failed: -EACCES\nlibbpf: prog 'count': -- BEGIN PROG LOAD LOG --\n\
                    0: R1=ctx()\n; data = 1;\ninvalid access to packet\nprocessed 4 insns (limit 1000000)\n\
                    -- END PROG LOAD LOG --\nlibbpf: failed to load object 'count'\n";
        let text = summary(said);
        assert!(text.contains("invalid access to packet") && !text.contains("processed"), "{text}");
        assert_eq!(summary(""), "");
    }
}
