//! libpcap, opened at run time: the system's or another build (pcap(3PCAP) and the manual pages of its functions).
//!
//! | file | what |
//! |---|---|
//! | `functions` | the functions of the public interface, with their signatures |
//! | [`library`] | an open libpcap: its version, its file, its extensions |
//! | [`handle`] | an open capture: opened in libpcap's order, closed once |
//! | `read` | the four ways to read its packets |
//! | `ticker` | interrupts pcap_loop when no packet arrives |
//! | [`filter`] | compiles expressions, sets and prints programs |
//! | [`engine`] | the engine below, determined from the descriptors of this process |
//! | `ring` | the ring of a packet socket that the library made |

pub mod engine;
pub mod filter;
mod functions;
pub mod handle;
pub mod library;
mod read;
mod ticker;

pub use engine::{Engine, Ring};
pub use filter::LinkType;
pub use handle::{Direction, Pcap, Settings, Statistics};
pub use library::PcapLibrary;
