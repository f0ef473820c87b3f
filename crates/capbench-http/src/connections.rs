//! The places for connections: which client has one, which waits for one, and which connection ends for another.
//!
//! A client is an IPv4 address, or an IPv6 network of 64 bits. Each place is in turn of its client, which sends a request or reads
//! an answer, or of the server. A client that takes longer than [`TURN`] while another connection waits for the place loses it. So
//! connections that only stand there lock nobody out, also not those of the same address: in turn, each gets a place.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// Connections that are served at the same time, and a quarter of them: those of one client.
pub(crate) const MOST_SERVED: usize = 64;
const MOST_SERVED_OF_CLIENT: usize = MOST_SERVED / 4;

/// Connections that wait for a place, and a quarter of them: those of one client. A further one is refused.
const MOST_WAITING: usize = 128;
const MOST_WAITING_OF_CLIENT: usize = MOST_WAITING / 4;

/// Time that a client has for a handshake with a request, or for reading an answer, while others wait for its place.
const TURN: Duration = Duration::from_secs(2);

/// The same while nobody waits. Handshakes, headers and bodies have shorter limits.
const LONGEST_TURN: Duration = Duration::from_secs(30);

/// How often a request that waits looks whether another connection waits for its place: before [`TURN`] is over.
const LOOK: Duration = Duration::from_secs(1);

/// Time between two reports.
const QUIET: Duration = Duration::from_secs(60);

/// All places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    table: Mutex<Table>,
    changed: Notify,
}

/// The place of a connection, which is free when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    turn: Turn,
    ended: oneshot::Receiver<()>,
}

/// In whose turn a place is. Each request has it among its extensions.
#[derive(Clone, Debug)]
pub struct Turn {
    number: u64,
    connections: Connections,
}

/// A place that waits for its connection.
type Granted = (u64, oneshot::Receiver<()>);

/// A connection that waits for a place.
pub(crate) struct Entry(oneshot::Receiver<Granted>);

#[derive(Debug, Default)]
struct Table {
    last_number: u64,
    served: BTreeMap<u64, Served>,
    waiting: VecDeque<Waiting>,
    losses: Losses,
}

#[derive(Debug)]
struct Served {
    client: IpAddr,
    /// Since when it is the client's turn; absent: it is the server's.
    clients_turn_since: Option<Instant>,
    /// The connection ends when this is dropped.
    _end: oneshot::Sender<()>,
}

#[derive(Debug)]
struct Waiting {
    client: IpAddr,
    place: oneshot::Sender<Granted>,
}

/// Connections that were ended or refused since the last report.
#[derive(Debug, Default)]
struct Losses {
    ended: u64,
    refused: u64,
    last_client: Option<IpAddr>,
    reported_at: Option<Instant>,
}

/// IPv4 in IPv6 is IPv4. A host has all addresses of an IPv6 network of 64 bits (RFC 4291).
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

impl Connections {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the table.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// A connection of a client that waits for its place from now on; `None`: too many wait.
    pub(crate) fn enter(&self, address: IpAddr, now: Instant) -> Option<Entry> {
        let client = client_of(address);
        let mut table = self.table();
        table.waiting.retain(|waiting| !waiting.place.is_closed());
        let of_client = table.waiting.iter().filter(|waiting| waiting.client == client).count();
        if table.waiting.len() >= MOST_WAITING || of_client >= MOST_WAITING_OF_CLIENT {
            table.losses.note(client, false);
            return None;
        }
        let (place, granted) = oneshot::channel();
        table.waiting.push_back(Waiting { client, place });
        table.admit(now);
        drop(table);
        self.0.changed.notify_one();
        Some(Entry(granted))
    }

    /// Notes that a connection was refused that had waited.
    pub(crate) fn note_refused(&self, address: IpAddr) {
        self.table().losses.note(client_of(address), false);
    }

    /// Waits for the place of a connection.
    pub(crate) async fn place(&self, entry: Entry) -> Option<Place> {
        let (number, ended) = entry.0.await.ok()?;
        Some(Place { turn: Turn { number, connections: self.clone() }, ended })
    }

    /// Ends the connections whose clients take too long. Returns the time of the next one.
    pub(crate) fn end_late(&self, now: Instant) -> Option<Instant> {
        let mut table = self.table();
        loop {
            let (due, number) = table.next_late()?;
            if due > now {
                return Some(due);
            }
            if let Some(served) = table.served.remove(&number) {
                table.losses.note(served.client, true);
            }
            table.admit(now);
        }
    }

    /// What to report now of connections that were ended or refused; the time of the next report, if there is one.
    pub(crate) fn report(&self, now: Instant) -> (Option<String>, Option<Instant>) {
        self.table().losses.report(now)
    }
}

impl Table {
    fn is_full_for(&self, client: IpAddr) -> bool {
        self.served.values().filter(|served| served.client == client).count() >= MOST_SERVED_OF_CLIENT
    }

