//! `capbench otg`: ports of this host for scripts of the Open Traffic Generator API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Result;
use capbench_http::{Port, Protection};
use capbench_model::units::ByteCount;
use capbench_otg::{Allowed, Options, OtgError, Server};
use clap::Args;

use crate::exit::{Exit, Usage};
use crate::flag_values::positive_duration;
use crate::signals::Stop;

#[derive(Args, Clone, Debug)]
pub struct OtgFlags {
    /// Interface that clients may send and capture on; more than once
    #[arg(long = "port", value_name = "IF", required = true)]
    ports: Vec<String>,
    /// Address and port of the server
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Stop flows and captures when their client sends no request for so long
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = positive_duration)]
    lease: Duration,
    /// Nothing but tests is on the links of the interfaces, though they have addresses or a default route
    #[arg(long)]
    isolated: bool,
    /// Certificate of the server (PEM); without one it serves only this host, without TLS
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "web_config")]
    tls_cert: Option<PathBuf>,
    /// Key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Authority that signs the certificates of clients (PEM); without one they need none
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    client_ca: Option<PathBuf>,
    /// TLS, client certificates and passwords: a web configuration file of Prometheus
    #[arg(long, value_name = "FILE")]
    web_config: Option<PathBuf>,
    /// Largest capture of a port, in memory when it is fetched
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    capture_size: ByteCount,
    /// Folder for captures until they are fetched [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    capture_dir: Option<PathBuf>,
}

impl OtgFlags {
    fn protection(&self) -> Protection {
        match (&self.tls_cert, &self.tls_key, &self.web_config) {
            (Some(certificate), Some(key), _) => Protection::Tls {
                flag: "--tls-cert",
                certificate: certificate.clone(),
                key: key.clone(),
                client_authority: self.client_ca.clone(),
            },
            (_, _, Some(file)) => Protection::WebConfig(file.clone()),
            _ => Protection::None,
        }
    }
}

pub fn run(flags: &OtgFlags) -> Result<Exit> {
    let port = Port::open("--listen", flags.listen, flags.protection())?;
    let options = Options {
        allowed: Allowed { interfaces: flags.ports.clone(), isolated: flags.isolated },
        lease: flags.lease,
        capture_size: flags.capture_size,
        capture_folder: flags.capture_dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    options.check()?;
    let (signalled, is_signalled) = mpsc::channel();
    // The main thread waits for it.
    let stop = Stop::calling(move || signalled.send(()).unwrap_or_default())?;
    let (address, scheme) = (port.address(), if port.has_tls() { "https" } else { "http" });
    let server =
        Server::start(port, options, |words| tell!("capbench: {words}")).map_err(|error| match error {
            OtgError::Flag(why) => Usage(why).into(),
            other => anyhow::Error::from(other),
        })?;
    if let Some(address) = address {
        tell!("capbench: OTG at {scheme}://{address}, ports {}", flags.ports.join(", "));
    }
    is_signalled.recv()?;
    server.stop();
    Ok(Exit::Stopped(stop.signal()))
}
