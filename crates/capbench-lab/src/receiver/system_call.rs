//! The least time of a system call that receives: a lower bound of what a method takes that makes one for each batch, also where no
//! clock separates the application's time from the kernel's.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::Instant;

/// Time of a recv(2) that finds no message, in nanoseconds: the fastest of several rounds on the calling thread's CPU. A call that
/// copies a frame does the same and more. `None` if the host has no such socket.
pub fn least_call_ns() -> Option<f64> {
    const ROUNDS: usize = 20;
    const CALLS: u32 = 32;
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    let mut room = [0; 64];
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            if socket.recv(&mut room).is_ok_and(|octets| octets > 0) {
                return None;
            }
        }
        fastest = fastest.min(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    // An unconnected socket is not asked for messages if the host answers with another error.
    let has_none = socket.recv(&mut room).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    has_none.then_some(fastest)
}

#[cfg(test)]
mod tests {
    use super::least_call_ns;

    #[test]
    fn a_system_call_takes_time() {
        assert!(least_call_ns().is_some_and(|ns| ns > 1.0 && ns < 1e6));
    }
}
