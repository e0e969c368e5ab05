//! Exit codes: what the process tells whoever started it.
//!
//! These are stable: scripts and agents branch on them. A code is never reused for another meaning.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything that was asked was done.
    Ok = 0,
    /// Something that should not happen: a defect of the bench, or a machine out of disk or memory.
    Unexpected = 1,
    /// The command line or a file it names is wrong. Nothing was run and nothing was written.
    Usage = 2,
    /// A gate was not met.
    GateFailed = 10,
    /// Some cells could not be run to their end, or what was kept of them cannot be read; the others are there.
    CellsFailed = 11,
    /// Stopped by a signal. Finished cells are kept and the same command goes on from there.
    Interrupted = 12,
    /// The same cell, or the same packets of a link, gave two different results.
    NotDeterministic = 13,
    /// A comparison found a result that got worse.
    Regression = 14,
    /// The selection leaves no cell to run, or a comparison no cell to compare.
    NothingSelected = 15,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The table that the help shows; a test holds it against the codes above.
pub(crate) const TABLE: &str = "\
Exit codes:
   0  ok
   1  unexpected: a defect, or the machine is out of something
   2  usage or configuration; nothing was run, nothing was written
  10  a gate failed
  11  some cells failed, or cannot be read; the others are kept
  12  interrupted; the same command resumes
  13  not deterministic: one cell, or one link, gave two results
  14  regression in a comparison
  15  nothing selected: the matrix is empty";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_exactly_the_documented_codes() {
        let listed: Vec<u8> =
            TABLE.lines().skip(1).filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        assert_eq!(listed, [0, 1, 2, 10, 11, 12, 13, 14, 15]);
    }

    #[test]
    fn codes_have_their_documented_values() {
        let codes = [
            (Exit::Ok, 0),
            (Exit::Unexpected, 1),
            (Exit::Usage, 2),
            (Exit::GateFailed, 10),
            (Exit::CellsFailed, 11),
            (Exit::Interrupted, 12),
            (Exit::NotDeterministic, 13),
            (Exit::Regression, 14),
            (Exit::NothingSelected, 15),
        ];
        for (exit, code) in codes {
            assert_eq!(exit as u8, code);
        }
    }
}
