//! Nobody makes capbench run code by a file that it finds: no library that saved results name, and none of its caller's
//! where the program has capabilities of its own file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::support::{Ended, HOST, NOBODY, Namespaces, Scratch, capbench, privileges, program, run};
use capbench_host::environment;
use capbench_testing::network::user_namespaces_of_nobody;
use serde_json::json;

/// A library that makes a file when it is loaded.
struct Marking {
    folder: Scratch,
}

impl Marking {
    fn new() -> Self {
        let marking = Self { folder: Scratch::new() };
        // Every user who loads it can make its file.
        fs::set_permissions(marking.folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let source = marking.folder.file("mark.c");
        let mark = marking.folder.file("mark");
        let text = format!(
            "#include <fcntl.h>\n__attribute__((constructor)) static void mark(void) {{ creat(\"{}\", 0666); }}\n",
            mark.display()
        );
        fs::write(&source, text).unwrap();
        run(HOST, program("cc").args(["-shared", "-fPIC", "-o"]).arg(marking.library()).arg(source))
            .success();
        marking
    }

    fn library(&self) -> PathBuf {
        self.folder.file("libown.so")
    }

    fn was_loaded(&self) -> bool {
        self.folder.file("mark").exists()
    }
}

/// Saves, below a folder for state, a bench of this host that recommends a method, then `recv`.
fn save_bench(state: &Path, method: &str) -> [PathBuf; 2] {
    let ranked = |method: &str, rank: u32| {
        let sustained = json!({"status": "between", "lower_pps": 1000.0, "upper_pps": 1010.0, "trials": [1]});
        json!({
            "method": method, "rank": rank, "lossless": sustained, "nearly_lossless": sustained, "trials": 2,
            "disturbed": 0,
        })
    };
    let environment = environment::read().unwrap();
    let saved = json!({
        "started_unix_s": 0,
        "host": {
            "kernel_release": environment.kernel_release, "machine": environment.machine,
            "cpu_model": environment.cpu_model, "cpus_online": environment.cpus_online,
            "memory_bytes": environment.memory_bytes,
        },
        "recommended": {
            "question": {"what": "highest_rate"},
            "rankings": [{
                "frame_size": 64, "placement": "same", "work": "none",
                "methods": [ranked(method, 1), ranked("recv", 2)],
                "conclusion": {
                    "answer": "use", "method": method, "because": "rate", "certainty": "certain", "equal": [],
                },
            }],
        },
    });
    let folder = state.join("capbench");
    let file = folder.join("recommended.json");
    fs::create_dir(&folder).unwrap();
    fs::write(&file, saved.to_string()).unwrap();
    [folder, file]
}

/// Records for a moment by the method that the bench saved below `state` recommends.
fn record_by(spaces: &Namespaces, state: &Scratch, file: &Path) -> Ended {
    let mut command = capbench("record -i right --duration 100ms -w");
    run(&spaces.right, command.arg(file).env("XDG_STATE_HOME", state.path())).success()
}

#[test]
fn root_a_saved_recommendation_loads_no_library_into_a_recording() {
    let Some(()) = privileges() else { return };
    let (spaces, state, own) = (Namespaces::make(), Scratch::new(), Scratch::new());
    let marking = Marking::new();
    let paths = save_bench(state.path(), &format!("libpcap:{}", marking.library().display()));

    // Of root.
    let ended = record_by(&spaces, &state, &own.file("a.pcapng"));
    assert!(ended.errors.contains("method recv: recommended by the bench of 1970-01-01"), "{ended:#?}");
    assert!(ended.errors.contains("only --method can name a device or a library"), "{ended:#?}");
    assert!(!marking.was_loaded());

    // Of somebody else.
    for path in paths.iter().map(PathBuf::as_path).chain([state.path()]) {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let ended = record_by(&spaces, &state, &own.file("b.pcapng"));
    let reason = format!("method packet-v3: the recommendation in {} is not used", paths[0].display());
    assert!(ended.errors.contains(&reason), "{ended:#?}");
    assert!(ended.errors.contains(&format!("belongs to user {NOBODY}")), "{ended:#?}");
    assert!(!marking.was_loaded());
}

/// What a program with capabilities passes on of its caller's environment; `None` where nobody has user namespaces.
fn environment_of_a_started_program(place: &Scratch, home: &Scratch) -> Option<String> {
    user_namespaces_of_nobody()?;
    let (definition, seen) = (home.file("programs.toml"), home.file("environment"));
    let text = format!(
        "[programs.own]\ncommand = [\"sh\", \"-c\", \"env > {}; exec false {{file}}\"]\n",
        seen.display()
    );
    fs::write(&definition, text).unwrap();
    let mut command = place.capbench_of_nobody(home);
    command.args([
        "bench",
        "--quick",
        "--placement",
        "same",
        "--rate",
        "2000",
        "--duration",
        "100ms",
        "--programs",
    ]);
    command.arg(&definition).args(["--method", "cmd:own"]).env("LIBXDP_OBJECT_PATH", home.path());
    let ended = run(HOST, &mut command);
    Some(fs::read_to_string(&seen).unwrap_or_else(|error| panic!("{error}: {ended:#?}")))
}

#[test]
fn root_a_program_with_capabilities_of_its_file_loads_no_library_of_its_caller() {
    let Some(()) = privileges() else { return };
    let (place, home, marking) = (Scratch::new(), Scratch::of_nobody(), Marking::new());
    chown(marking.library(), Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = place.capbench_of_nobody(&home);
    run(HOST, program("setcap cap_net_raw+ep").arg(place.file("capbench"))).success();
    // What a caller sets to be searched first, and a search for it by name.
    fs::copy(marking.library(), home.file("libpcap.so.0.8")).unwrap();
    command.env("LD_LIBRARY_PATH", home.path());
    let ended = run(
        HOST,
        command
            .args(["record", "-i", "lo", "--duration", "100ms", "-w", "system.pcapng", "--method"])
            .arg("libpcap"),
    );
    assert_eq!((ended.code, ended.errors.contains("listening on lo")), (Some(0), true), "{ended:#?}");
    assert!(!marking.was_loaded());
    assert!(
        environment_of_a_started_program(&place, &home)
            .is_none_or(|text| !text.contains("LIBXDP_OBJECT_PATH"))
    );
    let library = marking.library();
    for method in ["libpcap:", "pf-ring+library=", "nfb+library=", "szedata2+library="] {
        let mut command = place.capbench_of_nobody(&home);
        command.args(["record", "-i", "lo", "-w", "own.pcapng", "--method"]);
        let ended = run(HOST, command.arg(format!("{method}{}", library.display())));
        assert!(ended.errors.contains("this program's file grants privileges"), "{method}: {ended:#?}");
        assert_eq!((ended.code, marking.was_loaded()), (Some(2), false), "{method}: {ended:#?}");
    }
}
