//! Flags about what is sent.

use capbench_frames::{Flows, FrameLayout, MacAddress, Network, Transport, VlanTag};
use clap::Args;

/// Headers and flows.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traffic")]
pub struct LayoutFlags {
    /// Spread frames over so many flows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = flows)]
    flows: u32,
    /// Tag frames with this VLAN identifier
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(0..=4094))]
    vlan: Option<u16>,
    /// IPv6 instead of IPv4
    #[arg(long)]
    ipv6: bool,
    /// TCP instead of UDP
    #[arg(long)]
    tcp: bool,
    /// Destination Ethernet address [default: that of another host, so that the receiver's stack drops early]
    #[arg(long, value_name = "MAC")]
    dst_mac: Option<MacAddress>,
}

fn flows(text: &str) -> Result<u32, String> {
    let number: u32 = text.parse().map_err(|_| format!("\"{text}\" is not a number of flows"))?;
    Flows::new(number).map(Flows::get).map_err(|error| error.to_string())
}

/// Reads the name of a transmit method.
pub fn transmit(text: &str) -> Result<String, String> {
    capbench_traffic::transmit::method(text)
        .map(|method| method.to_string())
        .map_err(|error| error.to_string())
}

impl LayoutFlags {
    /// Whether any of the flags was given.
    pub fn is_given(&self) -> bool {
        self.flows != 1 || self.vlan.is_some() || self.ipv6 || self.tcp || self.dst_mac.is_some()
    }

    /// The headers that the flags ask for.
    pub fn layout(&self) -> anyhow::Result<FrameLayout> {
        let default = FrameLayout::default();
        Ok(FrameLayout {
            vlan: self.vlan.map(|tci| VlanTag { tci }),
            network: if self.ipv6 { Network::V6 } else { Network::V4 },
            transport: if self.tcp { Transport::Tcp } else { Transport::Udp },
            destination: self.dst_mac.unwrap_or(default.destination),
            flows: Flows::new(self.flows)?,
            ..default
        })
    }
}
