//! Grids made from results: which metric, of which cells, in which form.
//!
//! A [`Metric`] says what is looked at and which way is better; a [`Table`] collects it from cells,
//! profiles down and settings across; [`grid`] writes a table for a terminal, as Markdown or as CSV.
//! [`mod@reference`] sets a scenario's reference figures beside the results, in the same forms.
//! Nothing here computes a metric: they all come from `bench`. Nothing here runs a cell or reads a
//! file.

pub mod grid;
pub mod metric;
pub mod reference;
pub mod table;

pub use metric::{Metric, UnknownMetric};
pub use reference::Comparison;
pub use table::{Shape, Table};
