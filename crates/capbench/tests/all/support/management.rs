//! A management network: a namespace from which ssh reaches hosts, which are other namespaces, each over a link of its own. The
//! server on a host starts one agent and nothing else. Each host has a name and a folder of reports of its own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};

use super::namespaces::{add_namespace, ip, remove_namespace};
use super::scratch::Scratch;
use capbench_testing::network::{eventually, program};

/// The network. It is removed on drop, with its servers.
pub struct Management {
    space: String,
    /// Keys, settings, and the script `ssh` that knows them.
    folder: Scratch,
    hosts: Vec<Host>,
}

/// A namespace that is reached, and its server.
struct Host {
    space: String,
    server: Child,
}

/// One of the two ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Where ssh runs.
    Client,
    /// Where its server runs.
    Host,
}

impl Management {
    /// The interface of a host.
    pub const INTERFACE: &str = "mgmt";
    /// Where agents of root leave reports, on each host.
    const REPORTS: &str = "/run/capbench";

    /// Makes the namespace `space` and reaches `hosts` from it: the namespace of each, with the command that its server starts.
    pub fn make(space: &str, hosts: &[(String, String)]) -> Self {
        let mut management = Self { space: space.into(), folder: Scratch::new(), hosts: Vec::new() };
        add_namespace(space);
        for key in ["host", "user"] {
            let made =
                program("ssh-keygen -q -t ed25519 -N").args(["", "-f", &management.file(key)]).status();
            assert!(made.unwrap().success());
        }
        std::fs::create_dir_all("/run/sshd").unwrap();
        for (nth, (host, agent)) in hosts.iter().enumerate() {
            let interface = Self::INTERFACE;
            ip(&format!("-n {space} link add m{nth} type veth peer name {interface} netns {host}"));
            ip(&format!("-n {space} addr add {}/30 dev m{nth}", address(nth, End::Client)));
            ip(&format!("-n {host} addr add {}/30 dev {interface}", address(nth, End::Host)));
            let server = management.serve(nth, host, agent);
            management.hosts.push(Host { space: host.clone(), server });
            management.repair(nth);
        }
        management.write_client();
        management
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// Starts the server of a host; returns when it listens.
    fn serve(&self, nth: usize, host: &str, agent: &str) -> Child {
        let [keys, settings, log] = ["keys", "settings", "log"].map(|name| format!("{name}{nth}"));
        let key = format!("restrict,command=\"{agent}\" {}", self.read("user.pub"));
        std::fs::write(self.file(&keys), key).unwrap();
        let lines = [
            // All addresses: this one is usable only when the link is up.
            "ListenAddress 0.0.0.0".into(),
            format!("HostKey {}", self.file("host")),
            format!("AuthorizedKeysFile {}", self.file(&keys)),
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no".into(),
            "PermitRootLogin yes\nPidFile none\nUseDNS no\n".into(),
        ];
        std::fs::write(self.file(&settings), lines.join("\n")).unwrap();
        let reports = Self::REPORTS;
        let begin = format!(
            "hostname {host} && mkdir -p -m 700 {reports} && mount -t tmpfs -o mode=700 none {reports} && exec \"$@\""
        );
        let mut server = program(&format!("ip netns exec {host} unshare --mount --uts sh -c"));
        server.args([&begin, "sh"]).arg(program("sshd").get_program());
        server.args(["-D", "-f", &self.file(&settings), "-E", &self.file(&log)]);
        let server = server.spawn().unwrap();
        let listens =
            || std::fs::read_to_string(self.file(&log)).is_ok_and(|log| log.contains("Server listening"));
        eventually("the server listens", listens);
        server
    }

    fn write_client(&self) {
        let key = self.read("host.pub");
        let known: String =
            (0..self.hosts.len()).map(|nth| format!("{} {key}", address(nth, End::Host))).collect();
        std::fs::write(self.file("known"), known).unwrap();
        let [ip, ssh] = ["ip", "ssh"].map(|name| program(name).get_program().display().to_string());
        let options =
            format!("-F none -o UserKnownHostsFile={} -i {}", self.file("known"), self.file("user"));
        let script = format!("#!/bin/sh\nexec {ip} netns exec {} {ssh} {options} \"$@\"\n", self.space);
        std::fs::write(self.file("ssh"), script).unwrap();
        std::fs::set_permissions(self.file("ssh"), Permissions::from_mode(0o755)).unwrap();
    }

    /// Makes a command find the `ssh` that reaches the hosts.
    pub fn reached_by(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.path().display()));
        command
    }

    /// The location of an interface of a host.
    pub fn location(&self, nth: usize, interface: &str) -> String {
        format!("ssh:root@{}/{interface}", address(nth, End::Host))
    }

    /// The command that starts the agent of a host.
    pub fn agent(&self, nth: usize) -> String {
        format!("{} -T root@{}", self.file("ssh"), address(nth, End::Host))
    }

    /// The namespace where ssh runs.
    pub fn space(&self) -> &str {
        &self.space
    }

    /// The server of a host: its process.
    pub fn server(&self, nth: usize) -> u32 {
        self.hosts[nth].server.id()
    }

    /// The folder of the reports that agents of a host leave.
    pub fn reports(&self, nth: usize) -> String {
        format!("/proc/{}/root{}", self.server(nth), Self::REPORTS)
    }

    /// Processes of sessions that the server of a host has now.
    pub fn sessions(&self, nth: usize) -> Vec<u32> {
        // Each program before the server has replaced itself by the next one.
        let pid = self.server(nth);
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }

    /// Makes ssh forget the keys of all hosts.
    pub fn forget_hosts(&self) {
        std::fs::write(self.file("known"), "").unwrap();
    }

    /// Cuts the link to a host.
    pub fn cut(&self, nth: usize) {
        ip(&format!("-n {} link set m{nth} down", self.space));
    }

    /// Loses all packets of a link in one direction: this end sends them to hardware that is not there.
    pub fn mute(&self, nth: usize, end: End) {
        self.set_neighbour(nth, end, "02:00:00:00:00:ff");
    }

    /// Makes the link to a host whole. Neither end ever asks for the other's hardware address.
    pub fn repair(&self, nth: usize) {
        for end in [End::Client, End::Host] {
            let (space, interface) = self.end(nth, end);
            ip(&format!("-n {space} link set {interface} address {} up", hardware(nth, end)));
        }
        for (end, other) in [(End::Client, End::Host), (End::Host, End::Client)] {
            self.set_neighbour(nth, end, &hardware(nth, other));
        }
    }

    fn end(&self, nth: usize, end: End) -> (&str, String) {
        match end {
            End::Client => (&self.space, format!("m{nth}")),
            End::Host => (&self.hosts[nth].space, Self::INTERFACE.into()),
        }
    }

    fn set_neighbour(&self, nth: usize, end: End, hardware: &str) {
        let (space, interface) = self.end(nth, end);
        let other = address(nth, if end == End::Client { End::Host } else { End::Client });
        ip(&format!("-n {space} neigh replace {other} lladdr {hardware} dev {interface} nud permanent"));
    }
}

fn address(nth: usize, end: End) -> String {
    format!("198.51.100.{}", 4 * nth + if end == End::Client { 1 } else { 2 })
}

fn hardware(nth: usize, end: End) -> String {
    format!("02:00:00:00:{nth:02x}:{:02x}", if end == End::Client { 1 } else { 2 })
}

impl Drop for Management {
    fn drop(&mut self) {
        for nth in 0..self.hosts.len() {
            for session in self.sessions(nth) {
                let _ = program("sh -c").arg(format!("kill -KILL {session}")).output();
            }
            let server = &mut self.hosts[nth].server;
            let _ = server.kill();
            let _ = server.wait();
        }
        remove_namespace(&self.space);
    }
}
