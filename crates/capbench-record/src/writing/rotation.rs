//! When a file ends and the next one begins, by the rules of tcpdump(8).

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// Minimum backward step of a clock that begins a new file: packets of several interfaces are never so far out of order.
const SET_BACK: u64 = 60 * SECOND;

/// How long a file waits for late packets after its interval: they may be in a ring or a queue.
const GRACE: u64 = SECOND;

/// When a new file begins. Without any limit, the recording is one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Limit in bytes (`-C`, there in units of 1,000,000 bytes): the next file begins before a packet that would go to a file
    /// larger than this. A file exceeds the limit by less than one record. Bytes are counted before compression.
    pub bytes: Option<u64>,
    /// Limit in packets per file.
    pub packets: Option<u64>,
    /// Interval in seconds, by packet timestamps (`-G`): the next file begins with the first packet at least this long after the
    /// second in which the file began.
    pub seconds: Option<u32>,
    /// Number of files (`-W`). With a limit of bytes or packets, the files are a ring: after the last file, the first one is
    /// overwritten. With an interval alone, the recording ends after the last file. With both, it only sets the width of the
    /// number in a name.
    pub files: Option<u32>,
    /// Number of files after which the recording ends (`-a files` of dumpcap), also in a ring.
    pub last: Option<u32>,
}

impl Rotation {
    /// Whether files are numbered: they end by size or by packets, and the first is not the last.
    pub(super) fn is_numbered(&self) -> bool {
        (self.bytes.is_some() || self.packets.is_some()) && self.last != Some(1)
    }

    /// Whether files replace older ones of the same recording, because their numbers start again.
    pub(super) fn is_ring(&self) -> bool {
        self.is_numbered() && self.seconds.is_none() && self.files.is_some()
    }

    /// Digits of the numbers in file names: those of the highest number; 0 if there is no highest number, or it is 0.
    pub(super) fn digits(&self) -> usize {
        match self.files.filter(|_| self.is_numbered()).map_or(0, |files| files.saturating_sub(1)) {
            0 => 0,
            highest => highest.ilog10() as usize + 1,
        }
    }
}

/// Destination of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Same,
    File,
    /// None: the recording has ended.
    End,
}

/// Position of a recording in its series of files.
#[derive(Clone, Debug)]
pub(super) struct Position {
    rotation: Rotation,
    pub(super) bytes: u64,
    packets: u64,
    /// The second in which the file began.
    pub(super) second: i64,
    /// Its number among the files of its name.
    pub(super) number: u64,
    intervals: u64,
    /// Files begun so far.
    files: u64,
    /// Packets with timestamps from here on belong to the interval.
    from_ns: u64,
    until_ns: u64,
    /// A packet of an interval came after its file had ended. From then on only packets end files.
    is_late: bool,
}

impl Position {
    /// At the start of the first file.
    pub(super) fn new(rotation: Rotation, time_ns: u64) -> Self {
        let mut position = Self {
            rotation,
            bytes: 0,
            packets: 0,
            second: 0,
            number: 0,
            intervals: 0,
            files: 1,
            from_ns: 0,
            until_ns: u64::MAX,
            is_late: false,
        };
        position.begin_interval(time_ns);
        position
    }

    /// The destination of a packet with this timestamp.
    #[inline]
    pub(super) fn next(&self, time_ns: u64) -> Next {
        if self.is_within(time_ns) { Next::Same } else { self.beyond(time_ns) }
    }

    /// Whether this many packets with timestamps in this range all go to the same file.
    pub(super) fn takes(&self, packets: u64, times: (u64, u64)) -> bool {
        let most = self.rotation.packets.map_or(u64::MAX, |most| most.saturating_sub(self.packets));
        packets <= most && self.is_within(times.0) && self.is_in_interval(times.1)
    }

    #[inline]
    fn is_within(&self, time_ns: u64) -> bool {
        self.bytes <= self.rotation.bytes.unwrap_or(u64::MAX)
            && self.packets < self.rotation.packets.unwrap_or(u64::MAX)
            && self.is_in_interval(time_ns)
    }

    #[inline]
    fn is_in_interval(&self, time_ns: u64) -> bool {
        self.from_ns <= time_ns && time_ns < self.until_ns
    }

    #[cold]
    fn beyond(&self, time_ns: u64) -> Next {
        let reaches = |limit: Option<u32>, count| limit.is_some_and(|limit| count >= u64::from(limit));
        if reaches(self.rotation.last, self.files) {
            return Next::End;
        }
        let last = reaches(self.rotation.files, self.intervals);
        if last && !self.rotation.is_numbered() && !self.is_in_interval(time_ns) {
            return Next::End;
        }
        Next::File
    }

    /// Advances to a new file, whose first packet has this timestamp.
    pub(super) fn advance(&mut self, time_ns: u64) {
        self.is_late |= self.has_ended() && self.is_in_interval(time_ns);
        (self.bytes, self.packets) = (0, 0);
        self.files += 1;
        if !self.is_in_interval(time_ns) {
            self.begin_interval(time_ns);
            return;
        }
        self.number += 1;
        if self.rotation.is_ring() && self.rotation.files.is_some_and(|files| self.number >= u64::from(files))
        {
            self.number = 0;
        }
    }

