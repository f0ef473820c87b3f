//! Ends the frames of a virtual pair behind the capture point.
//!
//! The stack would drop every captured frame as OTHERHOST, and the tracer of drops would run for each: 5 % of the kernel's receive
//! work for small frames. A frame that tc steals at ingress is no drop. Packet sockets of all protocols have read it before.
//! Filters of others at this hook run first.

use capbench_sys::bpf::object::{Loaded, Opened, object_file};

use super::Side;
use crate::Result;

/// A program at the ingress hook of an interface. It goes with the interface.
#[derive(Debug)]
pub struct Sink(Loaded);

impl Sink {
    /// Places it on an interface that was made for trials. It lets all frames pass until it is activated.
    ///
    /// # Errors
    /// The process lacks CAP_BPF on the host, or the kernel has no clsact or no BPF classifier (CONFIG_NET_CLS_BPF).
    pub(super) fn place(side: &Side) -> Result<Self> {
        let loaded = Opened::read("sink", object_file!("sink"))?.load()?;
        side.run(|| loaded.attach_ingress(side.index()))??;
        Ok(Self(loaded))
    }

    /// Ends frames from now on, or lets them pass: a program or a socket of one protocol captures behind this hook.
    ///
    /// # Errors
    /// The kernel refuses the change.
    pub fn set_active(&self, is_active: bool) -> Result<()> {
        Ok(self.0.set_variables(&u32::from(is_active).to_ne_bytes())?)
    }

    /// The frames that it has ended.
    ///
    /// # Errors
    /// The kernel refuses to report them.
    pub fn ended(&self) -> Result<u64> {
        let count = |value: &Vec<u8>| value.first_chunk().map_or(0, |count| u64::from_ne_bytes(*count));
        Ok(self.0.per_cpu("ended", 0)?.iter().map(count).sum())
    }
}
