//! Filters with libpcap: compiles expressions to classic BPF, sets programs on a capture, and prints programs
//! (pcap_compile(3PCAP), pcap_setfilter(3PCAP), pcap-filter(7)).

use std::ffi::{CString, c_int};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::functions::{ERROR_TEXT, NETMASK_UNKNOWN, RawProgram};
use super::handle::Pcap;
use super::library::{PcapLibrary, text};
use crate::error::{Result, SysError};
use crate::library_call::{broken, c_string};
use crate::packet::{Filter, FilterInstruction};
use crate::socket_option;

/// The link-layer header of a capture's packets (`DLT_*` of `pcap/dlt.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub i32);

impl LinkType {
    /// `DLT_EN10MB`: an Ethernet header.
    pub const ETHERNET: Self = Self(1);
    /// `DLT_RAW` as on Linux: an IP header.
    pub const RAW: Self = Self(12);

    /// Whether libpcap adds its own header to packets (`DLT_LINUX_SLL`, `DLT_LINUX_SLL2`), which packets of a packet socket
    /// lack.
    pub fn is_cooked(self) -> bool {
        matches!(self.0, 113 | 276)
    }
}

/// Before libpcap 1.8 pcap_compile kept its state in globals, and bpf_image still returns a static text.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function that this build of the library lacks.
fn lacks(library: &PcapLibrary, function: &str) -> SysError {
    broken(library.name(), function, "this library has no such function")
}

fn raw(instruction: &FilterInstruction) -> libc::sock_filter {
    let FilterInstruction { code, jt, jf, k } = *instruction;
    libc::sock_filter { code, jt, jf, k }
}

impl PcapLibrary {
    /// The IPv4 netmask of an interface of the calling thread's namespace, its first octet in the highest bits. `None` if the
    /// interface has no address or the library does not report it.
    pub fn netmask(&self, interface: &str) -> Option<u32> {
        let lookup = self.functions.pcap_lookupnet?;
        let name = CString::new(interface).ok()?;
        let (mut network, mut mask, mut message) = (0, 0, [0; ERROR_TEXT]);
        // SAFETY: the name ends with a zero octet, both numbers are live and writable, and libpcap writes at most
        // PCAP_ERRBUF_SIZE octets of text.
        let code = unsafe { lookup(name.as_ptr(), &raw mut network, &raw mut mask, message.as_mut_ptr()) };
        // For an interface without an address it succeeds, and the mask is 0. It comes in network byte order.
        (code == 0 && mask != 0).then_some(u32::from_be(mask))
    }

    /// The text of an instruction at this line of a program (bpf_image).
    pub fn image(&self, instruction: &FilterInstruction, line: u16) -> Result<String> {
        let image = self.functions.bpf_image.ok_or_else(|| lacks(self, "bpf_image"))?;
        let _alone = alone();
        let instruction = raw(instruction);
        // SAFETY: the instruction is live and only read; the text is copied while nobody else calls the function.
        let image = text(unsafe { image(&raw const instruction, c_int::from(line)) });
        image.ok_or_else(|| broken(self.name(), "bpf_image", "it gave no text"))
    }
}

impl Pcap {
    /// Compiles an expression for this capture: for its link-layer header, and for VLAN tags that this kernel reports as
    /// metadata. libpcap's message about the expression is the inner error. Host names are resolved.
    ///
    /// Without a netmask libpcap refuses `ip broadcast`, the only expression that needs one. It compares the mask with loaded
    /// words in host byte order (libpcap#1454). tcpdump passes the result of pcap_lookupnet, so on little-endian hosts its `ip
    /// broadcast` matches other frames.
    ///
    /// # Errors
    /// The expression has a zero octet, or the library cannot compile it.
    pub fn compile(
        &mut self,
        expression: &str,
        optimise: bool,
        netmask: Option<u32>,
    ) -> Result<std::result::Result<Vec<FilterInstruction>, String>> {
        let functions = &self.library.functions;
        let (Some(compile), Some(free)) = (functions.pcap_compile, functions.pcap_freecode) else {
            return Err(lacks(&self.library, "pcap_compile"));
        };
        let expression = c_string("pcap_compile", expression)?;
        let mut program = RawProgram { length: 0, instructions: ptr::null_mut() };
        let _alone = alone();
        // SAFETY: the handle is open and active, the program is live and writable, the expression ends with a zero octet
        // and is only read.
        let code = unsafe {
            compile(
                self.handle.as_ptr(),
                &raw mut program,
                expression.as_ptr(),
                c_int::from(optimise),
                netmask.unwrap_or(NETMASK_UNKNOWN),
            )
        };
        let outcome = if code < 0 {
            Err(self.error_text().unwrap_or_else(|| "libpcap returned no reason".into()))
        } else if program.instructions.is_null() {
            Err("libpcap returned no program".into())
        } else {
            // SAFETY: pcap_compile succeeded: there are that many instructions until pcap_freecode.
            let compiled =
                unsafe { std::slice::from_raw_parts(program.instructions, program.length as usize) };
            let instruction =
                |&libc::sock_filter { code, jt, jf, k }: &_| FilterInstruction { code, jt, jf, k };
            Ok(compiled.iter().map(instruction).collect())
        };
        // SAFETY: the program is pcap_compile's, or as empty as it was made; it is used no more.
        unsafe { free(&raw mut program) };
        self.look_at_text();
        Ok(outcome)
    }

    /// Sets a program: packets for which it returns 0 are not delivered. If the kernel accepts it, the kernel runs it, otherwise
    /// libpcap: see [`Pcap::kernel_filter`].
    pub fn set_filter(&mut self, filter: &Filter) -> Result<()> {
        let set = self.library.functions.pcap_setfilter;
        let set = set.ok_or_else(|| lacks(&self.library, "pcap_setfilter"))?;
        let length = u32::try_from(filter.len())
            .map_err(|_| SysError::argument("pcap_setfilter", "the program is too long"))?;
        let mut instructions: Vec<_> = filter.iter().map(raw).collect();
        let mut program = RawProgram { length, instructions: instructions.as_mut_ptr() };
        // SAFETY: the handle is open and active; the program is live, and libpcap copies it (pcap_setfilter(3PCAP)).
        let code = unsafe { set(self.handle.as_ptr(), &raw mut program) };
        self.check(code, "pcap_setfilter")?;
        self.look_at_text();
        Ok(())
    }

    /// Number of filter instructions that the kernel runs for this capture's socket: 0 if it runs none; `None` if there is no
    /// socket or the kernel does not report it.
    pub fn kernel_filter(&self) -> Option<usize> {
        let fd: RawFd = self.descriptor()?;
        socket_option::filter_length(&fd).ok()
    }

    /// The link-layer header of its packets.
    pub fn link_type(&self) -> Result<LinkType> {
        let Some(link_type) = self.library.functions.pcap_datalink else {
            return Err(lacks(&self.library, "pcap_datalink"));
        };
        // SAFETY: the handle is open and active.
        let number = unsafe { link_type(self.handle.as_ptr()) };
        self.check(number, "pcap_datalink").map(|()| LinkType(number))
    }
}

#[cfg(test)]
mod tests {
    use super::{FilterInstruction, PcapLibrary};

    #[test]
    fn instructions_have_words() {
        let Ok(library) = PcapLibrary::of_system() else {
            return capbench_testing::missing("libpcap (package libpcap0.8)");
        };
        let load = FilterInstruction { code: 0x28, jt: 0, jf: 0, k: 12 };
        let words = library.image(&load, 7).unwrap();
        assert!(words.starts_with("(007) ldh") && words.ends_with("[12]"), "{words}");
    }
}
