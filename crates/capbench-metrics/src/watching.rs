//! The metrics of `why`, from its windows.
//!
//! A host has up to 60 series, and 8 more for each interface: few enough for a fleet. So with many interfaces a place has its
//! series only once it lost a frame, and sockets beyond a number share one series of their interface.

use std::collections::{BTreeMap, BTreeSet};

use capbench_model::places::Place;
use capbench_why::{Socket, Window};

use crate::families::Family;
use crate::series::{Labels, Metrics};

/// The interface of sockets that receive frames of every interface.
const ANY: &str = "any";

/// Places in the order in which they get a series before they lost a frame.
const PLACES: [Place; 9] = [
    Place::Ring,
    Place::Nic,
    Place::Stack,
    Place::Backlog,
    Place::Driver,
    Place::Link,
    Place::LinkQueue,
    Place::Transmit,
    Place::Xdp,
];

/// Windows after which the series of a closed socket, or of an interface that has disappeared, is removed: five minutes, so that
/// the last scrape has seen its last count.
const KEPT: u64 = 3000;

/// Sockets with different labels that have a series each, besides one more for each interface.
const MOST_SOCKETS: usize = 8;

/// Number of interfaces up to which every place begins with its series, at 0.
const FEW: usize = 2;

/// Turns windows into metrics.
#[derive(Debug)]
pub struct Watching {
    metrics: Metrics,
    per_socket: bool,
    /// Number of windows so far.
    now: u64,
    /// The window in which each interface, and each socket's labels, was there last.
    interfaces: BTreeMap<String, u64>,
    sockets: BTreeMap<Labels, u64>,
}

impl Watching {
    /// `per_socket`: each socket has its own series, with its process and inode.
    pub fn new(metrics: Metrics, per_socket: bool) -> Self {
        Self { metrics, per_socket, now: 0, interfaces: BTreeMap::new(), sockets: BTreeMap::new() }
    }

    /// Adds the counts of a window.
    pub fn note(&mut self, window: &Window) {
        self.now += 1;
        let mut interfaces: BTreeMap<&str, Vec<(Place, Option<u64>)>> = BTreeMap::new();
        for one in &window.interfaces {
            self.metrics.add(Family::Received, interface_label(&one.interface), one.received.unwrap_or(0));
            interfaces.insert(&one.interface, one.lost.clone());
        }
        let mut of_sockets: BTreeMap<&str, u64> = interfaces.keys().map(|name| (*name, 0)).collect();
        for one in &window.sockets {
            let socket = &one.socket;
            let name = if socket.every_interface { ANY } else { socket.interface.as_deref().unwrap_or(ANY) };
            *of_sockets.entry(name).or_default() += socket.dropped.unwrap_or(0);
        }
        for (name, lost) in &of_sockets {
            let lost = window.unknown.is_none().then_some(*lost);
            interfaces.entry(name).or_default().push((Place::Ring, lost));
        }
        for name in interfaces.keys() {
            self.interfaces.insert((*name).into(), self.now);
        }
        let begins = self.places_at_zero();
        for (name, lost) in &interfaces {
            self.note_places(name, lost, &begins);
        }
        for one in &window.sockets {
            self.note_socket(&one.socket, one.was_reset);
        }
        self.forget();
    }

    fn note_places(&self, interface: &str, lost: &[(Place, Option<u64>)], begins: &Begins) {
        let metrics = &self.metrics;
        metrics.add(Family::Windows, interface_label(interface), 1);
        for (place, frames) in lost {
            let labels = vec![("interface", interface.into()), ("place", place.key().into())];
            let Some(frames) = *frames else {
                metrics.set(Family::PlaceUnknown, labels, 1.0);
                continue;
            };
            metrics.remove(Family::PlaceUnknown, &labels);
            if frames > 0 || begins.lost.contains(place) {
                metrics.add(Family::Lost, labels.clone(), frames);
            }
            if frames > 0 || begins.lossy.contains(place) {
                metrics.add(Family::LossyWindows, labels, u64::from(frames > 0));
            }
        }
    }

