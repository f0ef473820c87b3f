//! A running agent as its controller sees it.
//!
//! | file | what |
//! |---|---|
//! | `connection` | calls an agent, notices that it is gone, and starts it again |
//! | `channel` | the messages of the process that is the connection |
//! | `interrupt` | tells running agents that the user wants to stop |
//! | `ends` | the end of a trial that an agent is |
//! | `clock` | compares an agent's clock with this process's |

mod channel;
mod clock;
mod connection;
mod ends;
mod interrupt;

pub use clock::Comparison;
pub use connection::{Connection, Start};
pub use ends::{RemoteReceiver, RemoteSender};
pub use interrupt::Interrupt;
