//! The one binary: arguments, diagnostics, progress and exit codes around the crates that do the
//! work.
//!
//! Only here are files read, clocks looked at and signals listened to. stdout is data, stderr is
//! everything else; what each exit code means is in [`exit`].

mod args;
mod cdf;
mod cell_text;
mod check;
mod comparable;
mod compare;
mod confirm;
mod diagnostics;
mod doctor;
mod exit;
mod explain;
mod failure;
mod fates;
mod gates;
mod grid;
mod host;
mod input;
mod interrupt;
mod kept;
mod kept_cell;
mod list;
mod manifest;
mod meter;
mod new_file;
mod output;
mod place;
mod process;
mod progress;
mod real;
mod records;
mod reference;
mod replay;
mod report_page;
mod run;
mod schema;
mod show;
mod standstill;
mod text_file;
mod timeline;
mod usage;

use std::panic::catch_unwind;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Verb};
use crate::exit::Exit;
use crate::failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::end(&error).into(),
    };
    // The message of a panic is already on stderr when it gets here.
    let ended = catch_unwind(|| dispatch(cli.verb))
        .unwrap_or_else(|_| Err(Failure::unexpected("this is a defect of arcbench")));
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::note(&failure.text());
            if failure::json_wanted() {
                failure::print_json(&failure);
            }
            failure.exit.into()
        }
    }
}

fn dispatch(verb: Verb) -> Result<Exit, Failure> {
    match verb {
        Verb::Run(arguments) => run::run(&arguments),
        Verb::List(arguments) => list::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Show(arguments) => show::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Replay(arguments) => replay::run(&arguments),
        Verb::Grid(arguments) => grid::run(&arguments),
        Verb::Cdf(arguments) => cdf::run(&arguments),
        Verb::Confirm(arguments) => confirm::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Fates(arguments) => fates::run(&arguments),
        Verb::Certs(arguments) => process::certs(&arguments),
        Verb::Relay(arguments) => process::relay(&arguments),
        Verb::Robot(arguments) => process::robot(&arguments),
        Verb::Operator(arguments) => process::operator(&arguments),
        Verb::Report(arguments) => report_page::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "arcbench", &mut script);
            output::data(&String::from_utf8_lossy(&script)).map(|()| Exit::Ok)
        }
    }
}
