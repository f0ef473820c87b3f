//! Finds the ends of records in the bytes of a file, for a file that must end early.

/// The first record in a byte slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its bytes, including header and padding.
    pub length: usize,
    /// The interface of its packet; `None` for other records.
    pub packet_of: Option<u32>,
    /// Number of packets.
    pub packets: u64,
}

/// Returns the first record in a byte slice; `None` if the slice is too short to contain its length. Both formats of capture
/// files have it in the first 16 bytes of a record. It is called only after a failure.
pub type RecordReader = fn(&[u8]) -> Option<Record>;

/// Passes to `each` the whole records in the first `limit` bytes. Returns their total length.
pub(super) fn whole(bytes: &[u8], limit: usize, reader: RecordReader, mut each: impl FnMut(Record)) -> usize {
    let limit = limit.min(bytes.len());
    let mut at = 0;
    while let Some(record) = reader(&bytes[at..]) {
        match at.checked_add(record.length).filter(|&end| end > at && end <= limit) {
            Some(end) => at = end,
            None => break,
        }
        each(record);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::fake::{read_record, record};
    use super::whole;

    #[test]
    fn records_are_counted_up_to_the_limit_and_never_in_part() {
        let bytes: Vec<u8> = (0..4).flat_map(|number| record(number, 0, 10)).collect();
        let length = bytes.len() / 4;
        for limit in 0..=bytes.len() + 1 {
            let mut packets = 0;
            let kept = whole(&bytes, limit, read_record, |record| {
                packets += usize::from(record.packet_of == Some(0));
            });
            assert_eq!(
                (kept, packets),
                (limit.min(bytes.len()) / length * length, limit.min(bytes.len()) / length),
                "{limit}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_record_end_it() {
        assert_eq!(
            whole(&[0; 64], 64, |_| Some(super::Record { length: 0, packet_of: None, packets: 0 }), |_| {}),
            0
        );
        assert_eq!(whole(&[0; 64], 64, |_| None, |_| {}), 0);
    }
}
