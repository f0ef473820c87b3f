//! `capbench otg`: ports for scripts of the Open Traffic Generator API, and a port for another `capbench otg`.

use std::io::{stdin, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Result;
use capbench_frames::Pps;
use capbench_http::{Port, Protection};
use capbench_model::units::ByteCount;
use capbench_otg::{Agent, Allowed, Options, OtgError, Server};
use clap::Args;

use crate::exit::{Exit, Usage};
use crate::flag_values::{frames_per_second, positive_duration};
use crate::privileges::listening::keep_for_ports;
use crate::signals::Stop;

#[derive(Args, Clone, Debug)]
pub struct OtgFlags {
    /// Interface that clients may send and capture on; more than once. On another host it is ssh:[USER@]HOST/IF, in another
    /// network namespace netns:NAME/IF; exec:COMMAND,IF starts any otg --agent
    #[arg(long = "port", value_name = "IF", required = true)]
    ports: Vec<String>,
    /// Serve one of the interfaces to another otg, which starts this one: standard input and output are the connection
    #[arg(long, conflicts_with_all = ["listen", "tls_cert", "web_config"])]
    agent: bool,
    /// Address and port of the server
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Stop flows and captures when their client sends no request for so long
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = positive_duration)]
    lease: Duration,
    /// Highest rate that clients may send on a port, in frames per second
    #[arg(long, value_name = "RATE", value_parser = frames_per_second)]
    max_rate: Option<Pps>,
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
    /// Largest capture of a port
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    capture_size: ByteCount,
    /// Folder for captures until they are fetched [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    capture_dir: Option<PathBuf>,
}

pub fn run(flags: &OtgFlags) -> Result<Exit> {
    let options = Options {
        allowed: Allowed {
            interfaces: flags.ports.clone(),
            isolated: flags.isolated,
            max_rate: flags.max_rate,
        },
        lease: flags.lease,
        capture_size: flags.capture_size,
        capture_folder: flags.capture_dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    if flags.agent {
        let folder = options.capture_folder.clone();
        let agent = Agent::new(options).map_err(of_flags)?;
        keep_for_ports(&flags.ports, &folder, Vec::new())?;
        let stop = Stop::calling(agent.end())?;
        agent.serve(stdin(), stdout())?;
        return Ok(if stop.is_wanted() { Exit::Stopped(stop.signal()) } else { Exit::Done });
    }
    options.check().map_err(of_flags)?;
    let tls = flags.tls_cert.clone().zip(flags.tls_key.clone());
    let files = Protection::of_files("--tls-cert", tls, flags.client_ca.clone(), flags.web_config.clone());
    let port = Port::open("--listen", flags.listen, files)?;
    let (signalled, is_signalled) = mpsc::channel();
    // The main thread waits for it.
    let stop = Stop::calling(move || signalled.send(()).unwrap_or_default())?;
    let (address, scheme) = (port.address(), if port.has_tls() { "https" } else { "http" });
    if let Some(reason) = keep_for_ports(&flags.ports, &options.capture_folder, port.folders())? {
        tell!("capbench: not confined to its files: {reason}");
    }
    let server = Server::start(port, options, |words| tell!("capbench: {words}")).map_err(of_flags)?;
    if let Some(address) = address {
        tell!("capbench: OTG at {scheme}://{address}, ports {}", flags.ports.join(", "));
    }
    is_signalled.recv()?;
    if !server.stop() {
        tell!("capbench: flows are stopped; a request still runs, and the next otg removes its captures");
    }
    Ok(Exit::Stopped(stop.signal()))
}

fn of_flags(error: OtgError) -> anyhow::Error {
    if let OtgError::Flag(why) = error { Usage(why).into() } else { error.into() }
}
