//! A second descriptor of a capture's packet socket: reads its counters and stops its input.

use capbench_sys::packet::{FilterInstruction, PacketSocket};

use crate::{Accumulator, Context, Result};
use capbench_model::counters::Counters;

/// The program that drops every frame: it returns 0 (`BPF_RET | BPF_K`).
pub(crate) const NOTHING: FilterInstruction = FilterInstruction { code: 0x06, jt: 0, jf: 0, k: 0 };

/// A second descriptor of a capture's packet socket. It can be read while the capture's frames are borrowed.
#[derive(Debug)]
pub struct StatsSocket {
    socket: PacketSocket,
    /// `None` if another reader reads the socket's counters: reading resets them.
    statistics: Option<Accumulator>,
    context: Context,
}

impl StatsSocket {
    pub(crate) fn of(socket: &PacketSocket, statistics: &Accumulator, context: &Context) -> Result<Self> {
        let socket = socket.duplicate().map_err(|error| context.fail(error))?;
        Ok(Self { socket, statistics: Some(statistics.clone()), context: context.clone() })
    }

    /// The same for a socket whose counters a library reads.
    pub(crate) fn without_counters(socket: PacketSocket, context: &Context) -> Self {
        Self { socket, statistics: None, context: context.clone() }
    }

    /// The socket's counters since the capture was opened. Reading removes the kernel's loss marks from later frames
    /// ([`capbench_model::counters::LossMark`]), as reading the capture's counters does. `None` if only the capture may read them.
    ///
    /// # Errors
    /// When the kernel refuses to report them.
    pub fn counters(&self) -> Result<Option<Counters>> {
        let Some(statistics) = &self.statistics else { return Ok(None) };
        statistics.read(&self.socket).map(Some).map_err(|error| self.context.fail(error))
    }

    /// Stops new frames. The frames in the ring can still be read; the counters stop.
    ///
    /// # Errors
    /// When the kernel refuses the filter that drops all frames.
    pub fn close(&self) -> Result<()> {
        self.socket.attach_filter(&[NOTHING]).map_err(|error| self.context.fail(error))
    }
}
