//! `certs`, `relay`, `robot` and `operator` as processes on the loopback device.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::Sandbox;

fn party(verb: &str, name: &str, token: &str, folder: &Path) -> Command {
    let file = |name: String| folder.join(name);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("arcbench"));
    command.arg(verb).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.arg("--cert").arg(file(format!("{name}.pem"))).arg("--key").arg(file(format!("{name}.key")));
    command.arg("--ca").arg(file("ca.pem".to_owned())).arg("--token-file").arg(file(token.to_owned()));
    command.args(["--every", "200 ms"]);
    command
}

/// A relay at work, its address, and a thread that reads the rest of what it says.
struct Relay {
    child: Child,
    address: String,
    said: JoinHandle<Vec<String>>,
}

impl Relay {
    fn start(folder: &Path) -> Self {
        let mut child =
            party("relay", "relay", "tokens", folder).args(["--listen", "127.0.0.1:0"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.next().unwrap();
        let address = first.rsplit(' ').next().unwrap().to_owned();
        assert!(first.starts_with("relay: listening on 127.0.0.1:"), "{first}");
        Self { child, address, said: std::thread::spawn(move || lines.collect()) }
    }

    /// Sends SIGTERM and waits.
    fn stop(self) -> (Value, Vec<String>) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        (serde_json::from_slice(&output.stdout).unwrap(), self.said.join().unwrap())
    }
}

fn ran(command: &mut Command) -> Output {
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn three_processes_with_made_certificates_pass_video_and_commands() {
    let folder = Sandbox::new();
    folder.run(&["certs", "--out", "."]).ok();
    assert_eq!(folder.run(&["certs", "--out", "."]).code, Some(2), "nothing is replaced");
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::write(folder.path().join("other/relay.key"), "mine").unwrap();
    folder.run(&["certs", "--out", "other"]).refused(2, &["other/relay.key", "nothing was written"]);
    assert_eq!(fs::read_dir(folder.path().join("other")).unwrap().count(), 1, "no half of a set");
    let relay = Relay::start(folder.path());
    let end = |name: &str, token: &str, more: &[&str]| {
        let mut command = party(name, name, token, folder.path());
        command.args(["--relay", &relay.address]).args(more);
        command
    };
    let operator = end("operator", "operator.token", &["--duration", "3 s"]).spawn().unwrap();
    let robot = ran(&mut end("robot", "robot.token", &["--duration", "1 s"]));
    assert_eq!(robot.status.code(), Some(0), "{}", String::from_utf8_lossy(&robot.stderr));
    let robot: Value = serde_json::from_slice(&robot.stdout).unwrap();
    assert_eq!((&robot["schema"], &robot["role"]), (&"arcbench.process".into(), &"robot".into()));
    assert!(robot["frames_made"].as_u64().unwrap() > 20, "{robot}");
    let output = operator.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let operator: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(operator["frames_delivered"].as_u64().unwrap() > 0, "{operator}");
    // With the other one's token.
    let refused = ran(&mut end("robot", "operator.token", &[]));
    fails(
        &refused,
        2,
        &["the token is for another place than that of the robot in session 1", "help: --session"],
    );
    let (summary, said) = relay.stop();
    assert_eq!((&summary["role"], &summary["joined"]), (&"relay".into(), &2.into()));
    assert_eq!((&summary["refused"], &summary["refused_for"]["other-token"]), (&1.into(), &1.into()));
    assert!(said.iter().any(|line| line.contains("relay: robot left (closed)")), "{said:?}");
    let away = "its token is for another session or role";
    assert!(
        said.iter().any(|line| line.contains("turned away a robot at 127.0.0.1:") && line.contains(away))
    );
}

/// That a process failed with this exit code, and what it said.
fn fails(output: &Output, code: i32, says: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in says {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

#[test]
fn each_reason_not_to_join_is_named_alone() {
    let (folder, other) = (Sandbox::new(), Sandbox::new());
    folder.run(&["certs", "--out", "."]).ok();
    other.run(&["certs", "--out", "."]).ok();
    let relay = Relay::start(folder.path());
    let end = |token: &str, more: &[&str]| {
        let mut command = party("robot", "robot", token, folder.path());
        command.args(["--relay", &relay.address, "--join-within", "30 s"]).args(more);
        command
    };
    let foreign = |name: &str| other.path().join(name).to_string_lossy().into_owned();
    let cannot = |output: &Output, parts: &[&str]| fails(output, 2, parts);
    let with = |ca: String, cert: String, key: String, more: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("arcbench"));
        command
            .args(["robot", "--relay", &relay.address, "--ca", &ca, "--cert", &cert, "--key", &key])
            .args(more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ran(&mut command)
    };
    let own = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let token = own("robot.token");
    cannot(
        &with(foreign("ca.pem"), own("robot.pem"), own("robot.key"), &["--token-file", &token]),
        &["the relay's certificate is of another authority", "help: --ca must"],
    );
    cannot(
        &with(own("ca.pem"), foreign("robot.pem"), foreign("robot.key"), &["--token-file", &token]),
        &["this end's certificate is of another authority", "help: --cert must be made by"],
    );
    cannot(
        &with(own("ca.pem"), own("robot.pem"), own("robot.key"), &[]),
        &["the relay asks for a token, and there is none", "help: give the token"],
    );
    cannot(
        &ran(&mut end("robot.token", &["--server-name", "elsewhere"])),
        &["elsewhere", "help: say --server-name"],
    );
    cannot(
        &ran(&mut end("robot.token", &["--session", "2"])),
        &["the robot in session 2", "help: --session"],
    );
    let strange = foreign("robot.token");
    let strange = with(own("ca.pem"), own("robot.pem"), own("robot.key"), &["--token-file", &strange]);
    cannot(&strange, &["the relay does not know this token", "help: --token-file must"]);
    let nobody = ran(party("robot", "robot", "robot.token", folder.path()).args([
        "--relay",
        "127.0.0.1:9",
        "--join-within",
        "600 ms",
    ]));
    fails(&nobody, 1, &["nobody answers at 127.0.0.1:9", "help: is the address right"]);
    let (summary, _) = relay.stop();
    assert_eq!((&summary["refused"], &summary["joined"]), (&6.into(), &0.into()), "{summary}");
}

#[test]
fn an_end_that_was_killed_and_started_again_has_its_place_within_seconds() {
    let folder = Sandbox::new();
    folder.run(&["certs", "--out", "."]).ok();
    let relay = Relay::start(folder.path());
    let robot = |more: &[&str]| {
        let mut command = party("robot", "robot", "robot.token", folder.path());
        command.args(["--relay", &relay.address]).args(more);
        command
    };
    let mut first = robot(&[]).spawn().unwrap();
    let mut lines = BufReader::new(first.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("robot: joined")));
    // While it lives nobody has its place, whatever the token.
    let second = ran(&mut robot(&["--join-within", "6 s"]));
    fails(&second, 1, &["another robot is in session 1 and answers", "help: stop the other one"]);
    first.kill().unwrap();
    first.wait().unwrap();
    let third = ran(&mut robot(&["--duration", "100 ms", "--join-within", "15 s"]));
    assert_eq!(third.status.code(), Some(0), "{}", String::from_utf8_lossy(&third.stderr));
    let third: Value = serde_json::from_slice(&third.stdout).unwrap();
    assert!(third["refused_for"]["role-taken"].as_u64().unwrap() >= 1, "{third}");
    let (summary, said) = relay.stop();
    assert_eq!((&summary["joined"], &summary["replaced"]), (&2.into(), &1.into()), "{summary}");
    assert!(said.iter().any(|line| line == "relay: robot left (another took its place)"), "{said:?}");
}

#[test]
fn a_robot_that_was_stopped_executes_nothing_that_waited_for_it() {
    let folder = Sandbox::new();
    folder.run(&["certs", "--out", "."]).ok();
    let relay = Relay::start(folder.path());
    let start = |name: &str| {
        let token = format!("{name}.token");
        let mut child =
            party(name, name, &token, folder.path()).args(["--relay", &relay.address]).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let joined = format!("{name}: joined");
        assert!(lines.any(|line| line.contains(&joined)));
        (child, lines)
    };
    let signal = |child: &Child, signal| {
        rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
    };
    let ((robot, robot_lines), (operator, mut lines)) = (start("robot"), start("operator"));
    // The operator's lines are the clock: five a second.
    let mut wait = |count: usize| {
        assert_eq!(lines.by_ref().filter(|line| line.contains(" s:")).take(count).count(), count);
    };
    wait(2);
    signal(&robot, rustix::process::Signal::STOP);
    wait(25);
    signal(&robot, rustix::process::Signal::CONT);
    wait(5);
    signal(&operator, rustix::process::Signal::STOP);
    let (hold, nothing) = std::sync::mpsc::channel::<()>();
    assert!(nothing.recv_timeout(std::time::Duration::from_secs(3)).is_err());
    drop(hold);
    signal(&operator, rustix::process::Signal::CONT);
    wait(5);
    let summary = |child: Child| -> Value {
        signal(&child, rustix::process::Signal::TERM);
        serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
    };
    let (robot, operator) = (summary(robot), summary(operator));
    drop((robot_lines, lines));
    let (made, executed) =
        (operator["poses_made"].as_u64().unwrap(), robot["commands_executed"].as_u64().unwrap());
    // Of five seconds with 72 a second, those of the last one may be young enough.
    assert!(executed > 36 && made > executed + 3 * 72, "{operator}\n{robot}");
    assert!(robot["socket"]["dropped"].as_u64().unwrap() > 72, "{robot}");
    // What was due meanwhile is not made afterwards: pictures of five seconds, poses of three.
    assert!(robot["inputs_missed"].as_u64().unwrap() > 3 * 31, "{robot}");
    assert!(operator["inputs_missed"].as_u64().unwrap() > 2 * 72, "{operator}");
    relay.stop();
}

#[test]
fn what_cannot_run_says_why() {
    let folder = Sandbox::new();
    folder.run(&["certs", "--out", "."]).ok();
    let listen = ["--listen", "127.0.0.1:0"];
    let open = ran(party("relay", "relay", "tokens", folder.path())
        .args(listen)
        .args(["--set", "congestion.kind=open"]));
    assert_eq!(open.status.code(), Some(2));
    let text = String::from_utf8_lossy(&open.stderr).into_owned();
    assert!(text.contains("--allow-open-congestion"), "{text}");
    let missing = ran(party("relay", "nobody", "tokens", folder.path()).args(listen));
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("nobody.pem"));
    let wrong_side = ran(party("relay", "robot", "tokens", folder.path()).args(listen));
    fails(&wrong_side, 2, &["it is an end's", "robot.pem", "help: --cert and --key are relay.pem"]);
    let relay = ["--relay", "127.0.0.1:9"];
    let wrong_side = ran(party("robot", "relay", "robot.token", folder.path()).args(relay));
    fails(&wrong_side, 2, &["it is a relay's", "relay.pem", "help: --cert and --key are robot.pem"]);
    fs::copy(folder.path().join("operator.key"), folder.path().join("robot.key")).unwrap();
    let wrong_key = ran(party("robot", "robot", "robot.token", folder.path()).args(relay));
    fails(&wrong_key, 2, &["robot.key", "does not belong to the certificate", "robot.pem"]);
}

#[test]
fn an_address_that_cannot_be_had_is_told_with_what_to_do() {
    let folder = Sandbox::new();
    folder.run(&["certs", "--out", "."]).ok();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let held = socket.local_addr().unwrap().to_string();
    for (address, says) in
        [(held.as_str(), "help: another process"), ("192.0.2.1:4433", "not one of this machine")]
    {
        let output = ran(party("relay", "relay", "tokens", folder.path()).args(["--listen", address]));
        fails(&output, 2, &[&format!("failed to listen on {address}: "), says]);
    }
    folder.run(&["certs", "--out", "no", "--names", ""]).refused(2, &["``: it is neither a DNS name"]);
    folder.run(&["certs", "--out", "no", "--names", "relay,a b"]).refused(2, &["`a b`: it is neither"]);
    assert!(!folder.path().join("no").exists(), "nothing is written");
    folder.run(&["certs", "--out", "two", "--names", "relay, 10.0.0.1"]).ok();
}

#[test]
fn a_secret_that_everybody_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Sandbox::new();
    folder.run(&["certs", "--out", "."]).ok();
    let run = |more: &[&str]| {
        let mut command = party("robot", "robot", "robot.token", folder.path());
        ran(command.args(["--relay", "127.0.0.1:9", "--join-within", "1 ms"]).args(more))
    };
    let warnings = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stderr);
        text.lines().filter(|line| line.contains("everybody on this machine can read")).count()
    };
    assert_eq!(warnings(&run(&[])), 0);
    for name in ["robot.token", "robot.key"] {
        let open = fs::Permissions::from_mode(0o644);
        fs::set_permissions(folder.path().join(name), open).unwrap();
    }
    assert_eq!(warnings(&run(&[])), 2);
}
