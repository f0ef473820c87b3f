//! What running commands of root can still do: the capabilities of each thread, and the files that they can open.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Stdio;

use crate::support::{
    File, HOST, NOBODY, Namespaces, Place, Recording, Running, Scratch, capbench, eventually, privileges,
    program, run, send, test_bed,
};
use capbench_sys::host::capability::{Capability, CapabilitySet, Sets};
use capbench_sys::host::confinement::kernel_has_landlock;
use capbench_testing::{HostLimit, cannot_have};

const FRAMES: u64 = 20_000;
/// `ESRCH`, errno(3).
const NO_SUCH_PROCESS: i32 = 3;

fn traffic(trial: u16) -> String {
    format!("--rate 50000 --size imix -c {FRAMES} --trial {trial}")
}

/// What each thread of a process has: its sets, and whether it has `no_new_privs`.
fn threads(pid: u32) -> Vec<(String, Sets, bool)> {
    let of = |entry: fs::DirEntry| {
        let text = match fs::read_to_string(entry.path().join("status")) {
            // A thread that ended after the folder was read has no status.
            Err(error)
                if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS) =>
            {
                return None;
            }
            read => read.unwrap(),
        };
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_string();
        Some((field("Name:"), Sets::parse(&text).unwrap(), field("NoNewPrivs:") == "1"))
    };
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().filter_map(|entry| of(entry.unwrap())).collect()
}

/// Asserts that every thread has these capabilities in its permitted, effective and bounding set, none in the others.
fn assert_kept(pid: u32, kept: &[Capability]) {
    let set = CapabilitySet::of(kept);
    let wanted = Sets {
        permitted: set,
        effective: set,
        bounding: set,
        inheritable: CapabilitySet::EMPTY,
        ambient: CapabilitySet::EMPTY,
    };
    let threads = threads(pid);
    assert!(!threads.is_empty(), "it runs");
    for (name, sets, has_no_new_privs) in threads {
        assert_eq!(sets, wanted, "{name}: {sets}, not {wanted}");
        assert!(has_no_new_privs, "{name}");
    }
}

/// Whether the kernel can confine a command: the kernel is asked, not the command.
fn has_landlock() -> bool {
    let has = kernel_has_landlock();
    if !has {
        cannot_have(HostLimit::Kernel, "it has no Landlock");
    }
    has
}

#[test]
fn root_a_recorder_keeps_only_the_capabilities_that_it_uses() {
    let Some((folder, spaces)) = test_bed() else { return };
    let cases: [(&str, &[Capability]); 5] = [
        ("--method packet-v3", &[]),
        ("--method packet-v3 --workers 2", &[]),
        ("--method packet-v2 --fanout hash --members 2", &[]),
        ("--method libpcap", &[]),
        ("--method af-xdp+generic", &[Capability::Bpf]),
    ];
    for (arguments, kept) in cases {
        let file = folder.file("a.pcapng");
        let recording = Recording::start(&spaces.right, &file, arguments);
        assert!(threads(recording.running.pid()).len() >= 3, "{arguments}");
        assert_kept(recording.running.pid(), kept);
        send(&spaces, &traffic(7));
        let (_, document) = recording.interrupt();
        assert!(File::read(&file, 7, None, None).holds_once(FRAMES), "{arguments}: {document:#}");
        assert_eq!(document["interfaces"][0]["unexplained"], 0, "{arguments}: {document:#}");
        let of_interface = &document["interfaces"][0]["lost_by_interface"];
        assert_eq!(of_interface, 0, "the interface's own counters are read to the end: {document:#}");
    }
    assert!(spaces.right.ip("link show dev right").contains(" xdp ").eq(&false), "no program remains");
}

#[test]
fn root_a_recorder_may_write_to_the_folder_of_another_user_for_as_long_as_it_records() {
    let Some(()) = privileges() else { return };
    let (folder, spaces) = (Scratch::of_nobody(), Namespaces::make());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let arguments = "--method packet-v3 --file-packets 5000";
    let recording = Recording::start(&spaces.right, &folder.file("a.pcapng"), arguments);
    assert_kept(recording.running.pid(), &[Capability::DacOverride]);
    send(&spaces, &traffic(7));
    let (_, document) = recording.interrupt();
    assert_eq!(document["interfaces"][0]["written"], FRAMES, "{document:#}");
    assert_eq!(folder.entries().len() as u64, FRAMES.div_ceil(5000), "{:?}", folder.entries());
}