    /// Gives the free places to those who wait, in their order.
    fn admit(&mut self, now: Instant) {
        let mut at = 0;
        while self.served.len() < MOST_SERVED
            && let Some(Waiting { client, .. }) = self.waiting.get(at)
        {
            let client = *client;
            if self.is_full_for(client) {
                at += 1;
                continue;
            }
            let Some(Waiting { place, .. }) = self.waiting.remove(at) else { return };
            self.last_number += 1;
            let number = self.last_number;
            let (_end, ended) = oneshot::channel();
            // Who waited may have given up.
            if place.send((number, ended)).is_ok() {
                self.served.insert(number, Served { client, clients_turn_since: Some(now), _end });
            }
        }
    }

    /// Whether a connection waits for the place of a client.
    fn is_awaited(&self, client: IpAddr) -> bool {
        let full: BTreeSet<_> = self.waiting.iter().map(|waiting| waiting.client).collect();
        full.into_iter().any(|waits| waits == client || !self.is_full_for(waits))
    }

    /// The next connection to end, and when.
    fn next_late(&self) -> Option<(Instant, u64)> {
        let awaited: BTreeSet<_> = if self.waiting.is_empty() {
            BTreeSet::new()
        } else {
            let clients: BTreeSet<_> = self.served.values().map(|served| served.client).collect();
            clients.into_iter().filter(|client| self.is_awaited(*client)).collect()
        };
        let late = self.served.iter().filter_map(|(number, served)| {
            let time = if awaited.contains(&served.client) { TURN } else { LONGEST_TURN };
            Some((served.clients_turn_since? + time, *number))
        });
        late.min()
    }
}

impl Losses {
    fn note(&mut self, client: IpAddr, was_served: bool) {
        if was_served {
            self.ended += 1;
        } else {
            self.refused += 1;
        }
        self.last_client = Some(client);
    }

    fn report(&mut self, now: Instant) -> (Option<String>, Option<Instant>) {
        let Self { ended, refused, last_client, reported_at } = self;
        let Some(client) = *last_client else { return (None, None) };
        if let Some(next) = reported_at.map(|at| at + QUIET).filter(|next| *next > now) {
            return (None, Some(next));
        }
        let words = format!(
            "{ended} connections ended, whose clients sent or read too slowly, and {refused} refused: there are {MOST_SERVED} places, \
             {MOST_SERVED_OF_CLIENT} for one client; the last one was of {client}"
        );
        *self = Self { reported_at: Some(now), ..Self::default() };
        (Some(words), None)
    }
}

impl Place {
    /// The turns of this place.
    pub(crate) fn turn(&self) -> Turn {
        self.turn.clone()
    }

    /// Waits until the connection has to end.
    pub(crate) async fn ended(&mut self) {
        // Nothing is sent: the other end is dropped.
        let _ = (&mut self.ended).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Turn { number, connections } = &self.turn;
        let mut table = connections.table();
        table.served.remove(number);
        table.admit(Instant::now());
        drop(table);
        connections.0.changed.notify_one();
    }
}

impl Turn {
    /// It is the client's turn from now on: it sends a request, or reads an answer and has just read a part.
    pub(crate) fn give_to_client(&self) {
        self.set(|_| Some(Instant::now()));
        self.connections.0.changed.notify_one();
    }

    /// It is the server's turn.
    pub(crate) fn take(&self) {
        self.set(|_| None);
    }

    /// Waits for what other requests have now, for example a place among them. It is the client's turn meanwhile: a request that
    /// waits must not keep its connection's place. `None`: another connection waits for that place, or the time is over.
    pub async fn wait_for<T>(&self, result: impl Future<Output = T>) -> Option<T> {
        let mut result = pin!(result);
        let (begun, mut found) = (Instant::now(), None);
        while found.is_none() && begun.elapsed() < LONGEST_TURN {
            self.give_to_client();
            found = timeout(LOOK, result.as_mut()).await.ok();
            if self.is_awaited() {
                break;
            }
        }
        self.take();
        found
    }

    /// The client has read a part of its answer.
    pub(crate) fn note_progress(&self) {
        self.set(|since| since.map(|_| Instant::now()));
    }

    /// Whether another connection waits for this place.
    pub(crate) fn is_awaited(&self) -> bool {
        let table = self.connections.table();
        table.served.get(&self.number).is_some_and(|served| table.is_awaited(served.client))
    }

