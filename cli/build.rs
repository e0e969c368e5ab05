//! Tells the binary which commit, compiler and profile it was built with. Works without git, and in
//! a copy of the sources without a history: then there is no commit.

#![expect(clippy::disallowed_methods, reason = "the environment is how cargo speaks to a build script")]

use std::path::Path;
use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let rustc = output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=ARCBENCH_RUSTC={rustc}");
    let profile = std::env::var("PROFILE").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=ARCBENCH_PROFILE={profile}");
    println!("cargo::rerun-if-changed=build.rs");
    // Not just any repository that the sources happen to lie in.
    if !Path::new("../.git").exists() {
        return;
    }
    if let Some(commit) = output("git", &["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=ARCBENCH_COMMIT={commit}");
    }
    // A checkout changes the first, a commit the second.
    for file in ["../.git/HEAD", "../.git/logs/HEAD"] {
        if Path::new(file).exists() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
