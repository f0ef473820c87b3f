//! The XDP program of an interface: the processes that hold it, and how many frames it takes before packet sockets see them.
//!
//! The kernel does not say who attached a program. A program that a process attached by a link, or keeps open, is a descriptor of
//! that process, and `/proc/PID/fdinfo` has the program's number (`bpf_link_show_fdinfo`, `bpf_prog_show_fdinfo` of
//! kernel/bpf/syscall.c). A program that nobody holds was attached by a tool that has ended, such as ip(8).

use std::fmt;
use std::fs;

use capbench_sys::bpf::{Attached, XdpAttachment, attached_to};
use capbench_sys::host::InterfaceIndex;

use crate::drivers::{NicSnapshot, taken_by_xdp};

/// Most holders that are named.
const MOST_NAMED: usize = 3;

/// A process that holds a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// Its name (`/proc/PID/comm`); its owner chooses it.
    pub name: String,
    /// Whether it holds a link, by which the program is attached as long as the link is open.
    pub by_link: bool,
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpProgram {
    /// Its number, its name, and the part that runs it.
    pub attached: Attached,
    /// The processes that hold it, as far as the privilege shows them.
    pub holders: Vec<Holder>,
}

impl XdpProgram {
    /// The program on an interface of the calling thread's network namespace. `known` is the one that an earlier reading found: with
    /// fewer privileges the kernel shows neither names nor other processes.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn on(interface: InterfaceIndex, known: Option<&Self>) -> capbench_sys::Result<Option<Self>> {
        let Some(attached) = attached_to(interface)? else { return Ok(None) };
        let same = known.filter(|known| {
            known.attached.program == attached.program && known.attached.mode == attached.mode
        });
        Ok(Some(match same {
            Some(known) => known.clone(),
            None => Self { holders: attached.program.map_or_else(Vec::new, holders_of), attached },
        }))
    }

    /// The process whose link attaches it.
    pub fn link_holder(&self) -> Option<&Holder> {
        self.holders.iter().find(|holder| holder.by_link)
    }

    /// The word of ip(8) that detaches a program of this mode; `None` where no single word does.
    pub fn detaching_word(&self) -> Option<&'static str> {
        match self.attached.mode {
            XdpAttachment::Driver => Some("xdpdrv"),
            XdpAttachment::Generic => Some("xdpgeneric"),
            XdpAttachment::Hardware => Some("xdpoffload"),
            XdpAttachment::Several | XdpAttachment::Detached => None,
        }
    }
}

impl fmt::Display for XdpProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.attached.mode {
            XdpAttachment::Detached => "nowhere",
            XdpAttachment::Driver => "in the driver",
            XdpAttachment::Generic => "generic",
            XdpAttachment::Hardware => "in the hardware",
            XdpAttachment::Several => "in several places",
        };
        write!(formatter, "{}, {by}", self.attached)?;
        for (at, holder) in self.holders.iter().take(MOST_NAMED).enumerate() {
            let before = if at == 0 { ", held by " } else { " and " };
            write!(formatter, "{before}{} {}", holder.name, holder.pid)?;
        }
        match self.holders.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}

/// The processes that have a descriptor of a program, or of a link with it.
fn holders_of(program: u32) -> Vec<Holder> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids.into_iter().filter_map(|pid| holder(pid, program)).collect()
}

/// The process, if it holds the program.
fn holder(pid: u32, program: u32) -> Option<Holder> {
    let (mut holds, mut by_link) = (false, false);
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    for descriptor in descriptors {
        let is_of_bpf = fs::read_link(descriptor.path())
            .is_ok_and(|target| target.to_str().is_some_and(|text| text.starts_with("anon_inode:bpf")));
        let Some(number) = descriptor.file_name().to_str().filter(|_| is_of_bpf).map(str::to_owned) else {
            continue;
        };
        let about = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
        if program_in(&about) == Some(program) {
            holds = true;
            by_link |= about.lines().any(|line| line.starts_with("link_type:"));
        }
    }
    holds.then(|| Holder { pid, name: name_of(pid), by_link })
}

/// The program that the text of a descriptor names.
fn program_in(about: &str) -> Option<u32> {
    let value = about.lines().find_map(|line| line.strip_prefix("prog_id:"))?;
    value.trim().parse().ok()
}

fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"));
    name.map_or_else(|_| "process".into(), |name| name.trim_end_matches('\n').into())
}

/// Counts the frames that XDP programs of an interface take from the packet sockets.
#[derive(Debug)]
pub struct XdpTakes {
    interface: String,
    index: InterfaceIndex,
    /// The driver's counters at the beginning; absent if the driver does not count these frames.
    before: Option<NicSnapshot>,
    /// The last program that was seen.
    program: Option<XdpProgram>,
    is_attached: bool,
    /// Whether a program was seen whose frames the driver does not count.
    is_uncounted: bool,
    taken: u64,
}

/// The driver's counters of frames that a program in it takes.
pub const COUNTED_BY_DRIVER: &str =
    "the driver's counters of frames that it dropped, redirected or sent back";

impl XdpTakes {
    /// Begins to count on an interface of the calling thread's network namespace.
    pub fn new(interface: &str, index: InterfaceIndex) -> Self {
        let before = NicSnapshot::take(interface).ok();
        let counts =
            |snapshot: &NicSnapshot| taken_by_xdp(snapshot.driver(), &snapshot.since(snapshot)).is_some();
        let mut takes = Self {
            interface: interface.into(),
            index,
            before: before.filter(counts),
            program: None,
            is_attached: false,
            is_uncounted: false,
            taken: 0,
        };
        takes.read();
        takes
    }

    /// Reads which program is attached, and the counters if there was one.
    pub fn read(&mut self) {
        // An interface that is gone has no program.
        let found = XdpProgram::on(self.index, self.program.as_ref()).ok().flatten();
        self.is_attached = found.is_some();
        if let Some(program) = found {
            self.is_uncounted |= self.before.is_none() || program.attached.mode != XdpAttachment::Driver;
            self.program = Some(program);
        }
        if let Some(before) = self.before.as_ref().filter(|_| self.program.is_some())
            && let Ok(now) = NicSnapshot::take(&self.interface)
            && let Some(taken) = taken_by_xdp(now.driver(), &now.since(before))
        {
            self.taken = self.taken.max(taken);
        }
    }

    /// The last program that was seen; `None` if none was.
    pub fn program(&self) -> Option<&XdpProgram> {
        self.program.as_ref()
    }

    /// Whether a program was attached at the last reading.
    pub fn is_attached(&self) -> bool {
        self.is_attached
    }

    /// Frames that the driver counted as taken since the beginning.
    pub fn counted(&self) -> u64 {
        self.taken
    }

    /// Frames that programs have taken since the beginning; `None` if no counter shows all of them.
    pub fn taken(&self) -> Option<u64> {
        (!self.is_uncounted).then_some(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface::index_of;

    use super::*;

    fn program(mode: XdpAttachment, holders: usize) -> XdpProgram {
        let attached = Attached { mode, program: Some(7), name: Some("filter".into()) };
        let holder = |pid| Holder { pid, name: "xdpd".into(), by_link: true };
        XdpProgram { attached, holders: (1..=holders as u32).map(holder).collect() }
    }

    #[test]
    fn a_program_is_named_with_its_mode_and_its_holders() {
        let text = |mode, holders| program(mode, holders).to_string();
        assert_eq!(text(XdpAttachment::Generic, 0), "program 7, filter, generic");
        assert_eq!(
            text(XdpAttachment::Driver, 2),
            "program 7, filter, in the driver, held by xdpd 1 and xdpd 2"
        );
        assert!(text(XdpAttachment::Driver, 5).ends_with("xdpd 3 and 2 more"));
        assert_eq!(program(XdpAttachment::Generic, 0).detaching_word(), Some("xdpgeneric"));
    }

    #[test]
    fn the_number_of_a_program_is_a_line_of_its_descriptor() {
        let link = "pos:\t0\nflags:\t02000000\nlink_type:\txdp\nlink_id:\t3\nprog_tag:\tab\nprog_id:\t102\nifindex:\t9\n";
        assert_eq!(program_in(link), Some(102));
        assert_eq!((program_in("prog_id:\tx\n"), program_in("")), (None, None));
    }

    #[test]
    fn without_a_program_nothing_is_taken() {
        let mut takes = XdpTakes::new("lo", index_of("lo").unwrap());
        takes.read();
        assert_eq!((takes.program(), takes.is_attached(), takes.taken()), (None, false, Some(0)));
    }
}
