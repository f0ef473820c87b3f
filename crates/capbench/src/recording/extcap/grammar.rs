//! Sentences of extcap(4), which Wireshark parses, one per line.

use std::fmt::Write;

use capbench_model::options::CaptureOptions;
use capbench_model::units::SnapLength;

use capbench_sys::host::interface::LinkLayer;
use capbench_sys::pcap::LinkType;

/// Prefix of interface names. Wireshark lists the interfaces themselves under their own names.
const PREFIX: &str = "capbench-";

/// Name and version of the program.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("extcap {{version={version}}}{{display=capbench, a choice of capture methods}}\n")
}

/// The interfaces. A name that would break a sentence is left out.
pub fn interfaces(names: &[String]) -> String {
    let can_be_said = |name: &&String| !name.contains(|c: char| "{}".contains(c) || c.is_control());
    names.iter().filter(can_be_said).fold(String::new(), |mut lines, name| {
        // Writing to a string does not fail.
        let _ = writeln!(lines, "interface {{value={PREFIX}{name}}}{{display=capbench: {name}}}");
        lines
    })
}

/// The host's name of an interface that [`interfaces`] lists.
pub fn host_interface(called: &str) -> Option<&str> {
    called.strip_prefix(PREFIX).filter(|name| !name.is_empty())
}

/// The only link type of an interface, by its `DLT_*`: Wireshark compiles filters for it.
pub fn dlts(layer: LinkLayer) -> String {
    let (LinkType(number), name, display) = match layer {
        LinkLayer::Ethernet => (LinkType::ETHERNET, "EN10MB", "Ethernet"),
        LinkLayer::Ip => (LinkType::RAW, "RAW", "Raw IP"),
    };
    format!("dlt {{number={number}}}{{name={name}}}{{display={display}}}\n")
}

/// The options, with the available methods and their descriptions; `usual` is chosen if it is among them.
pub fn config(methods: &[(&str, String)], usual: &str) -> String {
    let CaptureOptions { ring, .. } = CaptureOptions::default();
    let most = SnapLength::EVERYTHING.octets();
    let mut lines = String::new();
    let mut line = |text: String| {
        lines.push_str(&text);
        lines.push('\n');
    };
    line("arg {number=0}{call=--method}{display=Capture method}{type=selector}{tooltip=capbench methods describes each}".into());
    let default = methods.iter().find(|(name, _)| *name == usual).or(methods.first());
    for (name, summary) in methods {
        let is_default = default.is_some_and(|(default, _)| default == name);
        let display = plain(&format!("{name}: {summary}"));
        line(format!("value {{arg=0}}{{value={name}}}{{display={display}}}{{default={is_default}}}"));
    }
    line(format!(
        "arg {{number=1}}{{call=--ring}}{{display=Ring}}{{type=string}}{{default={ring}}}\
         {{validation=^[0-9]+(B|KiB|MiB|GiB)?$}}{{tooltip=Memory for frames until they are read, such as 64MiB}}"
    ));
    line(format!(
        "arg {{number=2}}{{call=--snaplen}}{{display=Octets of each frame}}{{type=unsigned}}{{range=0,{most}}}\
         {{default={most}}}{{tooltip=0 for all}}"
    ));
    line("arg {number=3}{call=--direction}{display=Direction}{type=selector}{tooltip=Methods by XDP see arriving frames only}".into());
    for (value, display) in
        [("inout", "arriving and sent"), ("in", "arriving only"), ("out", "sent by this host only")]
    {
        let is_default = value == "inout";
        line(format!("value {{arg=3}}{{value={value}}}{{display={display}}}{{default={is_default}}}"));
    }
    line("arg {number=4}{call=--no-promiscuous}{display=Only frames for this host}{type=boolflag}{default=false}\
          {tooltip=Leave the interface out of promiscuous mode}"
        .into());
    lines
}

/// A text without the characters that end a value in a sentence.
fn plain(text: &str) -> String {
    let plain = |c: char| match c {
        '{' => '(',
        '}' => ')',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::{config, host_interface, interfaces, version};

    #[test]
    fn interfaces_are_called_by_names_of_our_own() {
        let names = ["lo", "eth0.100", "br-5f", "odd name", "bad}{help=x", "bad\nname"].map(String::from);
        assert_eq!(
            interfaces(&names),
            "interface {value=capbench-lo}{display=capbench: lo}\n\
             interface {value=capbench-eth0.100}{display=capbench: eth0.100}\n\
             interface {value=capbench-br-5f}{display=capbench: br-5f}\n\
             interface {value=capbench-odd name}{display=capbench: odd name}\n"
        );
        assert_eq!(host_interface("capbench-eth0.100"), Some("eth0.100"));
        for other in ["eth0", "capbench", "capbench-", ""] {
            assert_eq!(host_interface(other), None, "{other}");
        }
        assert!(version().starts_with("extcap {version=0."));
    }

    #[test]
    fn the_method_that_is_chosen_by_itself_is_marked() {
        let methods =
            [("recv", "one {frame}\na call".to_string()), ("packet-v3", "a ring of blocks".to_string())];
        let text = config(&methods, "packet-v3");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "value {arg=0}{value=recv}{display=recv: one (frame) a call}{default=false}");
        assert_eq!(
            lines[2],
            "value {arg=0}{value=packet-v3}{display=packet-v3: a ring of blocks}{default=true}"
        );
        assert_eq!(lines.iter().filter(|line| line.starts_with("arg {number=")).count(), 5);
        assert!(config(&methods[..1], "packet-v3").lines().nth(1).unwrap().ends_with("{default=true}"));
    }
}
