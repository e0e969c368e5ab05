//! The `d` of lines and steps, with points that make no difference left out.

use std::fmt::Write as _;

use super::Coord;

/// Straight lines from point to point; where there is no point the line is broken.
pub(crate) fn line(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut pen = Pen::default();
    for point in points {
        pen.take(point);
    }
    pen.end()
}

/// A staircase: each value holds until the next point's x, and the last until `end`. Where there is no
/// value the staircase is broken.
pub(crate) fn steps(points: &[(f64, Option<f64>)], end: f64) -> String {
    let mut pen = Pen::default();
    for (index, (x, y)) in points.iter().enumerate() {
        let next = points.get(index + 1).map_or(end, |(x, _)| *x);
        match y {
            Some(y) => {
                pen.take(Some((*x, *y)));
                pen.take(Some((next, *y)));
            }
            None => pen.take(None),
        }
    }
    pen.end()
}

/// Writes points in tenths, holding each back until it is known to be needed.
#[derive(Debug, Default)]
struct Pen {
    d: String,
    /// The last point that is in `d`, and one that is not yet.
    written: Option<(i64, i64)>,
    held: Option<(i64, i64)>,
}

impl Pen {
    fn take(&mut self, point: Option<(f64, f64)>) {
        let Some((x, y)) = point else {
            self.flush();
            self.written = None;
            return;
        };
        let point = (tenths(x), tenths(y));
        let Some(last) = self.written else {
            self.write('M', point);
            return;
        };
        if let Some(held) = self.held {
            if held == point {
                return;
            }
            // Level and plumb lines go on for long in what is drawn here.
            let level = last.1 == held.1 && held.1 == point.1;
            let plumb = last.0 == held.0 && held.0 == point.0 && (held.1 - last.1) * (point.1 - held.1) >= 0;
            if !level && !plumb {
                self.write('L', held);
            }
        } else if last == point {
            return;
        }
        self.held = Some(point);
    }

    fn write(&mut self, command: char, point: (i64, i64)) {
        let (x, y) = (Coord(point.0 as f64 / 10.0), Coord(point.1 as f64 / 10.0));
        match (command, self.written) {
            ('L', Some(last)) if last.1 == point.1 => _ = write!(self.d, "H{x}"),
            ('L', Some(last)) if last.0 == point.0 => _ = write!(self.d, "V{y}"),
            _ => _ = write!(self.d, "{command}{x} {y}"),
        }
        self.written = Some(point);
    }

    fn flush(&mut self) {
        if let Some(held) = self.held.take() {
            self.write('L', held);
        }
    }

    fn end(mut self) -> String {
        self.flush();
        self.d
    }
}

fn tenths(value: f64) -> i64 {
    if value.is_finite() { (value * 10.0).round() as i64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_point_to_point_and_breaks_where_there_is_none() {
        assert_eq!(line([Some((0.0, 1.0)), Some((2.0, 3.0))]), "M0 1L2 3");
        assert_eq!(line([Some((0.0, 0.0)), Some((1.0, 1.0)), None, Some((3.0, 3.0))]), "M0 0L1 1M3 3");
        assert_eq!(line([]), "");
    }

    #[test]
    fn points_on_a_level_or_plumb_line_are_left_out() {
        let level = (0..100).map(|x| Some((f64::from(x), 5.0)));
        assert_eq!(line(level), "M0 5H99");
        assert_eq!(
            line([Some((0.0, 0.0)), Some((0.0, 1.0)), Some((0.0, 2.0)), Some((1.0, 2.0))]),
            "M0 0V2H1"
        );
        // A line that goes back on itself shows how far it went.
        assert_eq!(line([Some((0.0, 0.0)), Some((0.0, 9.0)), Some((0.0, 2.0))]), "M0 0V9V2");
    }

    #[test]
    fn a_staircase_holds_its_value() {
        assert_eq!(steps(&[(0.0, Some(1.0)), (2.0, Some(3.0))], 4.0), "M0 1H2V3H4");
        assert_eq!(steps(&[(0.0, Some(1.0)), (2.0, None), (4.0, Some(1.0))], 6.0), "M0 1H2M4 1H6");
    }
}
