//! Flags of `capbench extcap`: what Wireshark asks of a program that captures for it, in Wireshark's words (extcap(4)).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::capture::CaptureFlags;

/// The name under which Wireshark finds this program, and starts it without a subcommand.
pub const PROGRAM: &str = "capbench-extcap";

/// What Wireshark asks, or where it shall find this program.
#[derive(Args, Clone, Debug)]
pub struct ExtcapFlags {
    /// Let Wireshark and tshark find this program, by a link in DIR [default: in this user's own folders for that]
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub install: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub question: Question,
    /// Capture method; one that can run here, of those that `capbench methods` lists
    #[arg(long, value_name = "METHOD", default_value = DEFAULT_METHOD)]
    pub method: String,
    #[command(flatten)]
    pub capture: CaptureFlags,
}

/// The method where none is named.
pub const DEFAULT_METHOD: &str = "packet-v3";

/// What only Wireshark asks.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "As Wireshark asks")]
pub struct Question {
    /// List the interfaces
    #[arg(long)]
    pub extcap_interfaces: bool,
    /// The version of Wireshark; alone: tell ours
    #[arg(long, value_name = "VERSION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub extcap_version: Option<String>,
    /// Which interface, as --extcap-interfaces calls it
    #[arg(long, value_name = "capbench-IF")]
    pub extcap_interface: Option<String>,
    /// Tell the types of its frames
    #[arg(long)]
    pub extcap_dlts: bool,
    /// Tell what can be set about capturing from it
    #[arg(long)]
    pub extcap_config: bool,
    /// Which frames (pcap-filter(7)); without --capture: say what is wrong with the filter, and nothing when it is right
    #[arg(long, value_name = "FILTER", allow_hyphen_values = true)]
    pub extcap_capture_filter: Option<String>,
    /// Capture
    #[arg(long, requires = "fifo", requires = "extcap_interface")]
    pub capture: bool,
    /// The pipe to write what is captured to
    #[arg(long, value_name = "FILE")]
    pub fifo: Option<PathBuf>,
    /// A pipe with messages of controls; there are no controls, so none is read
    #[arg(long, value_name = "FILE", hide = true)]
    pub extcap_control_in: Option<PathBuf>,
    /// A pipe for messages to controls; there are no controls, so none is written
    #[arg(long, value_name = "FILE", hide = true)]
    pub extcap_control_out: Option<PathBuf>,
    /// Wireshark had to kill a capture: nothing of it is left to be removed
    #[arg(long, hide = true)]
    pub extcap_cleanup_postkill: bool,
}

/// The command line with the subcommand that the name stands for under which the program was started.
pub fn as_called(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.first().and_then(|program| Path::new(program).file_name());
    if name.is_some_and(|name| name == PROGRAM) {
        arguments.insert(1, "extcap".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::as_called;
    use std::ffi::OsString;

    #[test]
    fn only_the_name_that_wireshark_uses_stands_for_the_subcommand() {
        let called = |line: &str| {
            let arguments = as_called(line.split_whitespace().map(OsString::from).collect());
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(called("/x/capbench-extcap --capture"), "/x/capbench-extcap extcap --capture");
        assert_eq!(called("capbench-extcap"), "capbench-extcap extcap");
        for other in ["capbench --capture", "/capbench-extcap/capbench count", ""] {
            assert_eq!(called(other), other);
        }
    }
}
