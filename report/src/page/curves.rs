//! The cumulative distribution of frame delay over all produced frames, a chart for each profile.
//!
//! A frame that never came counts in the whole and in no delay, so a curve ends at the share that was
//! delivered: losing frames cannot look like being fast.

use maud::{Markup, html};

use super::{line_class, number};
use crate::data::Run;
use crate::delays::Delays;
use crate::svg::legend::{self, Key};
use crate::svg::scale::{Scale, round_down, round_up};
use crate::svg::{Coord, Frame, axis, path};

/// The section with all profiles.
pub(super) fn section(run: &Run, delays: &[Vec<Delays>]) -> Markup {
    let keys: Vec<Key> = (0..run.settings.len())
        .map(|index| Key { class: line_class(index), name: run.settings[index].name.clone() })
        .collect();
    html! {
        section aria-labelledby="delay" {
            h2 id="delay" { "Frame delay" }
            p {
                "Share of all produced frames of the main camera that were complete at the operator within a \
                 delay, all seeds together. Frames that never came count: a curve ends at the share that was \
                 delivered, and the dotted line carries that share to the edge. Upright lines are at 200, 300 \
                 and 500 ms. The delay's scale is logarithmic and each link has its own."
            }
            (legend::list(&keys))
            div class="charts" {
                @for (index, pools) in delays.iter().enumerate() { (figure(run, index, pools)) }
            }
        }
    }
}

fn figure(run: &Run, profile: usize, pools: &[Delays]) -> Markup {
    let name = &run.profiles[profile].name;
    let id = format!("cdf-{profile}");
    html! {
        figure class="card" aria-labelledby=(format!("{id}-name")) {
            figcaption { h3 id=(format!("{id}-name")) { (name) } }
            @if pools.iter().all(|pool| pool.delivered_ratio().is_none_or(|ratio| ratio <= 0.0)) {
                p class="empty" { "No frame was delivered." }
            } @else {
                (chart(run, name, &id, pools))
            }
            details {
                summary { "As a table" }
                (table(run, name, pools))
            }
        }
    }
}

fn chart(run: &Run, name: &str, id: &str, pools: &[Delays]) -> Markup {
    let curves: Vec<Vec<(f64, f64)>> = pools.iter().map(Delays::curve).collect();
    let ends = || curves.iter().filter_map(|curve| Some((curve.first()?.0, curve.last()?.0)));
    let least = ends().map(|(first, _)| first).fold(f64::INFINITY, f64::min);
    let most = ends().map(|(_, last)| last).fold(0.0, f64::max);
    let x = Scale::log(round_down(least.max(0.1)), round_up(most), LEFT, WIDTH - RIGHT);
    let y = Scale::linear(0.0, 100.0, HEIGHT - BOTTOM, TOP);
    let desc = description(run, pools);
    let title = format!("Frame delay on {name}");
    let frame = Frame { width: WIDTH, height: HEIGHT, id, title: &title, desc: &desc };
    frame.draw(&html! {
        (axis::vertical(&y, 5, (LEFT, WIDTH - RIGHT)))
        (axis::horizontal(&x, 9, (TOP, HEIGHT - BOTTOM)))
        @for limit in [200.0, 300.0, 500.0] {
            @if limit < x.last() && limit > round_down(least) {
                line class="limit" x1=(Coord(x.at(limit))) x2=(Coord(x.at(limit))) y1=(Coord(TOP)) y2=(Coord(HEIGHT - BOTTOM)) {}
            }
        }
        text class="name" x=(Coord(LEFT - 30.0)) y="10" { "% of produced" }
        text class="name" x=(Coord(WIDTH - RIGHT)) y=(Coord(HEIGHT - 3.0)) text-anchor="end" { "delay, ms" }
        @for (index, curve) in curves.iter().enumerate() { (line(index, curve, &x, &y)) }
        (shares(pools, &y))
    })
}

/// A curve, the point where it ends, and its share carried on to the edge.
fn line(settings: usize, curve: &[(f64, f64)], x: &Scale, y: &Scale) -> Markup {
    let class = line_class(settings);
    let Some(last) = curve.last() else { return html! {} };
    let first = curve.first().map_or(0.0, |point| point.0);
    let start = std::iter::once(Some((x.at(first), y.at(0.0))));
    let points = curve.iter().map(|(ms, share)| Some((x.at(*ms), y.at(share * 100.0))));
    let (end_x, end_y) = (x.at(last.0), y.at(last.1 * 100.0));
    html! {
        path class=(format!("line {class}")) d=(path::line(start.chain(thinned(points)))) {}
        path class=(format!("tail {class}")) d=(path::line([Some((end_x, end_y)), Some((x.range().1, end_y))])) {}
        circle class=(format!("end {class}")) cx=(Coord(end_x)) cy=(Coord(end_y)) r="2.5" {}
    }
}

