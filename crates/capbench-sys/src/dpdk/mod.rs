//! The part of DPDK 21.11 or later (doc.dpdk.org) that captures, through the C functions of shim.h. Only with the feature
//! `dpdk`.
//!
//! | file | what |
//! |---|---|
//! | [`eal`] | the library's start, once per process, and its messages |
//! | [`arguments`] | arguments of the library's start |
//! | [`device`] | which device, and plugging it in |
//! | [`port`] | a device that receives bursts of frames, and its counters |
//! | [`sockets`] | the sockets that drivers of virtual devices opened: counters and closing |
//! | `thread` | threads with their own buffer cache |
//! | `ffi`, shim.c | the C functions |

pub mod arguments;
pub mod device;
pub mod eal;
mod ffi;
pub mod port;
pub mod sockets;
mod thread;

pub use arguments::{DeviceKind, EalArguments};
pub use device::{Device, interface_argument};
pub use eal::Eal;
pub use port::{Burst, Port, Wanted};
pub use sockets::{DriverSockets, DriverXdpSocket};
