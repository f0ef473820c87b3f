//! How a generator ran.

use serde::{Deserialize, Serialize};

/// How a generator ran, as found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GeneratorFacts {
    /// A transmit method of capbench.
    Method {
        /// Most frames of a call.
        batch: u32,
        /// Send buffer that the kernel granted, in octets of its accounting (it doubles the requested size, socket(7)).
        send_buffer_bytes: u32,
        /// Slots of the transmit ring; absent without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ring_slots: Option<u32>,
        /// Most frames on their way to the receiver; absent without a limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_flight: Option<u32>,
        /// Whether frames bypass the queueing discipline.
        qdisc_bypass: bool,
    },
    /// A generator that the Open Traffic Generator API drives.
    Otg {
        /// Its version; absent if it states none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
        /// The version of its API; absent if it states none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        api: Option<String>,
    },
}
