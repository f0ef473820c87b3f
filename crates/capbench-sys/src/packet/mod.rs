//! AF_PACKET sockets and the rings that they share with the kernel (packet(7), `linux/if_packet.h`,
//! Documentation/networking/packet_mmap.rst).
//!
//! | file | what |
//! |---|---|
//! | [`socket`] | the socket and its typed options |
//! | [`fanout`] | groups of sockets that share the frames of an interface |
//! | [`geometry`] | sizes of rings, checked before the kernel sees them |
//! | `run` | number of ready slots or blocks |
//! | `status` | the two functions that transfer ownership of that memory |
//! | [`frame_ring`] | TPACKET_V1 and V2: one slot, one frame |
//! | [`block_ring`] | TPACKET_V3: blocks full of frames, as owned tokens |
//! | [`diag`] | the ring of any socket, as the kernel describes it |
//! | [`left_over`] | what is unread in a socket of another process |
//! | [`receive_vector`] | buffers for `recvmsg` and `recvmmsg` |
//! | [`send_vector`] | buffers for `send` and `sendmmsg` |
//! | [`transmit_ring`] | TPACKET_V2 transmit rings |
//! | [`stand_in`] | simulates the kernel on heap memory, for tests and microbenchmarks |

pub mod block_ring;
pub mod diag;
pub mod fanout;
pub mod frame;
pub mod frame_ring;
pub mod geometry;
pub mod left_over;
pub mod receive_vector;
mod run;
pub mod send_vector;
pub mod socket;
pub mod stand_in;
mod status;
pub mod transmit_ring;

pub use crate::socket_option::{Filter, FilterInstruction, attach_filter};
pub use block_ring::{Block, BlockRing};
pub use fanout::{FanoutMode, FanoutProgram, FanoutRule};
pub use frame::{Frame, PacketType, VlanTag};
pub use frame_ring::{FrameBatch, FrameRing};
pub use geometry::{BlockGeometry, FrameGeometry, FrameVersion};
pub use receive_vector::ReceiveVector;
pub use send_vector::{PacketDestination, SendVector, Sent};
pub use socket::{FlowHashes, PacketSocket, PacketStatistics, Protocol, Readiness, ReceiveMemory, Version};
pub use transmit_ring::{Kick, Prefix, TransmitRing};
