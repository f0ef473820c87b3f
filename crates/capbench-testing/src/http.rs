//! Requests to an HTTP server, without a client's library.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection that waits up to a minute for each answer.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// What a server answers to the head of a request.
///
/// # Errors
/// The connection fails.
pub fn ask(mut stream: impl Read + Write, head: &str) -> Result<String> {
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    match stream.read_to_string(&mut answer) {
        // The server may close a connection without TLS's farewell.
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(answer),
    }
}

/// The status and the body of the answer to a request with a body.
///
/// # Panics
/// The connection fails, or the answer is no HTTP.
pub fn exchange(mut stream: impl Read + Write, method: &str, path: &str, body: &str) -> (u16, Vec<u8>) {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}",
        body.len()
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("the end of the headers");
    let status = String::from_utf8_lossy(&answer[9..12]).parse().expect("a status");
    (status, answer[end + 4..].to_vec())
}
