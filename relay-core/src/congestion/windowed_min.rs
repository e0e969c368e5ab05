//! The least of what was seen over the last while, in constant space.
//!
//! Kathleen Nichols' filter as Linux has it (`lib/win_minmax.c`): the least value of the window,
//! the least since that one, and the least since the second. When the first grows too old the
//! others move up. The answer is exact unless more than two successors have to be forgotten.

use units::{Span, Time};

/// The filter. Values are plain numbers; a greatest is had by filtering complements.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WindowedMin {
    kept: Option<[Seen; 3]>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Time,
    value: u64,
}

impl WindowedMin {
    /// Takes in `value` and says the least of the last `window`.
    pub(crate) fn update(&mut self, now: Time, window: Span, value: u64) -> u64 {
        let new = Seen { at: now, value };
        let mut kept = match self.kept {
            Some(kept) if value > kept[0].value && now.since(kept[2].at) <= window => kept,
            _ => [new; 3],
        };
        if value <= kept[1].value {
            kept[1] = new;
            kept[2] = new;
        } else if value <= kept[2].value {
            kept[2] = new;
        }
        let age = now.since(kept[0].at);
        if age > window {
            kept = [kept[1], kept[2], new];
            if now.since(kept[0].at) > window {
                kept = [kept[1], kept[2], new];
            }
        } else if kept[1].at == kept[0].at && age > window / 4 {
            // A quarter of the window has passed without a successor: the newest will do.
            kept[1] = new;
            kept[2] = new;
        } else if kept[2].at == kept[1].at && age > window / 2 {
            kept[2] = new;
        }
        self.kept = Some(kept);
        kept[0].value
    }

    /// The least as of the last update.
    pub(crate) fn value(&self) -> Option<u64> {
        self.kept.map(|kept| kept[0].value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_least_is_forgotten_when_it_is_too_old() {
        let mut filter = WindowedMin::default();
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let window = Span::from_millis(100);
        assert_eq!(filter.value(), None);
        assert_eq!(filter.update(at(0), window, 5), 5);
        assert_eq!(filter.update(at(60), window, 9), 5);
        assert_eq!(filter.update(at(90), window, 7), 5);
        assert_eq!(filter.update(at(101), window, 8), 7);
        assert_eq!(filter.update(at(500), window, 20), 20);
    }

    proptest! {
        #[test]
        fn it_is_never_below_the_least_of_the_window_nor_above_the_newest(
            steps in prop::collection::vec((0u64..50, 0u64..1_000), 1..200),
        ) {
            let mut filter = WindowedMin::default();
            let window = Span::from_millis(200);
            let mut now = Time::ZERO;
            let mut seen = Vec::new();
            for (wait, value) in steps {
                now += Span::from_millis(wait);
                seen.push((now, value));
                let least = filter.update(now, window, value);
                let fresh = seen.iter().filter(|(at, _)| now.since(*at) <= window);
                let true_least = fresh.map(|(_, value)| *value).min().unwrap();
                prop_assert!((true_least..=value).contains(&least));
            }
        }
    }
}
