//! One metric of many cells, profiles down and settings across.
//!
//! Here values are collected and summed up over seeds; how that looks is [`crate::grid`]'s.

use bench::Summary;
use bench::metrics::summary::Status;

use crate::metric::{Better, Metric, Value};

/// One metric of many cells.
#[derive(Debug, Clone)]
pub struct Table {
    /// What is looked at.
    pub metric: &'static Metric,
    /// Names of the rows.
    pub profiles: Vec<String>,
    /// Names of the columns.
    pub settings: Vec<String>,
    /// How many cells a full entry has: seeds, each as often as it is repeated.
    pub seeds: usize,
    /// How often each cell is run: more than once only for real.
    pub repeats: usize,
    /// A row for each profile, an entry for each settings.
    pub rows: Vec<Vec<Entry>>,
}

/// What a table has room for: also the cells that have no result (yet).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    pub(crate) profiles: Vec<String>,
    pub(crate) settings: Vec<String>,
    pub(crate) seeds: Vec<String>,
}

/// All seeds of one profile under one settings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// Of each cell that has a result.
    pub values: Vec<Value>,
    /// Of each seed that has a number: the seed, how many of its repeats have one, the least and the most.
    pub spreads: Vec<(String, usize, f64, f64)>,
    /// Cells that could not be run to their end.
    pub failed: usize,
}

/// What an entry comes down to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Digest {
    /// No cell has a result and none failed.
    Missing,
    /// No cell has a result and some failed.
    Failed,
    /// The metric does not exist in these cells, as with a camera that the workload does not have.
    Absent,
    /// Every seed that has a result is infinite: nothing arrived.
    Lost,
    /// So many seeds, of those that have a result, are infinite. A mean over the others would flatter.
    LostInSome(usize),
    /// Numbers in every seed that has a result.
    Numbers {
        /// Arithmetic mean.
        mean: f64,
        /// The worst seed, by the metric's direction.
        worst: f64,
    },
}

impl Shape {
    /// How often each seed is there: once, or as often as cells are repeated.
    pub fn repeats(&self) -> usize {
        let mut seeds: Vec<&str> = self.seeds.iter().map(|label| seed_of(label)).collect();
        seeds.sort_unstable();
        seeds.dedup();
        self.seeds.len().div_ceil(seeds.len().max(1)).max(1)
    }

    /// Makes room for a cell, whose seed is called as [`Summary::seed_label`] does. Rows and columns come in the order in which they are first named.
    pub fn add(&mut self, profile: &str, settings: &str, seed: &str) {
        for (list, name) in
            [(&mut self.profiles, profile), (&mut self.settings, settings), (&mut self.seeds, seed)]
        {
            if !list.iter().any(|known| known == name) {
                list.push(name.to_owned());
            }
        }
    }

    /// Room for exactly these cells.
    pub fn of(cells: &[Summary]) -> Self {
        let mut shape = Self::default();
        for cell in cells {
            shape.add(&cell.profile, &cell.settings, &cell.seed_label());
        }
        shape
    }
}

impl Table {
    /// Collects `metric` from `cells`; a cell that `shape` has no room for is left out.
    pub fn new(metric: &'static Metric, shape: &Shape, cells: &[Summary]) -> Self {
        let mut rows = vec![vec![Entry::default(); shape.settings.len()]; shape.profiles.len()];
        for cell in cells {
            let row = shape.profiles.iter().position(|name| *name == cell.profile);
            let column = shape.settings.iter().position(|name| *name == cell.settings);
            let (Some(row), Some(column)) = (row, column) else { continue };
            rows[row][column].add(metric, cell);
        }
        Self {
            metric,
            profiles: shape.profiles.clone(),
            settings: shape.settings.clone(),
            seeds: shape.seeds.len(),
            repeats: shape.repeats(),
            rows,
        }
    }
}

impl Entry {
    /// Takes one more seed's cell.
    pub(crate) fn add(&mut self, metric: &Metric, cell: &Summary) {
        if cell.status == Status::Ok {
            let value = metric.of(cell);
            self.values.push(value);
            let Some(number) = value.number() else { return };
            match self.spreads.iter_mut().find(|(seed, ..)| *seed == cell.seed) {
                Some((_, count, least, most)) => {
                    *count += 1;
                    (*least, *most) = (least.min(number), most.max(number));
                }
                None => self.spreads.push((cell.seed.clone(), 1, number, number)),
            }
        } else {
            self.failed += 1;
        }
    }

