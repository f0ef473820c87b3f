//! DPDK 21.11 or later, as far as capturing goes (doc.dpdk.org), through the C functions of shim.h. Only with the
//! feature `dpdk`.
//!
//! | file | what |
//! |---|---|
//! | [`eal`] | the library's start, once per process, and what it says |
//! | [`device`] | which device, and plugging it in |
//! | [`port`] | a device that receives, its bursts of frames and its counters |
//! | [`sockets`] | the sockets that the drivers of virtual devices opened: their counters and their end |
//! | `thread` | threads that may keep buffers in a cache of their own |
//! | `ffi`, shim.c | the C functions |

pub mod device;
pub mod eal;
mod ffi;
pub mod port;
pub mod sockets;
mod thread;

pub use device::Device;
pub use eal::{DeviceKind, Eal, EalArguments};
pub use port::{Burst, Port, Wanted, interface_argument};
pub use sockets::{DriverSockets, XdpSocket, XdpStatistics};