    fn note_socket(&mut self, socket: &Socket, was_reset: bool) {
        let mut labels = self.socket_labels(socket);
        let is_known = self.per_socket || self.sockets.contains_key(&labels);
        if !is_known && !self.has_room() {
            // Their sum stays right.
            for (name, value) in &mut labels {
                if *name != "interface" {
                    *value = "others".into();
                }
            }
        } else {
            self.sockets.insert(labels.clone(), self.now);
        }
        let metrics = &self.metrics;
        // The kernel's own count, before getsockopt(2) adds the lost frames to it.
        if let Some(accepted) = socket.accepted {
            metrics.add(Family::SocketDelivered, labels.clone(), accepted);
        }
        if let Some(dropped) = socket.dropped {
            metrics.add(Family::SocketLost, labels.clone(), dropped);
        }
        if was_reset || self.interfaces.len() <= FEW {
            metrics.add(Family::SocketResets, labels, u64::from(was_reset));
        }
    }

    /// Whether sockets with further labels can have a series. The one that has been closed for the longest time makes room.
    fn has_room(&mut self) -> bool {
        if self.sockets.len() < MOST_SOCKETS + self.interfaces.len() {
            return true;
        }
        let oldest = self.sockets.iter().min_by_key(|(_, last)| **last);
        let Some((labels, _)) = oldest.filter(|(_, last)| self.now - **last >= KEPT) else { return false };
        let labels = labels.clone();
        self.sockets.remove(&labels);
        remove_socket(&self.metrics, &labels);
        true
    }

    fn socket_labels(&self, socket: &Socket) -> Labels {
        let interface = if socket.every_interface { ANY } else { socket.interface.as_deref().unwrap_or(ANY) };
        let process = socket.processes.first();
        let program = process.and_then(|process| process.name.clone()).unwrap_or_else(|| "unknown".into());
        let group = socket.fanout.as_ref().map_or(String::new(), |fanout| fanout.id.to_string());
        let mut labels = vec![
            ("interface", interface.into()),
            ("program", program),
            ("method", socket.method.key().into()),
            ("group", group),
        ];
        if self.per_socket {
            labels.push(("pid", process.map_or(String::new(), |process| process.pid.to_string())));
            labels.push(("inode", socket.inode.to_string()));
        }
        labels
    }

    /// Places with series before their first loss.
    fn places_at_zero(&self) -> Begins {
        let interfaces = self.interfaces.len().max(1);
        // What 60 series and 8 an interface leave: two are about the program, two are for each socket with labels, three for each
        // interface.
        let most = (1 + 42 / interfaces).min(PLACES.len());
        Begins {
            lost: PLACES[..most].to_vec(),
            lossy: PLACES[..if interfaces <= FEW { PLACES.len() } else { 1 }].to_vec(),
        }
    }

    /// Removes what has not been there for a long time.
    fn forget(&mut self) {
        let (now, metrics) = (self.now, &self.metrics);
        let is_recent = |last: &u64| now - last < KEPT;
        self.interfaces.retain(|name, last| {
            if !is_recent(last) {
                metrics.forget_interface(name);
            }
            is_recent(last)
        });
        let interfaces: BTreeSet<_> = self.interfaces.keys().cloned().collect();
        let per_socket = self.per_socket;
        self.sockets.retain(|labels, last| {
            let is_kept = interfaces.contains(&labels[0].1) && (!per_socket || is_recent(last));
            if !is_kept {
                remove_socket(metrics, labels);
            }
            is_kept
        });
        // Places of an interface that is no longer watched are neither known nor unknown.
        for (name, _) in self.interfaces.iter().filter(|(_, last)| **last != now) {
            for place in PLACES {
                let labels = vec![("interface", name.clone()), ("place", place.key().into())];
                metrics.remove(Family::PlaceUnknown, &labels);
            }
        }
    }
}

/// Labels of places with series before their first loss.
struct Begins {
    lost: Vec<Place>,
    lossy: Vec<Place>,
}

fn remove_socket(metrics: &Metrics, labels: &Labels) {
    for family in [Family::SocketDelivered, Family::SocketLost, Family::SocketResets] {
        metrics.remove(family, labels);
    }
}

fn interface_label(interface: &str) -> Labels {
    vec![("interface", interface.into())]
}

#[cfg(test)]
mod tests;