    /// Whether the file has packets and its interval ended so long before `now_ns` that no more packets are expected.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.until_ns.saturating_add(GRACE)
            && self.packets > 0
            && !self.has_ended()
            && !self.is_late
    }

    /// Ends the file before the first packet of the next one comes. No more packets go to this file.
    pub(super) fn end(&mut self) {
        self.packets = u64::MAX;
    }

    /// Whether the file has ended and the next one has not begun.
    pub(super) fn has_ended(&self) -> bool {
        self.packets == u64::MAX
    }

    fn begin_interval(&mut self, time_ns: u64) {
        let second = time_ns / SECOND;
        self.second = i64::try_from(second).unwrap_or(i64::MAX);
        (self.number, self.intervals) = (0, self.intervals + 1);
        let Some(seconds) = self.rotation.seconds else { return };
        let length = u64::from(seconds) * SECOND;
        self.until_ns = (second * SECOND).saturating_add(length);
        // Otherwise a clock step back by an hour would prolong this file by an hour.
        self.from_ns = (second * SECOND).saturating_sub(length.max(SET_BACK));
    }

    /// Counts a record in the file.
    #[inline]
    pub(super) fn add(&mut self, bytes: usize, packets: u64) {
        self.bytes += bytes as u64;
        self.packets += packets;
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, Position, Rotation, SECOND};

    /// The files that packets of these sizes and times go to: second, number and packets of each.
    fn files(rotation: Rotation, packets: &[(usize, u64)]) -> Vec<(i64, u64, usize)> {
        let mut position = Position::new(rotation, 1000 * SECOND);
        position.add(24, 0);
        let mut files = vec![(position.second, position.number, 0)];
        for &(length, time) in packets {
            match position.next(time) {
                Next::Same => {}
                Next::End => return files,
                Next::File => {
                    position.advance(time);
                    position.add(24, 0);
                    files.push((position.second, position.number, 0));
                }
            }
            position.add(length, 1);
            files.last_mut().unwrap().2 += 1;
        }
        files
    }

    fn every(half_seconds: u64, count: u64) -> Vec<(usize, u64)> {
        (0..count).map(|number| (100, 1000 * SECOND + number * half_seconds * SECOND / 2)).collect()
    }

    #[test]
    fn a_size_is_passed_by_less_than_a_record() {
        // A file of exactly the limit takes one more packet: tcpdump asks whether it is larger.
        let by_size = Rotation { bytes: Some(224), ..Rotation::default() };
        assert_eq!(files(by_size, &every(1, 7)), [(1000, 0, 3), (1000, 1, 3), (1000, 2, 1)]);
        let larger = Rotation { bytes: Some(223), ..Rotation::default() };
        assert_eq!(files(larger, &every(1, 5)), [(1000, 0, 2), (1000, 1, 2), (1000, 2, 1)]);
    }

    #[test]
    fn a_ring_begins_again_and_an_interval_alone_ends() {
        let ring = Rotation { packets: Some(2), files: Some(2), ..Rotation::default() };
        assert_eq!(files(ring, &every(1, 5)), [(1000, 0, 2), (1000, 1, 2), (1000, 0, 1)]);
        let stops = Rotation { seconds: Some(2), files: Some(2), ..Rotation::default() };
        assert_eq!(files(stops, &every(1, 20)), [(1000, 0, 4), (1002, 0, 4)]);
        let both = Rotation { packets: Some(3), ..stops };
        assert_eq!(
            files(both, &every(1, 12)),
            [(1000, 0, 3), (1000, 1, 1), (1002, 0, 3), (1002, 1, 1), (1004, 0, 3), (1004, 1, 1)],
        );
    }

    #[test]
    fn the_last_file_ends_the_recording() {
        let one = Rotation { bytes: Some(223), last: Some(1), ..Rotation::default() };
        assert_eq!((files(one, &every(1, 5)), one.is_numbered()), (vec![(1000, 0, 2)], false));
        let ring = Rotation { packets: Some(2), files: Some(2), last: Some(3), ..Rotation::default() };
        assert_eq!(files(ring, &every(1, 9)), [(1000, 0, 2), (1000, 1, 2), (1000, 0, 2)]);
        let timed = Rotation { seconds: Some(2), last: Some(2), ..Rotation::default() };
        assert_eq!(files(timed, &every(1, 20)), [(1000, 0, 4), (1002, 0, 4)]);
    }

    #[test]
    fn an_interval_begins_with_the_second_of_its_first_packet() {
        let hourly = Rotation { seconds: Some(3600), ..Rotation::default() };
        let times =
            [1000, 4599, 4600, 9000, 12_599, 12_600].map(|second| (60, second * SECOND + 999_999_999));
        assert_eq!(files(hourly, &times), [(1000, 0, 2), (4600, 0, 1), (9000, 0, 2), (12_600, 0, 1)]);
    }

    #[test]
    fn packets_out_of_order_stay_and_a_clock_set_back_begins_a_file() {
        let shortly = Rotation { seconds: Some(1), ..Rotation::default() };
        let times = [5000, 4990, 4941, 100].map(|second| (60, second * SECOND));
        assert_eq!(files(shortly, &times), [(1000, 0, 0), (5000, 0, 3), (100, 0, 1)]);
    }

    #[test]
    fn numbers_are_as_wide_as_the_highest() {
        let of = |files| Rotation { bytes: Some(1), files, ..Rotation::default() }.digits();
        assert_eq!(
            [None, Some(1), Some(2), Some(10), Some(11), Some(100), Some(101)].map(of),
            [0, 0, 1, 1, 2, 2, 3]
        );
        assert_eq!(Rotation { seconds: Some(1), files: Some(50), ..Rotation::default() }.digits(), 0);
    }
}
