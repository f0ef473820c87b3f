//! One message on a byte stream, framed as the Language Server Protocol does: `Content-Length: N`, an empty line, N octets.
//!
//! The crate `lsp-server` has this codec, too, but reserves whatever length the other side states.

use std::io::{self, BufRead, Read, Write};

/// Octets of the largest message. An account with its loss pattern and latency has some hundred thousand.
pub const MOST_OCTETS: usize = 16 << 20;

/// Octets of the longest header line, and the largest number of lines.
const LONGEST_LINE: u64 = 256;
const MOST_LINES: usize = 8;

/// Reads one message; `None` if the stream ends before one begins.
///
/// # Errors
/// The stream's error, `UnexpectedEof` within a message, `InvalidData` if it is no message or larger than [`MOST_OCTETS`]. No
/// memory is reserved for a message that is too large.
pub fn read(stream: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    for nth in 0..MOST_LINES {
        let Some(line) = header_line(stream)? else {
            return if nth == 0 { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        };
        if line.is_empty() {
            let length = length.ok_or_else(|| invalid("a message without Content-Length"))?;
            let mut octets = Vec::with_capacity(length);
            stream.take(length as u64).read_to_end(&mut octets)?;
            return if octets.len() == length {
                Ok(Some(octets))
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header line without a colon"))?;
        if name.eq_ignore_ascii_case("Content-Length") {
            let stated: usize = value.trim().parse().map_err(|_| invalid("a length that is no number"))?;
            if stated > MOST_OCTETS {
                return Err(invalid(&format!(
                    "a message of {stated} octets; {MOST_OCTETS} are the largest allowed"
                )));
            }
            length = Some(stated);
        }
    }
    Err(invalid("a message with too many header lines"))
}

/// Writes one message and flushes the stream.
///
/// # Errors
/// The stream's error, or `InvalidData` if the message is larger than [`MOST_OCTETS`].
pub fn write(stream: &mut impl Write, message: &[u8]) -> io::Result<()> {
    if message.len() > MOST_OCTETS {
        return Err(invalid(&format!("a message of {} octets", message.len())));
    }
    write!(stream, "Content-Length: {}\r\n\r\n", message.len())?;
    stream.write_all(message)?;
    stream.flush()
}

/// A header line without its end; `None` if the stream ends before it.
fn header_line(stream: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    stream.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(invalid("text that is no header of a message"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map(Some).map_err(|_| invalid("a header that is no text"))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(stream: &[u8]) -> String {
        read(&mut &*stream).unwrap_err().to_string()
    }

    #[test]
    fn a_message_that_is_too_large_is_refused_before_memory_is_reserved() {
        assert!(refused(b"Content-Length: 1073741824\r\n\r\n").contains("1073741824 octets"));
        assert!(refused(b"Content-Length: 99999999999999999999\r\n\r\n").contains("no number"));
        assert!(write(&mut Vec::new(), &vec![0; MOST_OCTETS + 1]).is_err());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert!(refused(&[b'a'; 1000]).contains("no header"));
        assert!(refused(b"Welcome to gen1!\r\n\r\n").contains("without a colon"));
        assert!(refused(b"Content-Type: x\r\n\r\n").contains("without Content-Length"));
        assert!(refused(&b"A: b\r\n".repeat(100)).contains("too many"));
        assert_eq!(read(&mut &b""[..]).unwrap(), None);
        for cut in [&b"Content-Length: 2\r\n"[..], b"Content-Length: 2\r\n\r\n{"] {
            assert_eq!(read(&mut &*cut).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    proptest! {
        #[test]
        fn messages_are_read_as_written(messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..5)) {
            let mut stream = Vec::new();
            for message in &messages {
                write(&mut stream, message).unwrap();
            }
            let mut rest = &*stream;
            for message in &messages {
                let found = read(&mut rest).unwrap();
                prop_assert_eq!(found.as_ref(), Some(message));
            }
            prop_assert_eq!(read(&mut rest).unwrap(), None);
        }

        #[test]
        fn no_stream_makes_it_panic(stream in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut rest = &*stream;
            while let Ok(Some(_)) = read(&mut rest) {}
        }
    }
}
