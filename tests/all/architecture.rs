//! Which crate may know which: the workspace's edges against a literal table.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Every crate and exactly the workspace crates that it depends on.
const EDGES: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("netmodel", &["units"]),
    ("relay-core", &["units"]),
    ("bench", &["netmodel", "relay-core", "units"]),
    ("report", &["bench"]),
    ("sim", &["bench", "netmodel", "relay-core"]),
    ("realbench", &["bench", "netmodel", "relay-core"]),
    ("arcbench", &["bench", "netmodel", "realbench", "relay-core", "report", "sim", "units"]),
    ("tests", &["bench", "netmodel", "relay-core", "report", "sim", "units"]),
];

/// Crates that must not be reached from others, by whatever path.
const NEVER: &[(&str, &[&str])] = &[
    ("units", &["toml", "quinn-proto", "tokio", "rand_core"]),
    ("netmodel", &["quinn-proto", "tokio", "rand", "getrandom", "relay-core"]),
    ("relay-core", &["netmodel", "tokio", "toml"]),
    ("bench", &["tokio"]),
    ("report", &["sim", "tokio"]),
    ("sim", &["tokio", "quinn-udp"]),
    ("realbench", &["sim"]),
];

struct Metadata {
    json: Value,
}

/// The target that this machine builds for.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

impl Metadata {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            // Only what is linked here: the rest need not be on this machine.
            .args([
                "metadata",
                "--format-version",
                "1",
                "--locked",
                "--offline",
                "--filter-platform",
                &host(),
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { json: serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON") }
    }

    fn packages(&self) -> impl Iterator<Item = &Value> {
        self.json["packages"].as_array().expect("packages").iter()
    }

    fn members(&self) -> BTreeMap<&str, &Value> {
        let ids: BTreeSet<&str> = self.json["workspace_members"]
            .as_array()
            .expect("members")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let member = |package: &&Value| ids.contains(package["id"].as_str().expect("id"));
        self.packages().filter(member).map(|p| (p["name"].as_str().expect("name"), p)).collect()
    }

    /// Names of everything that `name` links into the product, itself included.
    fn reachable(&self, name: &str) -> BTreeSet<&str> {
        let nodes: BTreeMap<&str, &Value> = self.json["resolve"]["nodes"]
            .as_array()
            .expect("nodes")
            .iter()
            .map(|node| (node["id"].as_str().expect("id"), node))
            .collect();
        let names: BTreeMap<&str, &str> = self
            .packages()
            .map(|p| (p["id"].as_str().expect("id"), p["name"].as_str().expect("name")))
            .collect();
        let start = self.members()[name]["id"].as_str().expect("id");
        let mut seen = BTreeSet::from([start]);
        let mut queue = vec![start];
        while let Some(id) = queue.pop() {
            for dependency in nodes[id]["deps"].as_array().expect("deps") {
                let normal = dependency["dep_kinds"]
                    .as_array()
                    .expect("kinds")
                    .iter()
                    .any(|kind| kind["kind"].is_null());
                let to = dependency["pkg"].as_str().expect("pkg");
                if normal && seen.insert(to) {
                    queue.push(to);
                }
            }
        }
        seen.into_iter().map(|id| names[id]).collect()
    }
}

#[test]
fn the_workspace_has_exactly_the_edges_of_the_table() {
    let metadata = Metadata::read();
    let members = metadata.members();
    let mut found = BTreeMap::new();
    for (name, package) in &members {
        let edges: BTreeSet<&str> = package["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|dependency| members.contains_key(dependency))
            .collect();
        found.insert(*name, edges);
    }
    let table: BTreeMap<&str, BTreeSet<&str>> =
        EDGES.iter().map(|(name, edges)| (*name, edges.iter().copied().collect())).collect();
    assert_eq!(found, table);
}

#[test]
fn no_crate_reaches_what_it_must_never_know() {
    let metadata = Metadata::read();
    for (name, never) in NEVER {
        let reachable = metadata.reachable(name);
        for forbidden in *never {
            assert!(!reachable.contains(forbidden), "{name} reaches {forbidden}");
        }
    }
}

/// Without its default features quinn-proto has no cipher and draws nothing from the operating
/// system on its own. (What is linked in the end has what the simulator adds for TLS, so this looks at what
/// the core asks for.)
#[test]
fn the_core_takes_quinn_without_cryptography() {
    let metadata = Metadata::read();
    let core = metadata.members()["relay-core"];
    let dependencies = core["dependencies"].as_array().expect("dependencies");
    let quinn =
        dependencies.iter().find(|dependency| dependency["name"] == "quinn-proto").expect("quinn-proto");
    assert_eq!(quinn["uses_default_features"], false);
    let features: Vec<&str> =
        quinn["features"].as_array().expect("features").iter().filter_map(Value::as_str).collect();
    assert_eq!(features, ["qlog"], "what is logged changes nothing of what is sent");
}