/// The shares at which curves end short of everything, at the edge, as far as they do not cover one
/// another; the table has all.
fn shares(pools: &[Delays], y: &Scale) -> Markup {
    let mut taken: Vec<f64> = Vec::new();
    let mut texts = Vec::new();
    for (index, pool) in pools.iter().enumerate() {
        let percent = pool.delivered_ratio().unwrap_or(0.0) * 100.0;
        let at = y.at(percent);
        if (0.05..COMPLETE_PERCENT).contains(&percent) && taken.iter().all(|other| (at - other).abs() > 12.0)
        {
            taken.push(at);
            texts.push((line_class(index), at, format!("{} %", number(percent, 1))));
        }
    }
    html! {
        @for (class, at, text) in &texts {
            text class=(format!("share {}", class.split(' ').next().unwrap_or_default()))
                x=(Coord(WIDTH - RIGHT - 4.0)) y=(Coord(at - 5.0)) text-anchor="end" { (text) }
        }
    }
}

/// Leaves out points that are too near the one before to be seen; the last stays.
fn thinned(points: impl Iterator<Item = Option<(f64, f64)>>) -> impl Iterator<Item = Option<(f64, f64)>> {
    let mut kept: Vec<Option<(f64, f64)>> = Vec::new();
    let mut last_written = None;
    let mut pending = None;
    for (x, y) in points.flatten() {
        pending = Some((x, y));
        let near = |(a, b): (f64, f64)| (x - a).abs() < 0.7 && (y - b).abs() < 0.7;
        if !last_written.is_some_and(near) {
            kept.push(pending.take());
            last_written = Some((x, y));
        }
    }
    kept.extend(pending.map(Some));
    kept.into_iter()
}

fn description(run: &Run, pools: &[Delays]) -> String {
    let one = |(index, pool): (usize, &Delays)| {
        let name = &run.settings[index].name;
        let delivered = pool.delivered_ratio()? * 100.0;
        let median = pool.percentile(50.0).map_or("half never arrived".to_owned(), |ms| {
            format!("half of all frames within {} ms", number(ms, 1))
        });
        Some(format!("{name}: {median}, {} % delivered.", number(delivered, 1)))
    };
    let parts: Vec<String> = pools.iter().enumerate().filter_map(one).collect();
    parts.join(" ")
}

fn table(run: &Run, name: &str, pools: &[Delays]) -> Markup {
    html! {
        div class="scroll" role="region" aria-label=(format!("Delays on {name}")) tabindex="0" {
            table {
                caption { "Delay in ms within which so many of all produced frames came" }
                thead {
                    tr {
                        th scope="col" { "settings" }
                        @for percent in PERCENTS { th scope="col" { (percent) " %" } }
                        th scope="col" { "delivered" }
                        th scope="col" { "produced" }
                    }
                }
                tbody {
                    @for (index, pool) in pools.iter().enumerate() {
                        tr {
                            th scope="row" { (run.settings[index].name) }
                            @for percent in PERCENTS {
                                td { (pool.percentile(f64::from(percent)).map_or("never".to_owned(), |ms| number(ms, 1))) }
                            }
                            td { (pool.delivered_ratio().map_or("–".to_owned(), |ratio| format!("{} %", number(ratio * 100.0, 2)))) }
                            td { (pool.produced()) }
                        }
                    }
                }
            }
        }
    }
}

/// A curve that ends above this has no text at its end: there is no room over it.
const COMPLETE_PERCENT: f64 = 97.0;
/// What the table shows.
const PERCENTS: [u32; 7] = [5, 25, 50, 75, 90, 95, 99];

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 36.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 36.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends() {
        let points = (0..1000).map(|i| Some((f64::from(i) / 100.0, 0.0)));
        let kept: Vec<_> = thinned(points).flatten().collect();
        assert!(kept.len() < 20, "{}", kept.len());
        assert_eq!(kept.first(), Some(&(0.0, 0.0)));
        assert_eq!(kept.last(), Some(&(9.99, 0.0)));
    }
}
