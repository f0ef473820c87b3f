//! A running agent as its controller sees it.
//!
//! | file | what |
//! |---|---|
//! | `connection` | starts an agent, calls it, and notices that it is gone |
//! | `interrupt` | tells running agents that the user wants to stop |
//! | `ends` | the end of a trial that an agent is |
//! | `clock` | compares an agent's clock with this process's |

mod clock;
mod connection;
mod ends;
mod interrupt;

pub use clock::Comparison;
pub use connection::Connection;
pub use ends::{RemoteReceiver, RemoteSender};
pub use interrupt::Interrupt;
