//! How far a run is, on stderr: a bar on a terminal, lines elsewhere, nothing when asked to be quiet.

use std::fmt;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::meter::Stopwatch;
use crate::output;

/// The progress of one run. Told from many threads.
pub(crate) struct Progress {
    kind: Kind,
    total: usize,
    watch: Stopwatch,
}

enum Kind {
    Silent,
    Bar(ProgressBar),
    /// When the last line went, and the most cells that were finished so far.
    Lines(Mutex<(Duration, usize)>),
}

impl Progress {
    /// Starts the progress of `total` cells.
    pub(crate) fn start(total: usize, quiet: bool) -> Self {
        let kind = if quiet || total == 0 {
            Kind::Silent
        } else if std::io::stderr().is_terminal() {
            Kind::Bar(bar(total as u64))
        } else {
            Kind::Lines(Mutex::new((Duration::ZERO, 0)))
        };
        Self { kind, total, watch: Stopwatch::start() }
    }

    /// A cell has begun.
    pub(crate) fn begun(&self, id: &str) {
        if let Kind::Bar(bar) = &self.kind {
            bar.set_message(id.to_owned());
        }
    }

    /// A cell is finished, the `finished`th of this run. Threads may tell this out of turn; the count
    /// that is shown never goes back.
    pub(crate) fn finished(&self, finished: usize) {
        match &self.kind {
            Kind::Silent => {}
            Kind::Bar(bar) => bar.inc(1),
            Kind::Lines(shown) => {
                let elapsed = self.watch.elapsed();
                let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                let (last, most) = &mut *shown;
                *most = finished.max(*most);
                if line_is_due(*last, elapsed) {
                    *last = elapsed;
                    output::note(&line(*most, self.total, elapsed));
                }
            }
        }
    }

    /// Says something without tearing the bar.
    pub(crate) fn note(&self, text: &str) {
        match &self.kind {
            Kind::Bar(bar) => bar.suspend(|| output::note(text)),
            _ => output::note(text),
        }
    }

    /// Takes the bar away and tells how long the run took.
    pub(crate) fn end(&self) -> Duration {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
        self.watch.elapsed()
    }
}

fn bar(total: u64) -> ProgressBar {
    // No colour and no character beyond ASCII: it works in every terminal.
    let style = ProgressStyle::with_template("[{bar:24}] {pos}/{len} cells, {rate}, eta {eta}  {wide_msg}")
        .expect("the template names known keys only")
        .with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
            // There is nobody to tell if it fails.
            let _ = out.write_str(&rate(state.per_sec()));
        })
        .progress_chars("=> ");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn rate(cells_per_s: f64) -> String {
    format!("{cells_per_s:.1} cells/s")
}

/// Whether enough time has passed since the last line. Where a cell takes longer than that, this
/// is a line a cell.
fn line_is_due(last: Duration, now: Duration) -> bool {
    now.saturating_sub(last) >= LINE_EVERY
}

fn line(finished: usize, total: usize, elapsed: Duration) -> String {
    let elapsed_s = elapsed.as_secs_f64();
    let cells_per_s = finished as f64 / elapsed_s.max(0.001);
    let left_s = (total - finished.min(total)) as f64 / cells_per_s.max(0.001);
    format!(
        "{finished}/{total} cells after {elapsed_s:.0} s, {}, about {left_s:.0} s to go",
        rate(cells_per_s)
    )
}

/// How often a line goes where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_and_how_long() {
        assert_eq!(
            line(15, 30, Duration::from_secs(10)),
            "15/30 cells after 10 s, 1.5 cells/s, about 10 s to go"
        );
        assert!(line(0, 30, Duration::ZERO).starts_with("0/30 cells"));
    }

    #[test]
    fn the_count_does_not_go_back() {
        let progress = |kind| Progress { kind, total: 3, watch: Stopwatch::start() };
        let bar = ProgressBar::hidden();
        let told = progress(Kind::Bar(bar.clone()));
        let counts = [2, 3, 1].map(|finished| {
            told.finished(finished);
            bar.position()
        });
        assert_eq!(counts, [1, 2, 3]);
        let told = progress(Kind::Lines(Mutex::new((Duration::ZERO, 0))));
        for finished in [2, 3, 1] {
            told.finished(finished);
        }
        let Kind::Lines(shown) = told.kind else { panic!("these are lines") };
        assert_eq!(shown.into_inner().unwrap().1, 3);
        assert_eq!(rate(20.5303), "20.5 cells/s");
    }

    #[test]
    fn fast_cells_share_lines_and_slow_cells_have_their_own() {
        let second = Duration::from_secs;
        assert!(!line_is_due(second(0), second(9)));
        assert!(line_is_due(second(0), second(10)));
        assert!(line_is_due(second(10), second(45)));
    }
}
