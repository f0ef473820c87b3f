//! The part of DPDK 21.11 or later (doc.dpdk.org) that captures and sends, through the C functions of shim.h. Only names of
//! devices are known without the feature `dpdk`.
//!
//! | file | what |
//! |---|---|
//! | `eal` | the library's start, once per process, and its messages |
//! | `arguments` | arguments of the library's start |
//! | [`name`] | names of devices |
//! | `device` | which device, and plugging it in |
//! | `port` | a device, its counters, and receiving bursts of frames |
//! | `transmit` | its transmit queues |
//! | `sockets` | the sockets that drivers of virtual devices opened: counters and closing |
//! | `thread` | threads with their own buffer cache |
//! | `ffi`, shim.c | the C functions |

#[cfg(feature = "dpdk")]
pub mod arguments;
#[cfg(feature = "dpdk")]
pub mod device;
#[cfg(feature = "dpdk")]
pub mod eal;
#[cfg(feature = "dpdk")]
mod ffi;
pub mod name;
#[cfg(feature = "dpdk")]
pub mod port;
#[cfg(feature = "dpdk")]
pub mod sockets;
#[cfg(feature = "dpdk")]
mod thread;
#[cfg(feature = "dpdk")]
pub mod transmit;

#[cfg(feature = "dpdk")]
pub use device::Device;
#[cfg(feature = "dpdk")]
pub use eal::Eal;
pub use name::DeviceName;
#[cfg(feature = "dpdk")]
pub use port::{Burst, OpenPort, Port, Wanted};
#[cfg(feature = "dpdk")]
pub use sockets::{DriverSockets, DriverXdpSocket};
#[cfg(feature = "dpdk")]
pub use transmit::TransmitQueue;