    fn set(&self, since: impl FnOnce(Option<Instant>) -> Option<Instant>) {
        if let Some(served) = self.connections.table().served.get_mut(&self.number) {
            served.clients_turn_since = since(served.clients_turn_since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABUSER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// The place of an entry, if it has one.
    fn place(connections: &Connections, entry: &mut Entry) -> Option<Place> {
        let (number, ended) = entry.0.try_recv().ok()?;
        Some(Place { turn: Turn { number, connections: connections.clone() }, ended })
    }

    fn is_ended(place: &mut Place) -> bool {
        place.ended.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn a_client_has_a_quarter_of_the_places_and_others_the_rest() {
        let (connections, now) = (Connections::default(), Instant::now());
        let mut entries: Vec<_> =
            (0..MOST_SERVED_OF_CLIENT + 1).map(|_| connections.enter(ABUSER, now).unwrap()).collect();
        let places: Vec<_> = entries.iter_mut().filter_map(|entry| place(&connections, entry)).collect();
        assert_eq!(places.len(), MOST_SERVED_OF_CLIENT);
        let waits = (1..MOST_WAITING_OF_CLIENT).map(|_| connections.enter(ABUSER, now).unwrap());
        let waits: Vec<_> = waits.collect();
        assert!(connections.enter(ABUSER, now).is_none(), "no further one waits");
        let mut other = connections.enter(OTHER, now).unwrap();
        assert!(place(&connections, &mut other).is_some(), "others have a place");
        let words = connections.report(now).0.unwrap();
        assert!(words.contains("0 connections ended") && words.contains("1 refused"), "{words}");
        drop((waits, places));
        let last = entries.last_mut().unwrap();
        assert!(place(&connections, last).is_some(), "a free place is for who waits");
    }

    #[test]
    fn the_client_that_takes_longest_loses_its_place_to_one_who_waits() {
        let (connections, now) = (Connections::default(), Instant::now());
        let mut places: Vec<_> = (0..MOST_SERVED_OF_CLIENT)
            .map(|_| place(&connections, &mut connections.enter(ABUSER, now).unwrap()).unwrap())
            .collect();
        // A connection whose answer is being made is not ended.
        places[0].turn().take();
        assert_eq!(connections.end_late(now), Some(now + LONGEST_TURN));
        let mut waits = connections.enter(ABUSER, now).unwrap();
        assert_eq!(connections.end_late(now), Some(now + TURN));
        assert!(place(&connections, &mut waits).is_none() && places[0].turn().is_awaited());
        assert_eq!(connections.end_late(now + TURN), Some(now + LONGEST_TURN), "nobody waits any more");
        let kept = place(&connections, &mut waits).unwrap();
        let ended: Vec<_> = places.iter_mut().map(is_ended).collect();
        assert_eq!(ended.iter().filter(|ended| **ended).count(), 1);
        assert!(ended[1], "the oldest one");
        // The end of its connection frees no second place.
        drop(places.remove(1));
        assert!(!kept.turn().is_awaited());
        connections.end_late(now + LONGEST_TURN);
        assert!(!is_ended(&mut places[0]));
        assert!(places[1..].iter_mut().all(is_ended));
    }

    #[test]
    fn a_full_server_ends_the_oldest_connection_of_any_client() {
        let (connections, now) = (Connections::default(), Instant::now());
        let clients = (0..MOST_SERVED).map(|at| IpAddr::from([198, 51, 100, (at / 8) as u8]));
        let mut places: Vec<_> = clients
            .map(|client| place(&connections, &mut connections.enter(client, now).unwrap()).unwrap())
            .collect();
        let mut waits = connections.enter(OTHER, now).unwrap();
        assert!(place(&connections, &mut waits).is_none());
        connections.end_late(now + TURN);
        assert!(place(&connections, &mut waits).is_some() && is_ended(&mut places[0]));
    }

    #[test]
    fn reports_are_few_and_lose_no_count() {
        let (connections, now) = (Connections::default(), Instant::now());
        assert_eq!(connections.report(now), (None, None));
        connections.note_refused(ABUSER);
        assert!(connections.report(now).0.is_some());
        (0..5).for_each(|_| connections.note_refused(ABUSER));
        assert_eq!(connections.report(now), (None, Some(now + QUIET)));
        let words = connections.report(now + QUIET).0.unwrap();
        assert!(words.contains("5 refused") && words.ends_with("192.0.2.1"), "{words}");
    }

    #[test]
    fn a_request_that_waits_gives_its_place_to_a_connection_that_waits() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (connections, now) = (Connections::default(), Instant::now());
            let mut places: Vec<_> = (0..MOST_SERVED_OF_CLIENT)
                .map(|_| place(&connections, &mut connections.enter(ABUSER, now).unwrap()).unwrap())
                .collect();
            let turns: Vec<_> = places.iter().map(Place::turn).collect();
            turns.iter().for_each(Turn::take);
            assert_eq!(turns[0].wait_for(std::future::ready(7)).await, Some(7));
            assert_eq!(connections.end_late(now), None, "it is the server's turn again");
            let waits = connections.enter(ABUSER, now).unwrap();
            assert_eq!(turns[0].wait_for(std::future::pending::<u8>()).await, None);
            assert!(!is_ended(&mut places[0]), "there is time for a refusal");
            drop(waits);
        });
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        let client = |text: &str| client_of(text.parse().unwrap());
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
    }
}
