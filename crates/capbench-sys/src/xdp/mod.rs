//! AF_XDP sockets, their UMEM and their rings (Documentation/networking/af_xdp.rst, `linux/if_xdp.h`).
//!
//! | file | what |
//! |---|---|
//! | [`socket`] | the socket and its typed options |
//! | [`umem`] | the memory of frames, and the owner of each of its chunks |
//! | `index` | the two functions that transfer ring entries |
//! | `ring` | one ring, from the producer's or the consumer's side |
//! | [`frame_queue`] | fill and receive ring of one queue: batches and owned frames |
//! | [`receive`] | all queues of an interface as one source |
//! | [`transmit_queue`] | transmit and completion ring of one queue |
//! | [`transmit`] | a socket that sends |
//! | [`stand_in`] | simulates the kernel on heap memory, for tests and microbenchmarks |

pub mod frame_queue;
mod index;
pub mod receive;
mod ring;
pub mod socket;
pub mod stand_in;
#[cfg(test)]
mod tests;
pub mod transmit;
pub mod transmit_queue;
pub mod umem;

pub use frame_queue::{FrameBatch, FrameQueue, OwnedFrame};
pub use receive::{Receiver, ReceiverConfig};
pub use socket::{BindOptions, CopyMode, XdpSocket, XdpStatistics};
pub use transmit::{Transmitter, TransmitterConfig, Wake};
pub use transmit_queue::TransmitQueue;
pub use umem::UmemGeometry;
