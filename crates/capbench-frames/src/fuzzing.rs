//! What the fuzz targets of `fuzz/` call: packet files on any octets. A unit test runs it on its corpus.

use crate::write::{PlanFrames, WriteFrames};
use crate::{
    FlowDefaults, FrameSize, MergedFlows, Mtu, PacketFile, Sizes, Stamp, StreamId, TrailerReader, TrialId,
    Turn,
};

/// Frames that are written of each file.
const FRAMES: u64 = 100;

/// Packet files: the first frames of each are written, end with their trailers and are counted.
pub fn packet_file(octets: &[u8]) {
    let Ok(text) = std::str::from_utf8(octets) else { return };
    let defaults = FlowDefaults {
        sizes: Sizes::Fixed(FrameSize::LEAST),
        rate: "10k".parse().ok(),
        burst: None,
        poisson: None,
        frames: Some(50),
    };
    let flows = PacketFile::from_toml(text).and_then(|file| file.flow_set(&defaults, Mtu(1500), Some(1e9)));
    let Ok(set) = flows else { return };
    let have_trailers = set.flows().iter().all(|flow| flow.plan.stream().is_some());
    let mut merged = MergedFlows::new(&set, Turn::EVERY);
    let (mut slot, mut written, mut octets) = ([0; 2048], 0, 0);
    while merged.has_next() && written < FRAMES {
        let planned_ns = merged.next_ns();
        let stamp = Stamp { trial: TrialId(1), stream: StreamId(0), sequence: 0, planned_ns };
        let size = merged.write_next(&mut slot, stamp);
        written += 1;
        octets += u64::from(size.octets());
        let stamp = TrailerReader::new(TrialId(1)).read(&slot[..size.captured()]);
        assert!(stamp.is_some() || !have_trailers, "a frame without its trailer");
    }
    merged.note_sent(written);
    let counts: Vec<_> = (0..set.flows().len()).map(|flow| set.counts(flow)).collect();
    assert_eq!(written, counts.iter().map(|counts| counts.sent).sum::<u64>());
    assert_eq!(octets, counts.iter().map(|counts| counts.octets).sum::<u64>());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/packet_file");
        let files = fs::read_dir(folder).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
        assert!(files.inspect(|octets| super::packet_file(octets)).count() > 0);
    }
}
