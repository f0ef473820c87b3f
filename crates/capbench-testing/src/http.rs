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

/// An answer of a server.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The octets behind the headers.
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads an answer.
    ///
    /// # Panics
    /// The octets are no HTTP.
    pub fn read(octets: &[u8]) -> Self {
        let end = octets.windows(4).position(|four| four == b"\r\n\r\n").expect("the end of the headers");
        let head = String::from_utf8(octets[..end].to_vec()).expect("headers are text");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let mut answer = Self { status, head, body: octets[end + 4..].to_vec() };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = joined(&answer.body);
        }
        answer
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The content of chunks (RFC 9112, section 7.1).
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    loop {
        let end = chunks.windows(2).position(|two| two == b"\r\n").expect("the length of a chunk");
        let length = std::str::from_utf8(&chunks[..end]).expect("a length is text");
        let length = usize::from_str_radix(length, 16).expect("a length is a number");
        if length == 0 {
            return content;
        }
        content.extend(&chunks[end + 2..end + 2 + length]);
        chunks = &chunks[end + 2 + length + 2..];
    }
}

/// The answer to a request with a body.
///
/// # Panics
/// The connection fails, or the answer is no HTTP.
pub fn exchange(mut stream: impl Read + Write, method: &str, path: &str, body: &str) -> Answer {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}",
        body.len()
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut octets = Vec::new();
    stream.read_to_end(&mut octets).unwrap();
    Answer::read(&octets)
}
