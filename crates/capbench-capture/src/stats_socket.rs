//! The packet socket of a capture by a second descriptor: its counters, and the end of its input.

use capbench_sys::packet::{FilterInstruction, PacketSocket};

use crate::context::Context;
use crate::counters::Counters;
use crate::error::Result;
use crate::socket_counters::Accumulator;

/// The program that keeps no frame: it returns 0 (`BPF_RET | BPF_K`).
pub(crate) const NOTHING: FilterInstruction = FilterInstruction { code: 0x06, jt: 0, jf: 0, k: 0 };

/// The packet socket of a capture by a second descriptor. It can be read while the capture's frames are borrowed.
#[derive(Debug)]
pub struct StatsSocket {
    socket: PacketSocket,
    /// Absent where somebody else reads the socket's counters, which resets them.
    statistics: Option<Accumulator>,
    context: Context,
}

impl StatsSocket {
    pub(crate) fn of(socket: &PacketSocket, statistics: &Accumulator, context: &Context) -> Result<Self> {
        let socket = socket.duplicate().map_err(|error| context.fail(error))?;
        Ok(Self { socket, statistics: Some(statistics.clone()), context: context.clone() })
    }

    /// The same of a socket whose counters a library reads.
    pub(crate) fn without_counters(socket: PacketSocket, context: &Context) -> Self {
        Self { socket, statistics: None, context: context.clone() }
    }

    /// The socket's counters since the capture was opened. The reading removes the kernel's loss marks from later frames
    /// ([`crate::LossMark`]), as reading the capture's counters does. `None` where only the capture may read them.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    pub fn counters(&self) -> Result<Option<Counters>> {
        let Some(statistics) = &self.statistics else { return Ok(None) };
        statistics.read(&self.socket).map(Some).map_err(|error| self.context.fail(error))
    }

    /// Lets no more frames in. The frames in the ring can still be read; the counters stop.
    ///
    /// # Errors
    /// When the kernel refuses the filter that does it.
    pub fn close(&self) -> Result<()> {
        self.socket.attach_filter(&[NOTHING]).map_err(|error| self.context.fail(error))
    }
}
