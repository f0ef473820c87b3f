//! The counts of windows, for monitoring: what a window has once counted counts nowhere again.

use std::time::Instant;

use capbench_host::accounts::softnet::SoftnetSnapshot;
use capbench_host::links::{LinkDeltas, LinkStats};
use capbench_host::{HostError, Result};
use capbench_model::places::Place;

use super::{Differences, Moment, Watch, counters_of, peer, read_counters, trace, traces};
use crate::look::InterfaceWindow;
use crate::sockets;

/// The counts of windows, which continue from one to the next. They are differences to one moment: differences of two moments
/// that are near each other book frames twice that one counter has counted already and the other has not.
#[derive(Debug)]
pub(super) struct Metered {
    origin: Moment,
    /// The link's counters at the last window.
    stats: LinkStats,
    /// The link's counts since the origin.
    counted: LinkDeltas,
    /// Frames that AF_XDP sockets refused since the origin.
    refused: u64,
    /// Frames that each place has lost since the origin, as far as reported.
    reported: Vec<(Place, u64)>,
}

impl Metered {
    fn new(origin: Moment) -> Self {
        let (stats, counted) = (origin.stats, LinkDeltas::from(&LinkStats::default()));
        Self { origin, stats, counted, refused: 0, reported: Vec::new() }
    }

    /// What a place lost since it was reported last. A total that went back is reported when it has grown beyond its maximum.
    fn news(&mut self, place: Place, total: u64) -> u64 {
        match self.reported.iter_mut().find(|(known, _)| *known == place) {
            Some((_, reported)) => {
                let news = total.saturating_sub(*reported);
                *reported += news;
                news
            }
            None => {
                self.reported.push((place, total));
                total
            }
        }
    }
}

/// The counters of an interface at one moment.
#[derive(Debug)]
pub(crate) struct Counters(Moment);

impl Watch {
    /// The counters now, for a window. The caller reads the sockets after that: a frame that counts at a socket, too, has counted
    /// there then.
    pub(crate) fn counters(&self, softnet: &SoftnetSnapshot) -> Result<Counters> {
        let before = trace(&self.tracer);
        let (nic, link) = read_counters(&self.links, self.index)?;
        let stats = counters_of(&link)?;
        let peer = peer(&self.links, &link);
        let traces = traces(before, &self.tracer);
        if let (Ok(_), Err(reason)) = (&self.tracer, &traces) {
            // Without the tracer the same frames count at other places.
            return Err(HostError::Interface { interface: link.name, reason: reason.clone() });
        }
        Ok(Counters(Moment {
            at: Instant::now(),
            stats,
            nic,
            traces,
            softnet: softnet.clone(),
            peer,
            link,
            // They change seldom: a look has read them within the last second.
            namespace: self.last.namespace,
            rings: self.last.rings,
            program: self.last.program.clone(),
            max_backlog: self.last.max_backlog,
            offloads: self.last.offloads,
            queues: self.last.queues,
        }))
    }

    /// The counts since the last window, without those of sockets, of which AF_XDP sockets here refused `refused` frames. The
    /// first window begins with the first call.
    pub(crate) fn window(&mut self, Counters(now): Counters, refused: u64) -> Result<InterfaceWindow> {
        let mut metered = match self.metered.take() {
            Some(metered) => metered,
            // Read again: the sockets have been read meanwhile.
            None => Metered::new(self.counters(&now.softnet)?.0),
        };
        let since = now.stats.each_since(&metered.stats);
        metered.stats = now.stats;
        metered.refused += refused;
        metered.counted = metered.counted.plus(&since);
        let af_xdp = sockets::Socket {
            method: sockets::Method::AfXdp,
            dropped: Some(metered.refused),
            ..Default::default()
        };
        let sockets = sockets::Sockets { here: vec![af_xdp], ..Default::default() };
        let differences = Differences::between(&metered.origin, &now);
        let seconds = (now.at - metered.origin.at).as_secs_f64().max(1e-3);
        let losses = differences.losses(&now, &metered.counted, &sockets, seconds);
        let losses = losses.into_iter().filter(|lost| lost.place != Place::Ring);
        let lost = losses.map(|lost| (lost.place, lost.frames.map(|total| metered.news(lost.place, total))));
        let window = InterfaceWindow {
            interface: now.link.name.clone(),
            received: since.rx_packets,
            lost: lost.collect(),
        };
        // The queue of a veth depends on GRO, and a counter that went back counts from anew.
        let is_other = now.offloads.gro != metered.origin.offloads.gro;
        self.metered =
            Some(if is_other || !since.went_back().is_empty() { Metered::new(now) } else { metered });
        Ok(window)
    }
}
