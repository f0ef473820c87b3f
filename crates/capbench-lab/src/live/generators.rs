//! The account of each generator in another process: what it reported, and what came of it.

use capbench_model::arrivals::StreamArrivals;
use capbench_model::trial::Generator;

use super::halves::{ReceiveHalf, TransmitHalf};
use super::senders::Sender;

/// The accounts of the generators that took part in a trial and have a location.
pub(super) fn generators(
    senders: &[Sender<'_>],
    transmit: &[TransmitHalf],
    receive: &ReceiveHalf,
) -> Vec<Generator> {
    senders.iter().filter_map(|sender| generator(sender, transmit, receive)).collect()
}

fn generator(sender: &Sender<'_>, transmit: &[TransmitHalf], receive: &ReceiveHalf) -> Option<Generator> {
    let (part, location) = (sender.part()?, sender.location()?);
    let stream = sender.stream();
    let half = transmit.iter().find(|half| half.stream == stream);
    let arrivals = sender.streams().filter_map(|stream| receive.received.streams.get(usize::from(stream.0)));
    let arrivals = arrivals.copied().reduce(StreamArrivals::plus);
    let sent = half.map(|half| half.frames.sent);
    let delivered = arrivals.map(|arrivals| arrivals.delivered);
    let pattern = receive.loss_patterns.get(usize::from(stream.0)).filter(|_| sender.streams().count() == 1);
    Some(Generator {
        stream: stream.0,
        location: location.into(),
        failure: sender.failure().map(String::from),
        unverified_because: half.and_then(|half| half.unverified_because.clone()),
        intended: half.map(|half| half.frames.intended).or_else(|| part.load.intended(part.duration)),
        sent,
        unsent: half.map(|half| half.frames.unsent),
        delivered,
        lost: sent.zip(delivered).map(|(sent, delivered)| sent.saturating_sub(delivered)),
        duplicates: arrivals.map(|arrivals| arrivals.duplicates),
        reordered: arrivals.map(|arrivals| arrivals.reordered),
        start_ns: arrivals.and_then(|arrivals| arrivals.start_ns),
        loss_pattern: pattern.filter(|_| receive.loss_patterns.len() > 1).cloned(),
        cpu: half.and_then(|half| half.cpus.first()).map(|cpu| cpu.cpu.number()),
        cpu_ns: half
            .filter(|half| !half.cpus.is_empty())
            .map(|half| half.cpus.iter().map(|cpu| cpu.own_ns).sum()),
        lateness: half.and_then(|half| half.lateness),
        disturbers: half.filter(|_| !sender.is_on_its_host()).and_then(|half| half.disturbers.clone()),
    })
}
