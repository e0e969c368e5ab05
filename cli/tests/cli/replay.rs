//! `replay` and `show --at`: the check, and every file that is written, read back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Sandbox;
use crate::runs::{interrupt, wait_for};

/// A lossy cell of four seconds in a run folder, and the beginning of its id.
const SCENARIO: &str = r#"
duration = "4 s"
seeds = "1"
profiles = ["bad-india"]
[settings.best]
[settings.reno]
congestion = { kind = "new-reno" }
"#;
const CELL: &str = "bad-india--best";

fn ran() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("lossy.toml", SCENARIO);
    sandbox.run(&["run", "lossy.toml", "--quiet", "--out", "run"]).ok();
    sandbox
}

fn replay(sandbox: &Sandbox, arguments: &[&str]) -> crate::Ended {
    sandbox.run(&[&["replay", CELL, "--run", "run"][..], arguments].concat())
}

fn cell_folder(sandbox: &Sandbox) -> PathBuf {
    let cells = fs::read_dir(sandbox.path().join("run/cells")).unwrap().map(|entry| entry.unwrap().path());
    cells.into_iter().find(|path| path.to_string_lossy().contains(CELL)).unwrap()
}

fn read(sandbox: &Sandbox, name: &str) -> Vec<u8> {
    fs::read(sandbox.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_cell_that_comes_to_the_same_says_so_and_writes_nothing_unasked() {
    let sandbox = ran();
    let ended = replay(&sandbox, &[]).ok();
    assert!(ended.out.contains("the same: trace hash "), "{}", ended.out);
    assert_eq!(sandbox.names(), ["lossy.toml", "run"]);
    let folder = cell_folder(&sandbox);
    let by_folder = sandbox.run(&["replay", folder.to_str().unwrap(), "--format", "json"]).ok().json();
    assert_eq!(by_folder["same"], true);
    sandbox.run(&["replay", "bad", "--run", "run"]).refused(2, &["beginning of 2 cells"]);
}

#[test]
fn another_result_is_exit_13_and_says_what_differs() {
    let sandbox = ran();
    let file = cell_folder(&sandbox).join("summary.json");
    let mut summary: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    summary["trace_hash"] = "0123456789abcdef".into();
    let packets = summary["packets"].as_u64().unwrap();
    fs::write(&file, summary.to_string()).unwrap();
    let says = ["kept 0123456789abcdef", "this very build", "no second's row differs", "packets: "];
    replay(&sandbox, &["--packets", "p.tsv"]).refused(13, &says);
    summary["packets"] = (packets + 1).into();
    fs::write(&file, summary.to_string()).unwrap();
    let manifest = sandbox.path().join("run/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let mut changed: Value = serde_json::from_str(&text).unwrap();
    changed["versions"]["build"] = "feedfeedfeedfeed".into();
    fs::write(&manifest, changed.to_string()).unwrap();
    let says = ["another build: kept feedfeedfeedfeed", &format!("packets: kept {}", packets + 1)];
    replay(&sandbox, &["--packets", "p.tsv"]).refused(13, &says);
    sandbox.run(&["show", CELL, "--run", "run", "--at", "1s"]).refused(13, &["another build"]);
    assert_eq!(sandbox.names(), ["lossy.toml", "run"], "nothing was written");
}

#[test]
fn files_are_the_same_each_time_and_are_not_overwritten_unasked() {
    let sandbox = ran();
    let write = |name: &str, more: &[&str]| {
        let path = |ending: &str| format!("{name}{ending}");
        let (tsv, json, trace, pcap) = (path(".tsv"), path(".jsonl.zst"), path(".json"), path(".pcapng"));
        let arguments = ["--packets", &tsv, "--qlog", name, "--trace", &trace, "--pcap", &pcap];
        let first = replay(&sandbox, &[&arguments[..], more].concat());
        let _ = replay(&sandbox, &[&["--packets", &json][..], more].concat());
        first
    };
    let ended = write("a", &[]).ok();
    for what in ["packets: a.tsv", "qlog: a/robot-hop.relay.sqlog", "trace: a.json", "pcap: a.pcapng"] {
        assert!(ended.out.contains(what), "no {what} in {}", ended.out);
    }
    assert!(ended.err.contains("of the traffic, about "), "its size is said before: {}", ended.err);
    write("b", &[]).ok();
    let qlogs = ["robot-hop.robot", "robot-hop.relay", "operator-hop.relay", "operator-hop.operator"];
    let qlogs = qlogs.map(|name| format!("/{name}.sqlog"));
    let endings = [".tsv", ".jsonl.zst", ".json", ".pcapng"].map(str::to_owned);
    for ending in endings.iter().chain(&qlogs) {
        let (a, b) = (read(&sandbox, &format!("a{ending}")), read(&sandbox, &format!("b{ending}")));
        assert!(a.len() > 1000 && a == b, "{ending} differs or is empty: {} and {} bytes", a.len(), b.len());
    }
    write("a", &[]).refused(2, &["already there", "--force"]);
    write("a", &["--force"]).ok();
    let left: Vec<String> = sandbox.names().into_iter().filter(|name| name.contains("tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
    replay(&sandbox, &["--packets", "x", "--trace", "x"]).refused(2, &["given twice"]);
    replay(&sandbox, &["--packets", "no/such/x"]).refused(2, &["cannot write"]);
    replay(&sandbox, &["--keylog", "k"]).refused(2, &["--crypto tls"]);
    replay(&sandbox, &["--trace", "t", "--from", "9s"]).refused(2, &["no traffic between"]);
    replay(&sandbox, &["--trace", "t", "--from", "9"]).refused(2, &["9"]);
}

/// A replay that writes everything, stopped by `signals` when it has begun to write; what it left.
#[cfg(unix)]
fn stopped(signals: usize) -> (crate::Ended, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.file("long.toml", &SCENARIO.replace("4 s", "60 s"));
    sandbox.run(&["run", "long.toml", "--settings", "best", "--quiet", "--no-report", "--out", "run"]).ok();
    let files = ["--qlog", "q/in", "--packets", "p.tsv", "--trace", "t.json", "--pcap", "c.pcapng"];
    let arguments = [&["replay", CELL, "--run", "run", "--format", "json"][..], &files].concat();
    let child = sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let qlogs = sandbox.path().join("q/in");
    wait_for(|| fs::read_dir(&qlogs).is_ok_and(|mut entries| entries.next().is_some()));
    for signal in 0..signals {
        // The second is another only when the first was taken.
        interrupt(&child);
        if signal == 0 && signals > 1 {
            pause();
        }
    }
    let ended = crate::Ended::new(child.wait_with_output().unwrap());
    (ended, sandbox.names())
}

#[expect(clippy::disallowed_methods, reason = "another process is waited for, in real time")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(50));
}

#[cfg(unix)]
#[test]
fn a_replay_that_is_stopped_leaves_nothing() {
    for signals in [1, 2] {
        let (ended, names) = stopped(signals);
        assert_eq!(ended.code, Some(12), "{ended:#?}");
        assert_eq!(names, ["long.toml", "run"], "{signals} signals: {}", ended.err);
        if signals == 1 {
            assert_eq!(ended.json()["exit_code"], 12);
            assert!(ended.err.contains("interrupted: nothing was written"), "{}", ended.err);
        }
    }
}

#[test]
fn a_replay_that_fails_half_way_leaves_nothing() {
    let sandbox = ran();
    replay(&sandbox, &["--qlog", "q/in", "--packets", "no/such/x"]).refused(2, &["cannot write"]);
    replay(&sandbox, &["--packets", "p.tsv", "--qlog", "lossy.toml/q"])
        .refused(2, &["cannot make the folder"]);
    assert_eq!(sandbox.names(), ["lossy.toml", "run"]);
    fs::create_dir(sandbox.path().join("mine")).unwrap();
    replay(&sandbox, &["--qlog", "mine", "--packets", "no/such/x"]).refused(2, &["cannot write"]);
    assert_eq!(sandbox.names(), ["lossy.toml", "mine", "run"], "what was there stays");
}

#[test]
fn packets_add_up_to_the_summary() {
    let sandbox = ran();
    replay(&sandbox, &["--packets", "p.tsv"]).ok();
    replay(&sandbox, &["--packets", "p.jsonl.zst"]).ok();
    let text = String::from_utf8(read(&sandbox, "p.tsv")).unwrap();
    let head: Vec<&str> = text.lines().next().unwrap().split('\t').collect();
    let column = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == head.len()));
    let summary: Value =
        serde_json::from_slice(&fs::read(cell_folder(&sandbox).join("summary.json")).unwrap()).unwrap();
    assert_eq!(rows.len() as u64, summary["packets"].as_u64().unwrap());
    let down = |row: &&Vec<&str>| (row[column("hop")], row[column("direction")]) == ("operator", "down");
    let traffic = |row: &&Vec<&str>| !row[0].starts_with('-');
    let count = |fate: &str| {
        rows.iter().filter(down).filter(traffic).filter(|row| row[column("fate")] == fate).count() as u64
    };
    // The summary counts from the start of the traffic, the log from the first handshake.
    assert_eq!(count("lost"), summary["link"]["down"]["lost"].as_u64().unwrap());
    assert!(count("delivered") > 1000 && count("under-way") == 0);
    let carried: BTreeMap<&str, usize> = rows.iter().fold(BTreeMap::new(), |mut counts, row| {
        *counts.entry(row[column("carries")]).or_default() += 1;
        counts
    });
    for kind in ["fragment", "parity", "poses", "commands", "poses+feedback", "other"] {
        assert!(carried.contains_key(kind), "no {kind} in {carried:?}");
    }
    let times: Vec<f64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    assert!(times.is_sorted() && times[0] < 0.0, "in the order they were sent, the handshake first");
    let lines = zstd::decode_all(&read(&sandbox, "p.jsonl.zst")[..]).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(lines.lines().count(), rows.len());
    for (line, row) in lines.lines().zip(&rows) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["fate"], row[column("fate")]);
        assert_eq!(line["carries"], row[column("carries")]);
    }
}

