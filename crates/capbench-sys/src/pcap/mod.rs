//! libpcap, opened at run time: the system's or any other build (pcap(3PCAP) and the manual pages of its functions).
//!
//! | file | what |
//! |---|---|
//! | `functions` | the functions of the public interface, by their signatures |
//! | [`library`] | an open libpcap: its version, where it was found, what it has beyond libpcap's own interface |
//! | [`handle`] | an open capture: made in libpcap's order, closed once |
//! | `read` | the four ways to take packets from it |
//! | `ticker` | brings pcap_loop back although no packet comes |
//! | [`filter`] | expressions compiled, programs set and shown |
//! | [`engine`] | what captures underneath, told by the descriptors of this process |
//! | `ring` | the ring of a packet socket that somebody else has made |

pub mod engine;
pub mod filter;
mod functions;
pub mod handle;
pub mod library;
mod read;
mod ring;
mod ticker;

pub use engine::{Engine, Ring};
pub use filter::LinkType;
pub use handle::{Direction, Pcap, Settings, Statistics};
pub use library::PcapLibrary;
