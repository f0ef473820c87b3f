//! Entry points of the fuzz targets of `fuzz/`: readers of this crate on any octets. Unit tests run each on its corpus.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use crate::commands::campaign;
use crate::recording::auto;
use crate::recording::extcap::{self, PROGRAM, as_called};
use crate::{Cli, Command, configuration, help};

/// Arguments from Wireshark, one per line: they are parsed or refused, and nothing is opened.
pub fn extcap(octets: &[u8]) {
    let words = octets.split(|octet| *octet == b'\n').map(|word| OsString::from_vec(word.into()));
    let line = as_called([OsString::from(PROGRAM)].into_iter().chain(words).collect());
    if let Ok(Cli { command: Command::Extcap(flags), .. }) = Cli::read(line) {
        extcap::understand(&flags);
    }
}

/// A results file from which `record` chooses a method.
pub fn auto(octets: &[u8]) {
    auto::understand(octets);
}

/// A file of settings. The command line interface is made once: it takes longer than a file.
pub fn configuration(octets: &[u8]) {
    static CLI: OnceLock<clap::Command> = OnceLock::new();
    let cli = CLI.get_or_init(|| help::equipped(<Cli as clap::CommandFactory>::command()));
    configuration::understand(cli, octets);
}

/// A campaign.
pub fn campaign(octets: &[u8]) {
    campaign::understand(octets);
}

#[cfg(test)]
mod tests {
    use capbench_testing::replay;

    #[test]
    fn every_file_of_each_corpus_is_understood_or_refused() {
        replay("extcap", super::extcap);
        replay("results", super::auto);
        replay("configuration", super::configuration);
        replay("campaign", super::campaign);
    }
}
