//! Requests and answers on a netlink socket: netlink(7).

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Bytes of `struct nlmsghdr`.
const HEADER_LEN: usize = 16;

/// Attempts to read a list that changes while the kernel writes it.
const DUMP_ATTEMPTS: usize = 5;

/// One message of an answer.
#[derive(Debug)]
pub struct Answer {
    /// `nlmsg_type`, for example RTM_NEWLINK.
    pub kind: u16,
    /// The bytes after the netlink header.
    pub body: Vec<u8>,
}

/// A socket with one request at a time.
#[derive(Debug)]
pub struct Exchange {
    socket: Socket,
    sequence: u32,
}

/// Content of the kernel's datagram for the request.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    More,
    Complete,
}

impl Exchange {
    /// A socket in the calling thread's network namespace.
    pub fn open() -> io::Result<Self> {
        Self::open_for(NETLINK_ROUTE)
    }

    /// The same for another netlink family.
    pub fn open_for(family: isize) -> io::Result<Self> {
        let mut socket = Socket::new(family)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends one request and returns its answers; the kernel's errno is the error.
    pub fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<Answer>> {
        self.exchange(message, NLM_F_REQUEST | NLM_F_ACK | flags).map(|(answers, _)| answers)
    }

    /// Requests a whole list; repeats the request if the list changed meanwhile.
    pub fn dump(&mut self, message: RouteNetlinkMessage) -> io::Result<Vec<Answer>> {
        for _ in 0..DUMP_ATTEMPTS {
            let (answers, interrupted) = self.exchange(message.clone(), NLM_F_REQUEST | NLM_F_DUMP)?;
            if !interrupted {
                return Ok(answers);
            }
        }
        Err(io::Error::other("the list kept changing while it was read"))
    }

    /// Requests a whole list with a message of any kind. The list may be incomplete if it changed meanwhile.
    pub fn dump_by(&mut self, kind: u16, body: &[u8]) -> io::Result<Vec<Answer>> {
        self.request_by(kind, NLM_F_DUMP, body)
    }

    /// Sends one request with a message of any kind and returns its answers. Only those to `NLM_F_DUMP` and `NLM_F_ACK` have an end.
    pub fn request_by(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Answer>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = ((HEADER_LEN + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        bytes.extend(self.sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        self.send_and_receive(&bytes).map(|(answers, _)| answers)
    }

    fn exchange(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<(Vec<Answer>, bool)> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.send_and_receive(&bytes)
    }

    /// Sends a request with the current sequence number and collects its answers.
    fn send_and_receive(&mut self, bytes: &[u8]) -> io::Result<(Vec<Answer>, bool)> {
        self.socket.send(bytes, 0)?;
        let (mut answers, mut interrupted) = (Vec::new(), false);
        loop {
            let datagram = match self.socket.recv_from_full() {
                Ok((datagram, _)) => datagram,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read_datagram(&datagram, self.sequence, &mut answers, &mut interrupted)? == Progress::Complete
            {
                return Ok((answers, interrupted));
            }
        }
    }
}

/// Appends the messages of `datagram` that answer request `sequence`. Messages of an older request, left over after an error,
/// are skipped.
fn read_datagram(
    datagram: &[u8],
    sequence: u32,
    answers: &mut Vec<Answer>,
    interrupted: &mut bool,
) -> io::Result<Progress> {
    let mut rest = datagram;
    while !rest.is_empty() {
        let (Some(length), Some(kind), Some(flags), Some(number)) =
            (u32_at(rest, 0), u16_at(rest, 4), u16_at(rest, 6), u32_at(rest, 8))
        else {
            return Err(malformed("a netlink header is cut off"));
        };
        let body = rest
            .get(HEADER_LEN..length as usize)
            .ok_or_else(|| malformed("a netlink length is impossible"))?;
        // Messages are padded to 4 bytes, except perhaps the last one.
        rest = rest.get((length as usize).next_multiple_of(4)..).unwrap_or_default();
        if number != sequence {
            continue;
        }
        *interrupted |= flags & NLM_F_DUMP_INTR != 0;
        match kind {
            NLMSG_ERROR | NLMSG_DONE => {
                // Both start with 0 or a negative errno; DONE of an old kernel may have no body.
                return match u32_at(body, 0).map_or(0, |code| code as i32) {
                    0 => Ok(Progress::Complete),
                    code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                };
            }
            _ => answers.push(Answer { kind, body: body.to_vec() }),
        }
    }
    Ok(Progress::More)
}

fn malformed(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The native-endian u32 at `offset`; `None` beyond the end.
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// The native-endian u16 at `offset`; `None` beyond the end.
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER_LEN + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn read(datagram: &[u8]) -> (io::Result<Progress>, Vec<Answer>, bool) {
        let (mut answers, mut interrupted) = (Vec::new(), false);
        let progress = read_datagram(datagram, 7, &mut answers, &mut interrupted);
        (progress, answers, interrupted)
    }

    #[test]
    fn answers_end_with_an_acknowledgement() {
        let datagram = [message(16, 0, 7, &[1, 2, 3]), message(NLMSG_ERROR, 0, 7, &[0; 20])].concat();
        let (progress, answers, interrupted) = read(&datagram);
        assert_eq!(progress.unwrap(), Progress::Complete);
        assert_eq!((answers.len(), answers[0].kind, answers[0].body.as_slice()), (1, 16, &[1u8, 2, 3][..]));
        assert!(!interrupted);
    }

    #[test]
    fn an_errno_is_kept_and_a_changed_list_is_seen() {
        let refused = message(NLMSG_ERROR, 0, 7, &(-1i32).to_ne_bytes());
        assert_eq!(read(&refused).0.unwrap_err().raw_os_error(), Some(1));
        let changed = message(NLMSG_DONE, NLM_F_DUMP_INTR, 7, &[]);
        let (progress, _, interrupted) = read(&changed);
        assert_eq!((progress.unwrap(), interrupted), (Progress::Complete, true));
    }

    #[test]
    fn left_over_answers_of_an_older_request_are_skipped() {
        let (progress, answers, _) = read(&message(NLMSG_ERROR, 0, 6, &(-1i32).to_ne_bytes()));
        assert_eq!((progress.unwrap(), answers.len()), (Progress::More, 0));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
