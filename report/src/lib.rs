//! Grids made from results: which metric, of which cells, in which form.
//!
//! A [`Metric`] says what is looked at and which way is better; a [`Table`] collects it from cells,
//! profiles down and settings across; [`grid`] writes a table for a terminal, as Markdown or as CSV.
//! [`mod@reference`] sets a scenario's reference figures beside the results, in the same forms;
//! [`compare`] judges two sides of the same cells, [`gate`] holds results against limits, [`mod@explain`] says what
//! limited one cell, and a [`Sheet`] is any other table. [`page`] makes the HTML report of a whole run, from what [`data`] reads of
//! its folder. Nothing here computes a metric: they all come from `bench`. Nothing here runs a cell or
//! writes a file, and only [`data`] reads one.

#![cfg_attr(
    test,
    expect(clippy::float_cmp, reason = "results are exact or rounded, and tests compare them exactly")
)]

pub mod cdf;
pub mod compare;
pub mod confirm;
pub mod data;
pub mod delays;
mod effect;
pub mod explain;
pub mod gate;
pub mod grid;
pub mod metric;
pub mod page;
pub mod reference;
pub mod sheet;
mod svg;
pub mod table;

pub use compare::{Compared, Group, Verdict};
pub use gate::{Gate, GateError, Known};
pub use metric::{Metric, UnknownMetric};
pub use reference::Comparison;
pub use sheet::{Align, Sheet};
pub use table::{Shape, Table};