/// The relay and a download in one CoDel queue, which drops packets that it took.
const ACTIVE: &str = r#"
duration = "6 s"
seeds = "1"
profiles = ["thin"]
[profile.thin]
rtt = "60 ms"
rate = "4 Mbit/s"
queue = { kind = "codel", packets = 500 }
[workload]
cross_traffic = { kind = "bulk", congestion = "cubic" }
[settings.best]
congestion = { kind = "cubic" }
"#;

#[test]
fn drops_of_an_active_queue_are_seen_everywhere() {
    let sandbox = Sandbox::new();
    sandbox.file("active.toml", ACTIVE);
    sandbox.run(&["run", "active.toml", "--quiet", "--out", "run"]).ok();
    let all =
        ["replay", "thin", "--run", "run", "--packets", "p.tsv", "--pcap", "p.pcapng", "--trace", "t.json"];
    sandbox.run(&[&all[..], &["--from", "0s", "--to", "6s"]].concat()).ok();
    let summary = sandbox.run(&["show", "thin", "--run", "run", "--format", "json"]).ok().json();
    let text = String::from_utf8(read(&sandbox, "p.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let traffic: Vec<&Vec<&str>> = rows
        .iter()
        .filter(|row| row[1] == "operator" && row[2] == "down" && !row[0].starts_with('-'))
        .collect();
    let with = |fate: &str| traffic.iter().filter(|row| row[5] == fate).count() as u64;
    let dropped = with("queue-dropped");
    assert!(dropped > 0 && with("delivered") > 500, "{dropped}");
    assert_eq!(with("under-way"), 0, "every fate is known in the end");
    assert!(
        traffic
            .iter()
            .filter(|row| row[5] == "queue-dropped")
            .all(|row| !row[6].is_empty() && row[7].is_empty())
    );
    // The log has the relay's own packets alone: the others that the queue dropped are the flow's.
    let number = |pointer: &str| summary.pointer(pointer).and_then(Value::as_u64).unwrap();
    let lost = dropped + with("queue-full");
    assert_eq!(number("/transport/packets_really_lost"), lost);
    assert!(number("/cross_traffic/lost") > 0);
    assert_eq!(number("/link/down/queue_dropped"), lost + number("/cross_traffic/lost"));
    let capture = String::from_utf8_lossy(&read(&sandbox, "p.pcapng")).into_owned();
    let told = rows.iter().filter(|row| row[5] == "queue-dropped").count();
    assert_eq!(capture.matches("queue-dropped: the link took it").count(), told);
    let trace = String::from_utf8(read(&sandbox, "t.json")).unwrap();
    assert!(trace.contains(" queue-dropped\""), "a mark on the frame");
    let at = ["show", "thin", "--run", "run", "--at", "3s", "--around", "3 s"];
    let told = sandbox.run(&at).ok().out;
    assert!(told.contains("down: 1 packet dropped in the queue after "), "{told}");
}

/// What qvis needs of a file: `loadQlog` takes JSON text sequences by their format and version, and each
/// event by name, time and data.
#[test]
fn qlogs_have_what_qvis_reads() {
    let sandbox = ran();
    replay(&sandbox, &["--qlog", "q"]).ok();
    for (name, side) in [
        ("robot-hop.robot", "client"),
        ("robot-hop.relay", "server"),
        ("operator-hop.operator", "client"),
        ("operator-hop.relay", "server"),
    ] {
        let text = String::from_utf8(read(&sandbox, &format!("q/{name}.sqlog"))).unwrap();
        let records: Vec<Value> = text
            .split('\u{1e}')
            .skip(1)
            .map(|record| serde_json::from_str(record).unwrap_or_else(|error| panic!("{error}: {record}")))
            .collect();
        assert!(text.starts_with('\u{1e}') && text.ends_with('\n'));
        let head = &records[0];
        assert_eq!((&head["qlog_version"], &head["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
        assert_eq!(head["trace"]["vantage_point"]["type"], side);
        assert_eq!(head["trace"]["common_fields"]["reference_time"], 0);
        let times: Vec<f64> = records[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "{name}");
        let of = |event: &str| records.iter().filter(|record| record["name"] == event).collect::<Vec<_>>();
        let (sent, received) = (of("transport:packet_sent"), of("transport:packet_received"));
        assert!(sent.len() > 200 && received.len() > 200, "{name}: {} {}", sent.len(), received.len());
        for packet in sent.iter().chain(&received) {
            let header = &packet["data"]["header"];
            assert!(["initial", "handshake", "1RTT"].contains(&header["packet_type"].as_str().unwrap()));
            assert!(header["packet_number"].is_u64() && packet["data"]["raw"]["length"].is_u64());
        }
        let frames: Vec<&Value> = sent.iter().flat_map(|p| p["data"]["frames"].as_array().unwrap()).collect();
        for kind in ["ack", "crypto", "datagram", "stream"] {
            assert!(frames.iter().any(|frame| frame["frame_type"] == kind), "{name} has no {kind}");
        }
        // Each packet number is sent once, in order.
        let numbers = sent.iter().filter(|p| p["data"]["header"]["packet_type"] == "1RTT");
        let numbers: Vec<u64> =
            numbers.map(|p| p["data"]["header"]["packet_number"].as_u64().unwrap()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{name}");
        assert!(of("recovery:metrics_updated").iter().any(|event| event["data"]["smoothed_rtt"].is_number()));
        if name == "operator-hop.relay" {
            let lost = of("recovery:packet_lost");
            assert!(!lost.is_empty());
            for packet in lost {
                let number = packet["data"]["header"]["packet_number"].as_u64().unwrap();
                assert!(numbers.contains(&number), "{number} was declared lost and never sent");
            }
            let windows = of("recovery:metrics_updated");
            assert!(windows.iter().any(|event| event["data"]["congestion_window"].is_u64()));
        }
    }
}

/// The rules of the Trace Event Format that Perfetto holds files to.
#[test]
fn traces_are_well_formed() {
    let sandbox = ran();
    replay(&sandbox, &["--trace", "t.json", "--from", "1s", "--to", "3s"]).ok();
    let trace: Value = serde_json::from_slice(&read(&sandbox, "t.json")).unwrap();
    assert_eq!((&trace["otherData"]["from_s"], &trace["otherData"]["left_out"]), (&1.0.into(), &0.into()));
    let mut open: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut last: BTreeMap<u64, f64> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        let text =
            |key: &str| event[key].as_str().unwrap_or_else(|| panic!("no {key} in {event}")).to_owned();
        let (phase, at, pid) = (text("ph"), event["ts"].as_f64().unwrap(), event["pid"].as_u64().unwrap());
        let before = last.insert(pid, at).unwrap_or(0.0);
        assert!(at >= before, "times go back in {event}");
        *counts.entry(phase.clone()).or_default() += 1;
        match phase.as_str() {
            "b" => open.entry((text("cat"), text("id"))).or_default().push(text("name")),
            "e" => {
                let begun = open.get_mut(&(text("cat"), text("id"))).and_then(Vec::pop);
                assert_eq!(begun, Some(text("name")), "the innermost ends first: {event}");
            }
            "C" => assert!(event["args"].as_object().unwrap().values().all(Value::is_number)),
            "i" | "M" => {}
            other => panic!("{other} is not used"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every begin has an end");
    assert_eq!(counts["b"], counts["e"]);
    // Two seconds of 31 frames and 72 poses, three to six spans each.
    assert!((500..2500).contains(&counts["b"]), "{counts:?}");
    let bytes = read(&sandbox, "t.json").len() as f64;
    let said = replay(&sandbox, &["--trace", "t.json", "--from", "1s", "--to", "3s", "--force"]).ok().err;
    let said = said.lines().find_map(|line| line.split("about ").nth(1)).unwrap().to_owned();
    let (number, unit) = said.trim().split_once(' ').unwrap();
    let estimated = number.parse::<f64>().unwrap() * if unit == "MB" { 1e6 } else { 1e3 };
    assert!((0.5..2.0).contains(&(estimated / bytes)), "said {said}, wrote {bytes} bytes");
}

#[test]
fn a_moment_is_told_packet_by_packet() {
    let sandbox = ran();
    let show = |format: &str| {
        let at = ["show", CELL, "--run", "run", "--at", "2s", "--around", "500 ms", "--format", format];
        sandbox.run(&at).ok().out
    };
    let human = show("human");
    for part in
        ["1.500 s to 2.500 s", "main frame ", "fragment 1-", "lost by the link (#", "window ", "shown after"]
    {
        assert!(human.contains(part), "no {part:?} in\n{human}");
    }
    let json: Value = serde_json::from_str(&show("json")).unwrap();
    let moments = json["moments"].as_array().unwrap();
    assert!(moments.iter().all(|moment| (1.5..2.5).contains(&moment["t_s"].as_f64().unwrap())));
    assert_eq!(show("csv").lines().count(), moments.len() + 1);
    assert_eq!(show("markdown").lines().count(), moments.len() + 2);
    sandbox.run(&["show", CELL, "--run", "run", "--at", "99s"]).refused(2, &["nothing at 99 s"]);
    sandbox.run(&["show", CELL, "--run", "run", "--at", "2"]).refused(2, &["--at"]);
}

#[test]
fn show_has_the_cell_over_time() {
    let sandbox = ran();
    let show = |format: &str| sandbox.run(&["show", CELL, "--run", "run", "--format", format]).ok().out;
    assert!(show("human").contains("main, delivered"), "{}", show("human"));
    assert_eq!(show("csv").lines().count(), 1 + 4 + 3, "{}", show("csv"));
    assert!(show("markdown").starts_with("| second | main.produced |"), "{}", show("markdown"));
}

/// What Wireshark makes of a capture, by the command `tshark`; skipped with a word where there is none.
#[test]
fn tshark_reads_the_capture_and_what_is_in_the_packets() {
    let sandbox = ran();
    let arguments = ["--crypto", "tls", "--pcap", "t.pcapng", "--keylog", "keys.txt", "--packets", "p.tsv"];
    replay(&sandbox, &arguments).ok();
    let keys = String::from_utf8(read(&sandbox, "keys.txt")).unwrap();
    assert!(keys.lines().any(|line| line.starts_with("SERVER_TRAFFIC_SECRET_0 ")), "{keys}");
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed (Debian: apt-get install tshark)");
        return;
    }
    let lines = |text: String| text.lines().count();
    let sent = String::from_utf8(read(&sandbox, "p.tsv")).unwrap().lines().count() - 1;
    let both = sandbox.path().join("both.pcapng");
    replay(&sandbox, &["--pcap", "both.pcapng"]).ok();
    let numbers = |filter: &'static str| ["-Y", filter, "-T", "fields", "-e", "frame.number"];
    let enters = tshark(&both, &numbers("frame.interface_name contains \"/in\""));
    assert_eq!(lines(enters), sent, "every packet enters a link once");
    assert!(lines(tshark(&both, &numbers("frame.interface_name contains \"/out\""))) < sent);
    let bad = "ip.checksum.status == 0 || udp.checksum.status == 0 || ip.version != 4";
    let check = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-Y", bad];
    assert_eq!(tshark(&both, &check), "");
    replay(&sandbox, &["--crypto", "tls", "--pcap", "r.pcapng", "--pcap-at", "received"]).ok();
    for (name, end) in [("t.pcapng", "in"), ("r.pcapng", "out")] {
        let capture = sandbox.path().join(name);
        assert_eq!(tshark(&capture, &["-Y", "quic.decryption_failed || _ws.malformed"]), "", "{name}");
        let relayed = format!(
            "frame.interface_name == \"operator-hop/down/{end}\" && quic.frame_type in {{0x30, 0x31}}"
        );
        let datagrams = tshark(&capture, &["-Y", &relayed, "-T", "fields", "-e", "frame.comment"]);
        assert!(lines(datagrams) > 500, "{name}");
        let streams = tshark(&capture, &["-Y", "quic.frame_type >= 0x08 && quic.frame_type <= 0x0f"]);
        assert!(lines(streams) >= 4, "{name}: a hello and a welcome on each hop");
    }
}

fn tshark(capture: &Path, arguments: &[&str]) -> String {
    let udp = ["-d", "udp.port==4433,quic"];
    let output = Command::new("tshark").arg("-r").arg(capture).args(udp).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
