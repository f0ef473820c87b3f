//! DPDK 21.11 or later, as far as capturing goes (doc.dpdk.org), through the C functions of shim.h. Only with the
//! feature `dpdk`.
//!
//! | file | what |
//! |---|---|
//! | [`eal`] | the library's start, once per process, and what it says |
//! | [`arguments`] | what the library is started with |
//! | [`device`] | which device, and plugging it in |
//! | [`port`] | a device that receives, and its counters |
//! | `burst` | frames received at once |
//! | [`sockets`] | the sockets that the drivers of virtual devices opened: their counters and their end |
//! | `thread` | threads that may keep buffers in a cache of their own |
//! | `ffi`, shim.c | the C functions |

pub mod arguments;
mod burst;
pub mod device;
pub mod eal;
mod ffi;
pub mod port;
pub mod sockets;
mod thread;

pub use arguments::{DeviceKind, EalArguments};
pub use burst::Burst;
pub use device::{Device, interface_argument};
pub use eal::Eal;
pub use port::{Port, Wanted};
pub use sockets::{DriverSockets, DriverXdpSocket};
