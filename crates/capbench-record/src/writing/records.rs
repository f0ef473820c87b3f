//! Where records begin and end in the bytes of a file, for when a file must end early.

/// The first record of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Bytes in it, its own header and padding included.
    pub length: usize,
    /// The interface whose packet it is; `None` for anything else.
    pub packet_of: Option<u32>,
    /// How many packets it holds.
    pub packets: u64,
}

/// Tells the record that bytes begin with; `None` where they do not hold its length. Both formats of capture files say
/// it in the first 16 bytes of a record. It is asked only after a failure.
pub type RecordReader = fn(&[u8]) -> Option<Record>;

/// Gives `each` record that lies within the first `limit` bytes as a whole; how many bytes they are.
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
