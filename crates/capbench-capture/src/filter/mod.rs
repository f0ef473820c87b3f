//! Which frames are wanted: tcpdump's expressions, the classic BPF programs compiled from them, and how these run
//! (pcap-filter(7), Documentation/networking/filter.rst, `linux/filter.h`).
//!
//! | file | what |
//! |---|---|
//! | [`text`] | the user's filter: an expression, a program, or a file with either |
//! | [`compile`] | compiles an expression to a program, by libpcap on a live handle |
//! | [`place`] | the place of an error in an expression |
//! | [`listing`] | prints a program as tcpdump does |
//! | `attached` | the program for a socket: filter, snap length and direction in one |
//! | [`interpreter`] | runs a program on the frames of methods without a filter |
//! | [`metadata`] | a method's metadata of frames |
//!
//! From an expression to frames in three steps:
//!
//! ```no_run
//! use capbench_capture::filter::{FilterText, Optimise};
//! use capbench_capture::Interface;
//! use capbench_model::options::CaptureOptions;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (interface, mut options) = (Interface::of_name("eth0", 1500)?, CaptureOptions::default());
//! let text = FilterText::of_expression("vlan 100 and udp port 53")?;
//! options.filter = Some(text.compile(&interface, options.snap_length, Optimise::Yes)?);
//! # Ok(())
//! # }
//! ```

mod attached;
pub mod compile;
pub mod interpreter;
pub mod listing;
pub mod metadata;
pub mod place;
pub mod text;

pub use capbench_model::filter::{Expression, Filter};

pub(crate) use attached::{Keep, program};
pub use compile::{Compiler, Optimise};
pub use interpreter::SoftwareFilter;
pub use listing::Listing;
pub use metadata::{FrameMetadata, Tags};
pub use text::{FilterText, fanout_program_of_file};