    /// What the machine alone makes: the most by which repeats of one seed are apart; `None` where nothing was repeated.
    pub fn noise(&self) -> Option<f64> {
        let repeated = self.spreads.iter().filter(|(_, count, ..)| *count > 1);
        repeated.map(|(_, _, least, most)| most - least).reduce(f64::max)
    }

    /// Sums the seeds up.
    pub fn digest(&self, better: Better) -> Digest {
        let numbers: Vec<f64> = self.values.iter().filter_map(|value| value.number()).collect();
        let lost = self.values.iter().filter(|value| **value == Value::Lost).count();
        if self.values.is_empty() {
            return if self.failed > 0 { Digest::Failed } else { Digest::Missing };
        }
        let further = |a: f64, b: f64| match better {
            Better::Higher => a.min(b),
            Better::Lower => a.max(b),
        };
        let Some(worst) = numbers.iter().copied().reduce(further) else {
            return if lost > 0 { Digest::Lost } else { Digest::Absent };
        };
        if lost > 0 {
            return Digest::LostInSome(lost);
        }
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        Digest::Numbers { mean, worst }
    }
}

/// The seed in the label of a cell among a run's.
pub(crate) fn seed_of(label: &str) -> &str {
    label.split_once(".r").map_or(label, |(seed, _)| seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_of_a_seed_say_what_the_machine_makes() {
        let metric = Metric::find("delivered").unwrap();
        let cell = |seed: &str, repeat, ratio| {
            let camera =
                bench::metrics::summary::CameraSummary { delivered_ratio: Some(ratio), ..Default::default() };
            let cameras = bench::Named(vec![("main".to_owned(), camera)]);
            Summary { seed: seed.to_owned(), repeat, cameras, ..Summary::default() }
        };
        let cells = [cell("1", 1, 0.5), cell("1", 2, 0.75), cell("2", 1, 1.0), cell("2", 2, 0.875)];
        let shape = Shape::of(&cells);
        assert_eq!((shape.seeds.len(), shape.repeats()), (4, 2));
        assert_eq!(shape.seeds, ["1", "1.r2", "2", "2.r2"]);
        let table = Table::new(metric, &shape, &cells);
        assert_eq!((table.seeds, table.repeats), (4, 2));
        let entry = &table.rows[0][0];
        assert_eq!(entry.noise(), Some(25.0), "the seeds are further apart, and that is not the machine");
        assert_eq!(entry.digest(Better::Higher), Digest::Numbers { mean: 78.125, worst: 50.0 });
        assert_eq!(Table::new(metric, &Shape::of(&cells[..1]), &cells[..1]).rows[0][0].noise(), None);
    }

    fn entry(values: &[Value]) -> Entry {
        Entry { values: values.to_vec(), ..Entry::default() }
    }

    #[test]
    fn the_worst_seed_follows_the_direction() {
        let three = entry(&[Value::Number(1.0), Value::Number(3.0), Value::Number(2.0)]);
        assert_eq!(three.digest(Better::Higher), Digest::Numbers { mean: 2.0, worst: 1.0 });
        assert_eq!(three.digest(Better::Lower), Digest::Numbers { mean: 2.0, worst: 3.0 });
    }

    #[test]
    fn a_lost_seed_is_never_averaged_away() {
        assert_eq!(entry(&[Value::Number(1.0), Value::Lost]).digest(Better::Lower), Digest::LostInSome(1));
        assert_eq!(entry(&[Value::Lost, Value::Lost]).digest(Better::Lower), Digest::Lost);
        assert_eq!(entry(&[Value::Absent]).digest(Better::Lower), Digest::Absent);
    }

    #[test]
    fn nothing_yet_and_failed_are_told_apart() {
        assert_eq!(Entry::default().digest(Better::Lower), Digest::Missing);
        assert_eq!(Entry { failed: 2, ..Entry::default() }.digest(Better::Lower), Digest::Failed);
    }

    #[test]
    fn a_shape_keeps_first_seen_order() {
        let mut shape = Shape::default();
        shape.add("b", "tuned", "1");
        shape.add("a", "before", "2");
        shape.add("b", "before", "1");
        assert_eq!(shape.profiles, ["b", "a"]);
        assert_eq!(shape.settings, ["tuned", "before"]);
        assert_eq!(shape.seeds, ["1", "2"]);
    }
}
