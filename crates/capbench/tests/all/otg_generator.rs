//! `--tx otg:`: capbench's own server of the API as the generator of others. What a server does wrong is tested in capbench-agent.

use serde_json::Value;

use crate::support::{Ended, Place, Running, Scratch, capbench, privileges, results, run};

/// The server in the place, and its location.
fn serve(place: &Place) -> (Running, &'static str) {
    place.ip("link set lo up");
    let server = Running::start(place, &mut capbench("otg --port left --listen 127.0.0.1:8443"));
    (server, "otg:http://127.0.0.1:8443,left")
}

/// What a bench with a generator of others printed, and its results file.
fn bench(place: &Place, location: &str, out: &Scratch, arguments: &str) -> (Ended, Value) {
    let mut command = capbench("bench --method packet-v3 --placement same --repeats 0 --rx right --tx");
    command.arg(location).args(arguments.split_whitespace()).arg("--out").arg(out.path().join("run"));
    let ended = run(place, command);
    let saved = results(&out.path().join("run"));
    (ended, saved.unwrap_or(Value::Null))
}

#[test]
fn root_each_frame_of_a_generator_of_others_is_verified_and_its_count_is_found_to_be_unverified() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    let (mut server, location) = serve(&place);
    server.wait_for("OTG at");
    for layout in ["--flows 3", "--vlan 7", "--size imix"] {
        let out = Scratch::new();
        let (ended, saved) = bench(&place, location, &out, &format!("--rate 2000 --duration 500ms {layout}"));
        // A busy host's server may not send the rate.
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
        let findings = saved["findings"].as_array().unwrap();
        let unverified = findings.iter().find(|finding| finding["fact"]["what"] == "sent_unverified");
        let reason = unverified.unwrap()["fact"]["reason"].as_str().unwrap();
        assert!(reason.starts_with("frames_tx of") && ended.out.contains("is unverified:"), "{}", ended.out);
        let trials = saved["trials"].as_array().unwrap();
        assert!(!trials.is_empty());
        for trial in trials {
            let [intended, sent, delivered] =
                ["intended", "sent", "delivered"].map(|name| trial[name].as_u64().unwrap());
            // A busy host's server is late, and is stopped.
            assert!(intended == 1000 && sent > 0 && sent == delivered, "{layout}: {trial}");
            assert_eq!((&trial["duplicates"], &trial["reordered"]), (&0.into(), &0.into()));
            assert_eq!(trial["loss_shape"]["clock"], "arrival_time");
            let why = trial["generators"][0]["unverified_because"].as_str().unwrap();
            assert!(why.contains("frames_tx of otg:http://127.0.0.1:8443,left"), "{why}");
        }
    }
}
