//! How late frames are, as a distribution over all produced frames.
//!
//! A frame that never came counts as later than all others, so a curve that ends below 100 % shows
//! loss, and loss cannot look like low delay.

use std::fmt::Write as _;

use bench::statistics::percentile;

use crate::sheet::{Align, Sheet};

/// The delays of one group of frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    /// What it is of.
    pub name: String,
    /// Delays of the frames that came, in microseconds, ascending.
    delays_us: Vec<u64>,
    /// Frames that never came.
    lost: usize,
}

impl Curve {
    /// The curve of `name`; a delay is `None` where the frame never came.
    pub fn new(name: impl Into<String>, delays_us: impl IntoIterator<Item = Option<u64>>) -> Self {
        let (mut came, mut lost) = (Vec::new(), 0);
        for delay in delays_us {
            match delay {
                Some(delay) => came.push(delay),
                None => lost += 1,
            }
        }
        came.sort_unstable();
        Self { name: name.into(), delays_us: came, lost }
    }

    /// Frames produced.
    pub fn produced(&self) -> usize {
        self.delays_us.len() + self.lost
    }

    /// Frames that came.
    pub fn delivered(&self) -> usize {
        self.delays_us.len()
    }

    /// The delay within which `percent` of all produced frames came, in milliseconds; `None` where
    /// fewer ever came.
    pub fn delay_ms(&self, percent: u32) -> Option<f64> {
        percentile(&self.delays_us, self.lost, percent).map(|us| us as f64 / 1e3)
    }

    /// The share of all produced frames that came within `limit_us`; 0 of none.
    fn within(&self, limit_us: f64) -> f64 {
        let came = self.delays_us.partition_point(|delay| *delay as f64 <= limit_us);
        came as f64 / self.produced().max(1) as f64
    }
}

/// Percentiles of each curve, in milliseconds: a row for each percentile.
pub fn percentiles(curves: &[Curve]) -> Sheet {
    let names = curves.iter().map(|curve| (curve.name.clone(), Align::Right));
    let mut sheet = Sheet::new([("frames within, ms".to_owned(), Align::Left)].into_iter().chain(names));
    for percent in PERCENTS {
        let delay =
            |curve: &Curve| curve.delay_ms(percent).map_or("lost".to_owned(), |ms| format!("{ms:.1}"));
        sheet.row([format!("{percent} %")].into_iter().chain(curves.iter().map(delay)));
    }
    sheet
}

/// The curves drawn with letters, at most `columns` wide. Ends with a line end.
///
/// The axis of delay ends where the slowest curve's 99th percentile is, or what lies below it if
/// that is lost.
pub fn chart(curves: &[Curve], columns: usize) -> String {
    let width = columns.saturating_sub(MARGIN).clamp(10, 200);
    let end_us = curves.iter().filter_map(axis_end).max().unwrap_or(0).max(1) as f64;
    let mut canvas = vec![vec![' '; width]; HEIGHT + 1];
    for (curve, letter) in curves.iter().zip(LETTERS.chars().cycle()) {
        let shares = (1..=width).map(|column| curve.within(end_us * column as f64 / width as f64));
        for (column, share) in shares.enumerate() {
            let spot = &mut canvas[HEIGHT - (share * HEIGHT as f64).floor() as usize][column];
            *spot = if *spot == ' ' { letter } else { '*' };
        }
    }
    let mut out = String::new();
    for (row, line) in canvas.iter().enumerate() {
        let percent = 100 - row * 100 / HEIGHT;
        let label = if row % 2 == 0 { format!("{percent:>4} %") } else { " ".repeat(6) };
        let line: String = line.iter().collect();
        let _ = writeln!(out, "{}", format!("{label} |{line}").trim_end());
    }
    let _ = writeln!(out, "       +{}", "-".repeat(width));
    let end = format!("{:.0} ms", end_us / 1e3);
    let _ = writeln!(out, "        0{end:>room$}", room = width - 1);
    for (curve, letter) in curves.iter().zip(LETTERS.chars().cycle()) {
        let (delivered, produced) = (curve.delivered(), curve.produced());
        let _ = writeln!(out, "  {letter}  {}: {delivered} of {produced} frames came", curve.name);
    }
    if curves.len() > 1 {
        let _ = writeln!(out, "  *  more than one");
    }
    out
}

/// The delay up to which a curve is worth drawing: its 99th percentile, or else the last frame that came.
fn axis_end(curve: &Curve) -> Option<u64> {
    percentile(&curve.delays_us, curve.lost, 99).or(curve.delays_us.last().copied())
}

/// Percentiles that are listed.
pub const PERCENTS: [u32; 10] = [1, 5, 10, 25, 50, 75, 90, 95, 99, 100];
/// Lines of a chart above its axis.
const HEIGHT: usize = 20;
/// Columns left of a chart.
const MARGIN: usize = 8;
/// What curves are drawn with.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

#[cfg(test)]
mod tests {
    use super::*;

    fn curves() -> Vec<Curve> {
        let half = (1..=100).map(|n| (n <= 50).then_some(n * 1000));
        vec![Curve::new("all", (1..=100).map(|n| Some(n * 2000))), Curve::new("half", half)]
    }

    #[test]
    fn a_lost_frame_is_later_than_all_others() {
        let [all, half] = &curves()[..] else { panic!("there are two") };
        assert_eq!((all.delay_ms(50), half.delay_ms(50), half.delay_ms(51)), (Some(100.0), Some(50.0), None));
        assert_eq!((half.produced(), half.delivered()), (100, 50));
        let table = percentiles(&curves()).csv();
        assert!(table.contains("99 %,198.0,lost\n"), "{table}");
    }

    #[test]
    fn a_curve_with_loss_stays_below_the_top() {
        let drawn = chart(&curves(), 60);
        assert!(drawn.lines().all(|line| line.len() <= 60), "{drawn}");
        let level = |letter: char| {
            drawn.lines().position(|line| line.starts_with([' ', '1']) && line.contains(letter))
        };
        let fifty = drawn.lines().position(|line| line.starts_with("  50 %")).unwrap();
        assert_eq!(level('b'), Some(fifty), "{drawn}");
        assert_eq!(level('a'), Some(1), "{drawn}");
    }

    #[test]
    fn no_frames_are_no_reason_to_fail() {
        let none = [Curve::new("none", [])];
        assert!(chart(&none, 5).contains("0 of 0 frames came"));
        assert_eq!(none[0].delay_ms(50), None);
    }
}
