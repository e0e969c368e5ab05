//! From values to coordinates, and the round values worth a tick.

/// Maps an interval of values onto an interval of coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
}

impl Scale {
    /// Equal steps for equal differences. An empty interval is widened, so that nothing divides by
    /// zero.
    pub(crate) fn linear(from: f64, to: f64, start: f64, end: f64) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, start, end, kind: Kind::Linear }
    }

    /// Equal steps for equal ratios, of values above zero; an interval that is empty or reaches to
    /// zero is made to span a decade.
    pub(crate) fn log(from: f64, to: f64, start: f64, end: f64) -> Self {
        let from = if from > 0.0 { from } else { 1.0 };
        let to = if to > from { to } else { from * 10.0 };
        Self { from, to, start, end, kind: Kind::Log }
    }

    /// Where `value` is. Values outside are put on the nearer end, so that nothing is drawn outside
    /// of the plot.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.from) / (self.to - self.from),
            Kind::Log if value <= 0.0 => 0.0,
            Kind::Log => libm::log(value / self.from) / libm::log(self.to / self.from),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.start + share * (self.end - self.start)
    }

    /// The coordinates of both ends.
    pub(crate) fn range(&self) -> (f64, f64) {
        (self.start, self.end)
    }

    /// The last value.
    pub(crate) fn last(&self) -> f64 {
        self.to
    }

    /// Round values within the interval: at most `count` + 1 in equal steps of 1, 2 or 5 times a power
    /// of ten; in a logarithmic scale 1, 2 and 5 times the powers of ten, or those powers alone where
    /// the former would be more than `count`.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        match self.kind {
            Kind::Linear => self.linear_ticks(count.max(1)),
            Kind::Log => self.log_ticks(count.max(1)),
        }
    }

    fn linear_ticks(&self, count: usize) -> Vec<f64> {
        let step = nice_step((self.to - self.from) / count as f64);
        let first = (self.from / step).ceil();
        let ticks = (0..=count).map(|index| (first + index as f64) * step);
        ticks.filter(|tick| *tick <= self.to * (1.0 + 1e-9)).collect()
    }

    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let within = |tick: &f64| *tick >= self.from * (1.0 - 1e-9) && *tick <= self.to * (1.0 + 1e-9);
        let of = |factors: &[f64]| -> Vec<f64> {
            let decades = (-9..=12).flat_map(|power| factors.iter().map(move |f| f * power_of_ten(power)));
            decades.filter(within).collect()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        if fine.len() <= count { fine } else { of(&[1.0]) }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
fn nice_step(least: f64) -> f64 {
    let powers = (-12..=15).map(power_of_ten);
    let steps = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * power));
    // A hair of tolerance: a tenth of 1 is not quite 0.1.
    steps.into_iter().find(|step| *step * (1.0 + 1e-9) >= least).unwrap_or(least)
}

/// The first round value, 1, 2 or 5 times a power of ten, that is at least `value`.
pub(crate) fn round_up(value: f64) -> f64 {
    nice_step(value)
}

/// The last such value that is at most `value`, for values above zero.
pub(crate) fn round_down(value: f64) -> f64 {
    let powers = (-12..=15).rev().map(power_of_ten);
    let steps = powers.flat_map(|power| [5.0, 2.0, 1.0].map(|factor| factor * power));
    steps.into_iter().find(|step| *step <= value * (1.0 + 1e-9)).unwrap_or(value)
}

/// Exact for the powers that a double can have exactly, and equal on every machine for the others.
fn power_of_ten(power: i32) -> f64 {
    let magnitude = 10u64.pow(power.unsigned_abs()) as f64;
    if power < 0 { 1.0 / magnitude } else { magnitude }
}

/// A tick's value as text: no more digits than it needs.
pub(crate) fn tick_text(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{}", rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_linear_scale_maps_ends_to_ends_and_the_middle_to_the_middle() {
        let down = Scale::linear(0.0, 200.0, 100.0, 0.0);
        assert!(near(down.at(0.0), 100.0) && near(down.at(200.0), 0.0) && near(down.at(50.0), 75.0));
    }

    #[test]
    fn a_log_scale_gives_each_decade_the_same_room() {
        let scale = Scale::log(1.0, 1000.0, 0.0, 300.0);
        for (value, at) in [(1.0, 0.0), (10.0, 100.0), (100.0, 200.0), (1000.0, 300.0)] {
            assert!(near(scale.at(value), at), "{value} is at {}", scale.at(value));
        }
    }

    #[test]
    fn nothing_is_drawn_outside_and_nothing_divides_by_zero() {
        for scale in [Scale::linear(5.0, 5.0, 0.0, 10.0), Scale::log(0.0, 0.0, 0.0, 10.0)] {
            for value in [-1e300, -1.0, 0.0, 5.0, 1e300, f64::NAN, f64::INFINITY] {
                let at = scale.at(value);
                assert!((0.0..=10.0).contains(&at), "{value} is at {at} on {scale:?}");
            }
        }
    }

    #[test]
    fn linear_ticks_are_round_and_few() {
        let ticks = |to| Scale::linear(0.0, to, 0.0, 1.0).ticks(5);
        let is = |to: f64, wanted: &[f64]| {
            let found = ticks(to);
            assert!(
                found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| near(*a, *b)),
                "{to}: {found:?}"
            );
        };
        is(100.0, &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        is(123.0, &[0.0, 50.0, 100.0]);
        is(0.7, &[0.0, 0.2, 0.4, 0.6]);
        is(15.0, &[0.0, 5.0, 10.0, 15.0]);
    }

    #[test]
    fn log_ticks_thin_out() {
        assert_eq!(Scale::log(1.0, 10.0, 0.0, 1.0).ticks(8), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(Scale::log(1.0, 10_000.0, 0.0, 1.0).ticks(8), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn rounding_goes_outwards() {
        assert!(near(round_up(134.0), 200.0) && near(round_down(134.0), 100.0));
        assert!(near(round_up(2.0), 2.0) && near(round_down(2.0), 2.0));
        assert!(near(round_down(0.03), 0.02));
    }

    #[test]
    fn ticks_have_no_needless_digits() {
        assert_eq!(tick_text(0.1 + 0.2), "0.3");
        assert_eq!(tick_text(20.0), "20");
        assert_eq!(tick_text(-0.0), "0");
    }
}
