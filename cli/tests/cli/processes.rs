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
    let refused = ran(&mut end("robot", "operator.token", &["--join-within", "1 s"]));
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("the relay refused") && text.contains("help: is the token"), "{text}");
    let (summary, said) = relay.stop();
    assert_eq!((&summary["role"], &summary["joined"]), (&"relay".into(), &2.into()));
    assert!(said.iter().any(|line| line.contains("relay: robot left (closed)")), "{said:?}");
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
}
