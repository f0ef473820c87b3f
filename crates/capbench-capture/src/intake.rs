//! The entrance of a capture: what did not get in, and shutting it.

use capbench_sys::packet::{FilterInstruction, PacketSocket};

use crate::context::Context;
use crate::counters::Counters;
use crate::error::Result;
use crate::socket_counters::Accumulator;

/// The program that keeps no frame: it returns 0 (`BPF_RET | BPF_K`).
pub(crate) const NOTHING: FilterInstruction = FilterInstruction { code: 0x06, jt: 0, jf: 0, k: 0 };

/// The packet socket of a capture, by a descriptor of its own, so that it can be asked while the capture's frames are
/// borrowed.
#[derive(Debug)]
pub struct Intake {
    socket: PacketSocket,
    /// Absent where somebody else reads the socket's counters, which resets them.
    statistics: Option<Accumulator>,
    context: Context,
}

impl Intake {
    pub(crate) fn of(socket: &PacketSocket, statistics: &Accumulator, context: &Context) -> Result<Self> {
        let socket = socket.duplicate().map_err(|error| context.fail(error))?;
        Ok(Self { socket, statistics: Some(statistics.clone()), context: context.clone() })
    }

    /// The same of a socket whose counters a library reads.
    pub(crate) fn without_counters(socket: PacketSocket, context: &Context) -> Self {
        Self { socket, statistics: None, context: context.clone() }
    }

    /// What the socket counted since the capture was opened; it takes the kernel's marks off frames that come later
    /// ([`crate::LossMark`]), as reading the capture's counters does. `None` where only the capture may read them.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    pub fn counters(&self) -> Result<Option<Counters>> {
        let Some(statistics) = &self.statistics else { return Ok(None) };
        statistics.read(&self.socket).map(Some).map_err(|error| self.context.fail(error))
    }

    /// Lets no more frames in: those that are there can be taken out, and counters stand still.
    ///
    /// # Errors
    /// When the kernel refuses the filter that does it.
    pub fn close(&self) -> Result<()> {
        self.socket.attach_filter(&[NOTHING]).map_err(|error| self.context.fail(error))
    }
}