#[test]
fn root_another_user_has_no_capability_in_any_thread() {
    let Some(()) = privileges() else { return };
    let (folder, spaces) = (Scratch::of_nobody(), Namespaces::make());
    let arguments = "--method packet-v3 --workers 2 -Z nobody";
    let recording = Recording::start(&spaces.right, &folder.file("a.pcapng"), arguments);
    assert_kept(recording.running.pid(), &[]);
    recording.interrupt();
}

/// The recorder is confined: where a folder of the pattern becomes a symbolic link to elsewhere, it writes nothing there.
#[test]
fn root_a_recorder_opens_nothing_outside_its_folder() {
    if privileges().is_none() || !has_landlock() {
        return;
    }
    let (folder, outside, spaces) = (Scratch::new(), Scratch::new(), Namespaces::make());
    let inside = folder.file("files-x");
    fs::create_dir(&inside).unwrap();
    let pattern = folder.file("files-x/a.pcapng");
    let recording = Recording::start(&spaces.right, &pattern, "--method packet-v3 --file-packets 100 -W 5");
    fs::rename(&inside, folder.file("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path(), &inside).unwrap();
    send(&spaces, &traffic(7));
    let ended = recording.running.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let said = "a.pcapng1: Permission denied (os error 13); a recording may write only into the folder in which it began";
    assert!(ended.errors.contains(said), "{ended:?}");
    assert_eq!(outside.entries(), [] as [String; 0], "{ended:?}");
}

/// Neither is the account of a pattern's files.
#[test]
fn root_an_account_that_cannot_be_written_says_that_the_recorder_is_confined() {
    if privileges().is_none() || !has_landlock() {
        return;
    }
    let (folder, outside, spaces) = (Scratch::new(), Scratch::new(), Namespaces::make());
    let inside = folder.file("files");
    fs::create_dir(&inside).unwrap();
    let recording = Recording::start(&spaces.right, &inside.join("a%Y.pcap"), "--method packet-v3 -G 3600");
    fs::rename(&inside, folder.file("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path(), &inside).unwrap();
    recording.running.signal("INT");
    let ended = recording.running.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let said = ".pcap.ledger.json: Permission denied (os error 13); a recording may write only into the folder in which it began";
    assert!(ended.errors.contains(said), "{ended:?}");
    assert_eq!(outside.entries(), [] as [String; 0], "{ended:?}");
}

/// A user that has capabilities without being root, as a service has them, gives them up with `-Z`, too: setuid(2) alone takes
/// none of them.
#[test]
fn root_ambient_capabilities_are_given_up_with_another_user() {
    let Some((_, spaces)) = test_bed() else { return };
    let (home, copies) = (Scratch::of_nobody(), Scratch::new());
    copies.capbench_of_nobody(&home);
    chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    for (arguments, uid) in [("-Z nobody", NOBODY), ("", 1234)] {
        let mut command = program("setpriv --reuid 1234 --regid 1234 --clear-groups");
        let capabilities = "+net_raw,+setuid,+setgid";
        command
            .args(["--inh-caps", capabilities, "--ambient-caps", capabilities])
            .arg(copies.file("capbench"));
        let file = if uid == NOBODY { home.file("a.pcapng") } else { "/dev/null".into() };
        command.args(["record", "-i", "right", "--method", "packet-v3", "-w"]).arg(file);
        let mut running =
            Running::start(&spaces.right, command.args(arguments.split_whitespace()).current_dir("/"));
        running.wait_for("listening on");
        for (name, sets, has_no_new_privs) in threads(running.pid()) {
            let of_process = [sets.permitted, sets.effective, sets.inheritable, sets.ambient];
            assert_eq!(of_process, [CapabilitySet::EMPTY; 4], "{name}: {sets}");
            assert!(has_no_new_privs, "{name}");
        }
        let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
        assert!(status.contains(&format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n")), "{status}");
        running.signal("INT");
        running.end();
    }
}

/// A library to preload: its thread tries for ever to append to `victim`, and then appends to `alive`, which it opened at first, if
/// it can read.
const TRYING: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static void *keep_trying(void *alive) {
    for (;; usleep(2000)) {
        int victim = open(FOLDER "/victim", O_WRONLY | O_APPEND);
        if (victim >= 0) { write(victim, "x", 1); close(victim); }
        int text = open("/proc/version", O_RDONLY);
        if (text >= 0) { write((int)(long)alive, "x", 1); close(text); }
    }
}
__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    long alive = open(FOLDER "/alive", O_WRONLY | O_APPEND);
    pthread_create(&thread, 0, keep_trying, (void *)alive);
}
"#;

/// Code in a running command of root, as packets might bring it there, opens no file of root to write, and still reads.
#[test]
fn root_count_why_and_extcap_can_write_no_file_of_root() {
    if privileges().is_none() || !has_landlock() {
        return;
    }
    let (folder, spaces) = (Scratch::new(), Namespaces::make());
    let (source, library) = (folder.file("trying.c"), folder.file("libtrying.so"));
    fs::write(&source, TRYING.replace("FOLDER", &format!("{:?}", folder.path()))).unwrap();
    run(HOST, program("cc").args(["-shared", "-fPIC", "-pthread", "-o"]).arg(&library).arg(&source))
        .success();
    let fifo = folder.file("fifo");
    run(HOST, program("mkfifo").arg(&fifo)).success();
    let extcap =
        format!("extcap --capture --extcap-interface capbench-right --fifo {}", fifo.to_str().unwrap());
    let commands = [
        "count -i right --method packet-v3",
        "count -i right --method libpcap",
        "count -i right --members 3 --fanout lb",
        "count -i right --method xdp-count+generic --json",
        "why -i right --json",
        "why -i right --no-trace",
        "why -i right --metrics 9873",
        "count -i right --metrics 9873",
        &extcap,
    ];
    for arguments in commands {
        for name in ["victim", "alive"] {
            fs::write(folder.file(name), "").unwrap();
        }
        let size = |name: &str| folder.file(name).metadata().unwrap().len();
        let pipe = fifo.clone();
        let reader =
            arguments.starts_with("extcap").then(|| std::thread::spawn(move || fs::read(pipe).unwrap()));
        let mut command = capbench("");
        command.args(arguments.split(' ')).env("LD_PRELOAD", &library);
        let running = Running::start(&spaces.right, &mut command);
        eventually("it is confined", || {
            let (victim, alive) = (size("victim"), size("alive"));
            std::thread::sleep(std::time::Duration::from_millis(300));
            let is_confined = victim == size("victim") && size("alive") >= alive + 10;
            is_confined && threads(running.pid()).iter().all(|(_, _, has_no_new_privs)| *has_no_new_privs)
        });
        assert!(size("victim") > 0, "{arguments}: the library writes before the command is confined");
        running.signal("INT");
        let ended = running.end();
        assert_eq!(ended.code, Some(0), "{arguments}: {ended:?}");
        assert!(!ended.errors.contains("not confined"), "{arguments}: {ended:?}");
        if let Some(reader) = reader {
            assert!(!reader.join().unwrap().is_empty(), "{arguments}: {ended:?}");
        }
    }
}

#[test]
fn root_count_and_why_keep_only_the_capabilities_that_they_use() {
    let Some((_, spaces)) = test_bed() else { return };
    let count: &[Capability] = &[];
    let traced = &[Capability::NetAdmin, Capability::Syslog, Capability::Bpf];
    let untraced = &[Capability::NetAdmin, Capability::Bpf];
    let later = &[Capability::NetAdmin, Capability::Syslog, Capability::Perfmon, Capability::Bpf];
    let cases: [(&str, &[Capability]); 9] = [
        ("count -i right --method packet-v3", count),
        ("count -i right --members 3", count),
        ("count -i right --method libpcap", count),
        ("count -i right --method xdp-count+generic", &[Capability::Bpf]),
        ("why -i right", traced),
        ("why -i right --no-trace", untraced),
        ("why -i right --metrics 9873", traced),
        ("count -i right --metrics 9873", count),
        ("why --all --metrics 9873", later),
    ];
    for (arguments, kept) in cases {
        let running = Running::start(&spaces.right, capbench("").args(arguments.split(' ')));
        eventually("it has given up what it does not use", || {
            threads(running.pid()).iter().all(|(_, _, has_no_new_privs)| *has_no_new_privs)
        });
        eventually("threads started meanwhile have it, too", || {
            threads(running.pid()).iter().all(|(_, sets, _)| sets.permitted == CapabilitySet::of(kept))
        });
        assert_kept(running.pid(), kept);
        running.signal("INT");
        let ended = running.end();
        assert!(matches!(ended.code, Some(0)), "{arguments}: {ended:?}");
    }
}

/// A command that waits for its controller, and what holds its input open.
struct Waiting(std::process::Child);

impl Waiting {
    fn start(place: &Place, arguments: &str) -> Self {
        let mut command = capbench(arguments);
        Self(place.spawn(command.stdin(Stdio::piped()).stdout(Stdio::null())))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // The end of its input ends it.
        let _ = self.0.wait();
    }
}

fn wait_until_kept(pid: u32, kept: &[Capability]) {
    eventually("it has given up what it does not use", || {
        let has_kept = |sets: Sets| sets.permitted == CapabilitySet::of(kept);
        threads(pid).into_iter().all(|(_, sets, has_no_new_privs)| has_no_new_privs && has_kept(sets))
    });
    assert_kept(pid, kept);
}

#[test]
fn root_otg_and_agent_keep_only_the_capabilities_that_they_use() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.ip("link set lo up");
    let of_agent = &[
        Capability::NetAdmin,
        Capability::NetRaw,
        Capability::IpcLock,
        Capability::Syslog,
        Capability::Perfmon,
        Capability::Bpf,
    ];
    let of_ports = &[Capability::NetAdmin, Capability::NetRaw];
    let waiting: [(&str, &[Capability]); 2] =
        [("agent --allow send:left", of_agent), ("otg --agent --port left", of_ports)];
    for (arguments, kept) in waiting {
        let waiting = Waiting::start(&place, arguments);
        wait_until_kept(waiting.0.id(), kept);
    }
    let elsewhere = &[Capability::NetAdmin, Capability::NetRaw, Capability::SysAdmin];
    let servers: [(&str, &[Capability], bool); 2] = [
        ("otg --port left --port right", of_ports, true),
        ("otg --port left --port netns:nosuch/right", elsewhere, false),
    ];
    for (arguments, kept, is_confined) in servers {
        let mut server = Running::start(&place, capbench("").args(arguments.split(' ')));
        server.wait_for("OTG at ");
        wait_until_kept(server.pid(), kept);
        server.signal("INT");
        let ended = server.end();
        if kernel_has_landlock() {
            assert_eq!(ended.errors.contains("not confined"), !is_confined, "{arguments}: {ended:?}");
        }
    }
}

/// The server reads certificates anew when they change: also then, nothing outside the folders that it began with.
#[test]
fn root_a_server_of_otg_reads_nothing_outside_its_folders() {
    if privileges().is_none() || !has_landlock() {
        return;
    }
    let (place, folder, outside) = (Place::with_pair(), Scratch::new(), Scratch::new());
    place.ip("link set lo up");
    let (config, secret) = (folder.file("web.yml"), outside.file("web.yml"));
    let users = "basic_auth_users:\n  alice: $2b$04$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi\n";
    fs::write(&config, users).unwrap();
    fs::write(&secret, users).unwrap();
    // Without the flag, captures are in the folder of temporary files, with the other folder of this test.
    fs::create_dir(folder.file("captures")).unwrap();
    let mut command = capbench("otg --port left --web-config");
    command.arg(&config).arg("--capture-dir").arg(folder.file("captures"));
    let mut server = Running::start(&place, &mut command);
    server.wait_for("OTG at ");
    fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink(&secret, &config).unwrap();
    place.inside(|| drop(std::net::TcpStream::connect("127.0.0.1:8443").unwrap()));
    server.wait_for("Permission denied (os error 13); the rules before stay in force");
    server.signal("INT");
    server.end();
}
