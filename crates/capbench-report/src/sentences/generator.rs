//! The words of `GeneratorFacts`: how a generator ran.

use capbench_model::generator::GeneratorFacts;

/// How the generators of a trial ran.
pub fn line(generators: &[GeneratorFacts]) -> String {
    generators.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// How a generator ran.
pub fn words(generator: &GeneratorFacts) -> String {
    match generator {
        GeneratorFacts::Method { batch, send_buffer_bytes, ring_slots, in_flight, qdisc_bypass } => {
            let ring = match ring_slots {
                Some(slots) => format!(", ring of {slots} slots"),
                None => String::new(),
            };
            let in_flight = match in_flight {
                Some(frames) => format!("up to {frames} frames"),
                None => "any number of frames".into(),
            };
            let bypass = if *qdisc_bypass { ", past the queueing discipline" } else { "" };
            format!(
                "batches of {batch}, send buffer {send_buffer_bytes} octets{ring}, {in_flight} on their way{bypass}"
            )
        }
        GeneratorFacts::Otg { version, api } => {
            let version = version.as_deref().unwrap_or("unknown");
            let api = api.as_deref().unwrap_or("unknown");
            format!("an OTG generator, version {version}, API {api}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{GeneratorFacts, line, words};

    #[test]
    fn a_generator_is_said_with_its_buffers() {
        let socket = GeneratorFacts::Method {
            batch: 64,
            send_buffer_bytes: 425_984,
            ring_slots: None,
            in_flight: Some(500),
            qdisc_bypass: true,
        };
        let ring = GeneratorFacts::Method {
            batch: 1,
            send_buffer_bytes: 0,
            ring_slots: Some(1024),
            in_flight: None,
            qdisc_bypass: false,
        };
        assert_eq!(
            line(&[socket, ring]),
            "batches of 64, send buffer 425984 octets, up to 500 frames on their way, past the queueing discipline; batches of 1, \
             send buffer 0 octets, ring of 1024 slots, any number of frames on their way"
        );
        let otg = GeneratorFacts::Otg { version: Some("1.4".into()), api: None };
        assert_eq!(words(&otg), "an OTG generator, version 1.4, API unknown");
    }
}
