//! Losses at an interface: as the file reports them, and as they are.

use capbench_record::file::InterfaceStatistics;

/// The records of an interface in the files.
#[derive(Debug, Default)]
pub struct RecordedInterface {
    /// Its name, if the file has it.
    pub name: Option<String>,
    /// Whether the recorder reports missing VLAN tags.
    pub lacks_vlan_tags: bool,
    /// Number of its frames.
    pub frames: u64,
    /// Frames that are shorter than the snap length allows.
    pub cut: u64,
    /// Frames that the file reports as lost: its drop counts.
    pub told: u64,
    /// Frames after a gap in the numbers of their trial.
    pub gaps: u64,
    /// Those whose drop count equals the gap.
    pub gaps_told: u64,
    /// Drop counts of frames after no gap, or after one of another size.
    pub told_elsewhere: u64,
    /// Its last statistics.
    pub statistics: Option<InterfaceStatistics>,
    /// Sum of the drop counts before these statistics.
    told_by_then: u64,
}

impl RecordedInterface {
    /// Frames that its last statistics report as lost: at the interface, by the system, or by the program itself.
    pub fn lost(&self) -> Option<u64> {
        self.statistics.as_ref()?.lost()
    }

    /// Whether drop counts exceed the statistics that follow them. Drops after the last statistics of an unfinished file do not
    /// count.
    pub fn contradicts_itself(&self) -> bool {
        self.lost().is_some_and(|lost| self.told_by_then > lost)
    }

    pub(super) fn keep(&mut self, statistics: InterfaceStatistics) {
        self.statistics = Some(statistics);
        self.told_by_then = self.told;
    }

    pub(super) fn note(&mut self, dropped: u64, gap: u64) {
        self.frames += 1;
        self.told = self.told.saturating_add(dropped);
        self.gaps += u64::from(gap > 0);
        self.gaps_told += u64::from(gap > 0 && dropped == gap);
        self.told_elsewhere += u64::from(dropped > 0 && dropped != gap);
    }
}
