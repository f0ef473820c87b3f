//! Filters against programs that were not written here: the kernel's filter, and tcpdump.

mod expressions;
mod frames;
mod kernel;
use capbench_testing::network;
mod on_interfaces;
mod programs;
mod refusals;
#[path = "../wire/mod.rs"]
mod wire;

use capbench_capture::Interface;
use network::Place;

/// The interface of a place, for work inside of it.
fn interface_of(place: &Place) -> Interface {
    Interface::of_name(place.interface, 1500).unwrap()
}
