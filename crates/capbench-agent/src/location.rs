//! Where an interface is: in this network namespace, in another one, on another host, or in a generator of others.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use crate::error::NoLocation;

/// The location of an interface. [`fmt::Display`] writes the text that [`FromStr`] parses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// `IF`: an interface of this process's network namespace.
    Here {
        /// The interface.
        interface: String,
    },
    /// `ssh:[USER@]HOST/IF`: an interface of a host that OpenSSH reaches.
    Ssh {
        /// The host, with a user if the text names one.
        host: String,
        /// The interface.
        interface: String,
    },
    /// `netns:NAME/IF`: an interface of a network namespace of this host, as ip-netns(8) names it.
    Namespace {
        /// The namespace.
        name: String,
        /// The interface.
        interface: String,
    },
    /// `exec:COMMAND,IF`: an interface that an agent can use whose standard input and output are those of this command. Blanks
    /// separate its arguments; no shell reads it.
    Exec {
        /// The command and its arguments.
        command: Vec<String>,
        /// The interface.
        interface: String,
    },
    /// `otg:URL,PORT`: a port of a generator that the Open Traffic Generator API drives.
    Otg {
        /// Where the API is served: `https://HOST:PORT`.
        url: String,
        /// The port, in the words of its server.
        interface: String,
    },
}

/// Without a terminal and without a question, which nobody could answer; without forwarding. Neither end sends anything that no
/// call needs: BatchMode has keep-alive messages by default on Debian, and so may the user's configuration. Leases notice a
/// connection that is gone. The connection is not shared with other sessions (ControlMaster): it would have their packets, and
/// the options of the ssh that opened it.
const SSH: [&str; 15] = [
    "ssh",
    "-T",
    "-a",
    "-x",
    "-o",
    "BatchMode=yes",
    "-o",
    "ServerAliveInterval=0",
    "-o",
    "TCPKeepAlive=no",
    "-o",
    "ControlPath=none",
    "-o",
    "ConnectTimeout=10",
    "--",
];

impl Location {
    /// The interface's name where it is.
    pub fn interface(&self) -> &str {
        let (Self::Here { interface }
        | Self::Ssh { interface, .. }
        | Self::Namespace { interface, .. }
        | Self::Exec { interface, .. }
        | Self::Otg { interface, .. }) = self;
        interface
    }

    /// Whether it is an interface of this process's network namespace.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Here { .. })
    }

    /// Whether what is there may be reached through a network.
    pub fn may_use_a_network(&self) -> bool {
        matches!(self, Self::Ssh { .. } | Self::Exec { .. } | Self::Otg { .. })
    }

    /// The command that starts this program there: with these words, where the location leaves the choice. `own` is this
    /// program's file.
    pub fn command(&self, own: OsString, words: &[String]) -> Vec<OsString> {
        let mut command: Vec<OsString> = match self {
            // This program does not run where a generator of others is.
            Self::Here { .. } | Self::Otg { .. } => vec![own],
            Self::Namespace { name, .. } => {
                ["ip", "netns", "exec", name].into_iter().map(Into::into).chain([own]).collect()
            }
            Self::Ssh { host, .. } => {
                let host = host.replace(['[', ']'], "");
                SSH.into_iter().chain([host.as_str(), "capbench"]).map(Into::into).collect()
            }
            Self::Exec { command, .. } => return command.iter().map(Into::into).collect(),
        };
        command.extend(words.iter().map(Into::into));
        command
    }
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| NoLocation { text, why }.to_string();
        let named = |name: &str, what: &str| match name {
            "" => Err(refuse(&format!("the {what} is missing"))),
            name if name.starts_with('-') => Err(refuse(&format!("the {what} begins with a dash"))),
            // ssh passes its words to a shell on the host.
            name if name.chars().all(|one| one.is_alphanumeric() || "._:@%[]-".contains(one)) => {
                Ok(name.to_string())
            }
            _ => Err(refuse(&format!("the {what} has a character that no {what} has"))),
        };
        let parts = |rest: &str| -> Result<(String, String), String> {
            let (place, interface) = rest.rsplit_once('/').ok_or_else(|| refuse("there is no /"))?;
            Ok((named(place, "host or namespace")?, named(interface, "interface")?))
        };
        if let Some(rest) = text.strip_prefix("ssh:") {
            let (host, interface) = parts(rest)?;
            return Ok(Self::Ssh { host, interface });
        }
        if let Some(rest) = text.strip_prefix("netns:") {
            let (name, interface) = parts(rest)?;
            return Ok(Self::Namespace { name, interface });
        }
        if let Some(rest) = text.strip_prefix("exec:") {
            let (command, interface) = rest.rsplit_once(',').ok_or_else(|| refuse("there is no comma"))?;
            let command: Vec<String> = command.split_whitespace().map(String::from).collect();
            if command.is_empty() {
                return Err(refuse("the command is missing"));
            }
            return Ok(Self::Exec { command, interface: named(interface, "interface")? });
        }
        if let Some(rest) = text.strip_prefix("otg:") {
            let (url, interface) = rest.split_once(',').ok_or_else(|| refuse("there is no comma"))?;
            if !["https://", "http://"]
                .iter()
                .any(|scheme| url.len() > scheme.len() && url.starts_with(scheme))
            {
                return Err(refuse("the server is not https://HOST:PORT"));
            }
            if interface.is_empty() || interface.contains([',', ' ']) {
                return Err(refuse("the port is missing, or has a character that no port has"));
            }
            return Ok(Self::Otg { url: url.into(), interface: interface.into() });
        }
        if text.is_empty() || text.contains(['/', ' ', ',']) {
            return Err(refuse("no interface is named so"));
        }
        Ok(Self::Here { interface: text.into() })
    }
}

