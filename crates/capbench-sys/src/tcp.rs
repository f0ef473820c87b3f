//! What the kernel knows of a TCP connection.

use std::os::fd::AsRawFd;

use crate::error::{Result, SysError};
use crate::socket_option::TCP_INFO;

/// How many octets the other end has acknowledged since the connection was made. Only differences are exact: the end that connected
/// counts one more.
pub fn acknowledged_octets(socket: &impl AsRawFd) -> Result<u64> {
    // The beginning of `struct tcp_info` of `linux/tcp.h`, up to `tcpi_bytes_acked`: that of the libc crate ends before.
    let (info, length) = TCP_INFO.get_with_length::<[u64; 16]>(socket)?;
    if length < size_of_val(&info) {
        return Err(SysError::argument(TCP_INFO.name, format!("{length} octets, without tcpi_bytes_acked")));
    }
    Ok(info[15])
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn what_the_other_end_acknowledges_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let before = acknowledged_octets(&server).unwrap();
        server.write_all(&[0; 1000]).unwrap();
        client.read_exact(&mut [0; 1000]).unwrap();
        // The answer acknowledges them, if nothing has before.
        client.write_all(&[0]).unwrap();
        server.read_exact(&mut [0]).unwrap();
        assert_eq!(acknowledged_octets(&server).unwrap() - before, 1000);
        let refused = acknowledged_octets(&UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap_err();
        assert!(refused.to_string().starts_with("getsockopt(TCP_INFO)"), "{refused}");
    }
}