/// Locations in one text, separated by commas. An `exec:` among them has the rest of the text, as its command may have commas; an
/// `otg:` has one comma.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locations(pub Vec<Location>);

impl FromStr for Locations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut all, mut rest) = (Vec::new(), text);
        while let Some((first, more)) = rest.split_once(',').filter(|_| !rest.starts_with("exec:")) {
            let (first, more) = match more.split_once(',') {
                Some((port, _)) if first.starts_with("otg:") => {
                    let (both, more) = rest.split_at(first.len() + 1 + port.len());
                    (both, &more[1..])
                }
                None if first.starts_with("otg:") => break,
                _ => (first, more),
            };
            all.push(first.parse()?);
            rest = more;
        }
        all.push(rest.parse()?);
        Ok(Self(all))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here { interface } => f.write_str(interface),
            Self::Ssh { host, interface } => write!(f, "ssh:{host}/{interface}"),
            Self::Namespace { name, interface } => write!(f, "netns:{name}/{interface}"),
            Self::Exec { command, interface } => write!(f, "exec:{},{interface}", command.join(" ")),
            Self::Otg { url, interface } => write!(f, "otg:{url},{interface}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Location {
        text.parse().unwrap()
    }

    #[test]
    fn locations_are_read_and_written_alike() {
        for text in [
            "eth1",
            "veth0.100",
            "ssh:gen1/eth1",
            "ssh:me@gen1.example/eth1",
            "ssh:[2001:db8::1]/eth1",
            "netns:gen/veth0",
            "exec:kubectl exec -i gen -- capbench agent,eth1",
            "exec:a,b,eth1",
            "otg:https://ctl:8443,p1",
            "otg:http://[::1]:8080/otg,10.0.0.1:5555",
        ] {
            let read = location(text);
            assert_eq!(read.to_string(), text);
            assert_eq!(read.is_here(), !text.contains(':'));
        }
        assert_eq!(location("exec:a  b,eth1").to_string(), "exec:a b,eth1");
        assert_eq!(location("ssh:gen1/eth1").interface(), "eth1");
    }

    #[test]
    fn a_list_has_commas_between_locations() {
        let read = |text: &str| text.parse::<Locations>().map(|Locations(all)| all);
        for text in [
            "eth1",
            "ssh:gen1/eth1,netns:gen/veth0,eth2",
            "ssh:gen1/eth1,exec:a,b,eth1",
            "otg:https://c:8443,p1,otg:https://c:8443,p2,eth2",
        ] {
            let written: Vec<_> = read(text).unwrap().iter().map(Location::to_string).collect();
            assert_eq!(written.join(","), text);
        }
        assert_eq!(read("ssh:gen1/eth1,exec:a,b,eth1").unwrap().len(), 2);
        assert_eq!(read("otg:https://c:8443,p1,otg:https://c:8443,p2,eth2").unwrap().len(), 3);
        assert!(read("eth1,,eth2").is_err() && read("eth1,").is_err());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("", "no interface is named so"),
            ("gen1/eth1", "no interface is named so"),
            ("ssh:gen1", "there is no /"),
            ("ssh:/eth1", "the host or namespace is missing"),
            ("ssh:gen1/", "the interface is missing"),
            ("ssh:-oProxyCommand=x/eth1", "begins with a dash"),
            ("ssh:gen1/eth1;reboot", "has a character that no interface has"),
            ("netns:a b/eth1", "has a character"),
            ("exec:eth1", "there is no comma"),
            ("exec: ,eth1", "the command is missing"),
            ("otg:https://ctl:8443", "there is no comma"),
            ("otg:ctl:8443,p1", "the server is not https://HOST:PORT"),
            ("otg:https://ctl:8443,", "the port is missing"),
        ] {
            let error = text.parse::<Location>().unwrap_err();
            assert!(
                error.contains(why) && error.ends_with("or otg:https://HOST:PORT,PORT"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn the_command_of_an_agent_is_made_of_words_without_a_shell() {
        let command = |text: &str| -> Vec<String> {
            let words = ["agent", "--allow", "send:eth1"].map(String::from);
            let words = location(text).command("/bin/cb".into(), &words);
            words.into_iter().map(|word| word.into_string().unwrap()).collect()
        };
        assert_eq!(command("eth1"), ["/bin/cb", "agent", "--allow", "send:eth1"]);
        assert_eq!(command("netns:gen/eth1")[..6], ["ip", "netns", "exec", "gen", "/bin/cb", "agent"]);
        let ssh = command("ssh:me@gen1/eth1");
        assert_eq!(ssh[14..], ["--", "me@gen1", "capbench", "agent", "--allow", "send:eth1"]);
        for option in ["ServerAliveInterval=0", "TCPKeepAlive=no", "ControlPath=none", "ConnectTimeout=10"] {
            assert!(ssh.contains(&option.into()), "{option}");
        }
        // ssh has no brackets around an address, as no port can follow it.
        assert_eq!(command("ssh:me@[2001:db8::1]/eth1")[15], "me@2001:db8::1");
        assert_eq!(command("exec:rsh gen1 agent,eth1"), ["rsh", "gen1", "agent"]);
    }
}
