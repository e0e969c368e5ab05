//! One cell second by second: what came, what was sent, what waited, what was lost, and when the
//! picture stood.
//!
//! A page has a timeline for each profile and settings, of the seed that was frozen longest, as long
//! as there is room; where there is not, the cells that were frozen longest have precedence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bench::Summary;
use maud::{Markup, PreEscaped, html};

use super::{TIMELINES_BYTES_MAX, line_class, number};
use crate::data::{Freeze, Run, Second, Tables, Timeline};
use crate::svg::legend::{self, Key};
use crate::svg::scale::{Scale, round_up};
use crate::svg::{Coord, Frame, axis, path};

/// The timelines of a page, drawn.
pub(super) struct Timelines {
    /// By profile and settings: the seed, and the drawing with its tables.
    drawn: BTreeMap<(usize, usize), (String, String)>,
    /// How many had no room.
    pub(super) omitted: usize,
}

impl Timelines {
    /// Where a link to a profile and settings leads.
    pub(super) fn target(&self, profile: usize, settings: usize) -> String {
        if self.drawn.contains_key(&(profile, settings)) {
            format!("#t-{profile}-{settings}")
        } else {
            "#cell".to_owned()
        }
    }

    /// Profile, settings, seed and drawing, in the scenario's order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize, &str, PreEscaped<&str>)> {
        self.drawn.iter().map(|((profile, settings), (seed, drawing))| {
            (*profile, *settings, seed.as_str(), PreEscaped(drawing.as_str()))
        })
    }
}

/// Draws as many as there is room for.
pub(super) fn choose(run: &Run, tables: &dyn Tables, unread: &mut Vec<String>) -> Timelines {
    let mut worst: BTreeMap<(usize, usize), &Summary> = BTreeMap::new();
    for cell in run.finished() {
        let Some((profile, settings, _)) = run.indices(cell) else { continue };
        let known = worst.entry((profile, settings)).or_insert(cell);
        if severity(cell) > severity(known) {
            *known = cell;
        }
    }
    let mut order: Vec<((usize, usize), &Summary)> = worst.into_iter().collect();
    // Stable: of equals, the scenario's order.
    order.sort_by_key(|(_, cell)| std::cmp::Reverse(severity(cell)));
    let mut timelines = Timelines { drawn: BTreeMap::new(), omitted: 0 };
    let mut room = TIMELINES_BYTES_MAX;
    for (place, cell) in order {
        // What does not fit ends it: looking for smaller ones would read every cell's tables.
        if timelines.omitted > 0 {
            timelines.omitted += 1;
            continue;
        }
        match tables.timeline(cell) {
            Ok(timeline) => {
                let drawing = draw(run, place, cell, &timeline).into_string();
                match room.checked_sub(drawing.len()) {
                    Some(rest) => {
                        room = rest;
                        timelines.drawn.insert(place, (cell.seed_label(), drawing));
                    }
                    None => timelines.omitted += 1,
                }
            }
            Err(error) => unread.push(format!("{}: failed to {error}", cell.cell)),
        }
    }
    timelines
}

/// How much of a cell one would want to see: frozen milliseconds a minute, then frames that did not come.
fn severity(cell: &Summary) -> (u64, u64) {
    let frozen = cell.all.frozen_s_per_min.unwrap_or(0.0) * 1000.0;
    (frozen as u64, cell.all.produced.saturating_sub(cell.all.delivered))
}

fn draw(run: &Run, (profile, settings): (usize, usize), cell: &Summary, timeline: &Timeline) -> Markup {
    let class = line_class(settings);
    // One colour for the settings; cameras differ by their dashes.
    let colour = class.split(' ').next().unwrap_or_default();
    let camera_class = |index: usize| format!("{colour} k{}", index % CAMERA_DASHES);
    let keys: Vec<Key> = timeline
        .cameras
        .iter()
        .enumerate()
        .map(|(index, name)| Key { class: camera_class(index), name: name.clone() })
        .collect();
    let binned = binned(&timeline.seconds);
    let lanes =
        lanes(&binned, timeline.cameras.len(), run.profiles[profile].rate_mbit_s, colour, &camera_class);
    html! {
        (legend::list(&keys))
        div class="scroll" role="region" aria-label=(format!("Timeline of {}", cell.cell)) tabindex="0" {
            (chart((profile, settings), cell, timeline, &binned, &lanes))
        }
        @if !timeline.freezes.is_empty() { (freeze_table(timeline)) }
        (second_table(timeline, &binned))
    }
}

/// Seconds put together, so that no chart has more than so many steps.
struct Binned {
    /// Seconds in a step.
    width: usize,
    /// How many seconds there are.
    seconds: usize,
    rows: Vec<Second>,
}

fn binned(seconds: &[Second]) -> Binned {
    let width = seconds.len().div_ceil(STEPS_MAX).max(1);
    let rows = seconds.chunks(width).map(|chunk| {
        let mut row = chunk[0].clone();
        for second in &chunk[1..] {
            for (sum, more) in row.delivered.iter_mut().zip(&second.delivered) {
                *sum += more;
            }
            row.sent_bytes += second.sent_bytes;
            row.packets += second.packets;
            row.lost += second.lost;
            row.queue_ms = row.queue_ms.max(second.queue_ms);
            row.window_bytes = row.window_bytes.or(second.window_bytes);
        }
        row
    });
    Binned { width, seconds: seconds.len(), rows: rows.collect() }
}

/// One chart under another on the same axis of time.
struct Lane {
    title: String,
    lines: Vec<(String, Vec<Option<f64>>)>,
    /// A level that does not change.
    level: Option<f64>,
}

fn lanes(
    binned: &Binned,
    cameras: usize,
    rate: Option<f64>,
    colour: &str,
    camera_class: &dyn Fn(usize) -> String,
) -> Vec<Lane> {
    let width = binned.width as f64;
    let of = |value: &dyn Fn(&Second) -> Option<f64>| binned.rows.iter().map(value).collect::<Vec<_>>();
    let one = |title: &str, value: &dyn Fn(&Second) -> Option<f64>| Lane {
        title: title.to_owned(),
        lines: vec![(colour.to_owned(), of(value))],
        level: None,
    };
    let delivered = |index: usize| {
        let value = move |row: &Second| row.delivered.get(index).map(|frames| *frames as f64 / width);
        (camera_class(index), of(&value))
    };
    let mut sent = one("sent to the operator, Mbit/s", &|row| Some(mbit_s(row.sent_bytes, width)));
    let most = most(&sent);
    if let Some(rate) = rate {
        if rate <= most * 3.0 {
            sent.level = Some(rate);
            sent.title.push_str("; dashed: the link's rate");
        } else {
            let _ = write!(sent.title, "; the link takes {} Mbit/s", number(rate, 0));
        }
    }
    vec![
        Lane {
            title: "delivered, frames/s".to_owned(),
            lines: (0..cameras).rev().map(delivered).collect(),
            level: None,
        },
        sent,
        one("longest wait in the link's queue, ms", &|row| Some(row.queue_ms)),
        one("packets lost on the link, %", &|row| Some(lost_percent(row))),
        one("congestion window, kB", &|row| row.window_bytes.map(|bytes| bytes as f64 / 1e3)),
    ]
}

fn most(lane: &Lane) -> f64 {
    let values = lane.lines.iter().flat_map(|(_, values)| values.iter().copied().flatten());
    values.chain(lane.level).fold(0.0, f64::max)
}

fn mbit_s(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8.0 / 1e6 / seconds
}

fn lost_percent(row: &Second) -> f64 {
    if row.packets == 0 { 0.0 } else { row.lost as f64 * 100.0 / row.packets as f64 }
}

fn chart(
    (profile, settings): (usize, usize),
    cell: &Summary,
    timeline: &Timeline,
    binned: &Binned,
    lanes: &[Lane],
) -> Markup {
    let id = format!("tl-{profile}-{settings}");
    let freezes_bottom = TOP + FREEZE_ROW * timeline.cameras.len() as f64;
    let first = freezes_bottom + LANE_GAP;
    let bottom = first + lanes.len() as f64 * (LANE + LANE_GAP) - LANE_GAP;
    let x = Scale::linear(0.0, binned.seconds as f64, LEFT, WIDTH - RIGHT);
    let title =
        format!("{} under {}, seed {}, second by second", cell.profile, cell.settings, cell.seed_label());
    let desc = description(timeline);
    Frame { width: WIDTH, height: bottom + 34.0, id: &id, title: &title, desc: &desc }.draw(&html! {
        // The picture of the first camera is what the operator steers by: its freezes go all the way down.
        @for freeze in timeline.freezes.iter().filter(|freeze| freeze.camera == 0).take(FREEZES_DRAWN_MAX) {
            (band(freeze, &x, (first - LANE_GAP + 4.0, bottom), "band"))
        }
        (axis::horizontal(&x, 12, (TOP, bottom)))
        text class="name" x=(Coord(WIDTH - RIGHT)) y=(Coord(bottom + 30.0)) text-anchor="end" { "seconds since the start of the traffic" }
        (freeze_rows(timeline, &x))
        @for (index, lane) in lanes.iter().enumerate() {
            (lane_chart(lane, first + index as f64 * (LANE + LANE_GAP), &x, binned))
        }
    })
}

/// A row for each camera with its freezes.
fn freeze_rows(timeline: &Timeline, x: &Scale) -> Markup {
    html! {
        text class="name" x=(Coord(LEFT)) y="12" { "frozen picture" }
        @for (index, name) in timeline.cameras.iter().enumerate() {
            @let y = TOP + FREEZE_ROW * index as f64;
            text class="row" x=(Coord(LEFT - 6.0)) y=(Coord(y + 10.0)) text-anchor="end" { (shortened(name)) }
            line class="base" x1=(Coord(LEFT)) x2=(Coord(WIDTH - RIGHT)) y1=(Coord(y + FREEZE_ROW - 1.5)) y2=(Coord(y + FREEZE_ROW - 1.5)) {}
            @for freeze in timeline.freezes.iter().filter(|freeze| freeze.camera == index).take(FREEZES_DRAWN_MAX) {
                (band(freeze, x, (y + 1.0, y + FREEZE_ROW - 2.0), "freeze"))
            }
        }
    }
}

/// A name that fits beside the plot.
fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_CHARS_MAX - 1).chain(['…']).collect()
}

fn band(freeze: &Freeze, x: &Scale, (top, bottom): (f64, f64), class: &str) -> Markup {
    let (from, to) = (x.at(freeze.from_s), x.at(freeze.to_s));
    // Two freezes with a frame between stay two.
    let width = (to - from - 0.5).max(1.0);
    html! {
        rect class=(class) x=(Coord(from)) y=(Coord(top)) width=(Coord(width)) height=(Coord(bottom - top)) {
            @if class == "freeze" { title { (freeze_text(freeze)) } }
        }
    }
}

fn freeze_text(freeze: &Freeze) -> String {
    let cause = freeze.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{} s from {} s{cause}", number(freeze.to_s - freeze.from_s, 2), number(freeze.from_s, 2))
}

fn lane_chart(lane: &Lane, top: f64, x: &Scale, binned: &Binned) -> Markup {
    let bottom = top + LANE;
    let most = most(lane);
    let y = Scale::linear(0.0, if most > 0.0 { two_steps(most) } else { 1.0 }, bottom, top);
    let place = |index: usize| x.at((index * binned.width) as f64);
    let (left, right) = x.range();
    html! {
        (axis::vertical(&y, 2, (left, right)))
        text class="name" x=(Coord(left)) y=(Coord(top - 5.0)) { (lane.title) }
        @if let Some(level) = lane.level {
            line class="level" x1=(Coord(left)) x2=(Coord(right)) y1=(Coord(y.at(level))) y2=(Coord(y.at(level))) {}
        }
        @for (class, values) in &lane.lines {
            @let points: Vec<_> = values.iter().enumerate().map(|(i, v)| (place(i), v.map(|v| y.at(v)))).collect();
            path class=(format!("line thin {class}")) d=(path::steps(&points, right)) {}
        }
    }
}

/// The least end of an axis that holds `most` and has two round steps at most.
fn two_steps(most: f64) -> f64 {
    let step = round_up(most / 2.0);
    step * (most / step * (1.0 - 1e-9)).ceil()
}

fn description(timeline: &Timeline) -> String {
    let one = |(index, name): (usize, &String)| {
        let freezes = timeline.freezes.iter().filter(|freeze| freeze.camera == index);
        let (mut count, mut length) = (0, 0.0);
        for freeze in freezes {
            count += 1;
            length += freeze.to_s - freeze.from_s;
        }
        format!("{name}: {count} freezes, {} s together.", number(length, 1))
    };
    let parts: Vec<String> = timeline.cameras.iter().enumerate().map(one).collect();
    format!("{} The numbers are in the tables below.", parts.join(" "))
}

/// How many freezes have which cause, the most frequent first.
fn causes(timeline: &Timeline) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for freeze in &timeline.freezes {
        *counts.entry(freeze.cause.as_deref().unwrap_or("cause not known")).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let texts: Vec<String> = counts.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
    if texts.is_empty() { String::new() } else { format!(": {}", texts.join(", ")) }
}

fn freeze_table(timeline: &Timeline) -> Markup {
    let more = timeline.freezes.len().saturating_sub(FREEZES_LISTED_MAX);
    html! {
        details {
            summary { "Freezes (" (timeline.freezes.len()) ")" (causes(timeline)) }
            @if more > 0 { p { "The first " (FREEZES_LISTED_MAX) "; " (more) " more are in the cell's tables." } }
            div class="scroll" role="region" aria-label="Freezes" tabindex="0" {
                table {
                    caption class="vh" { "Freezes and their causes" }
                    thead {
                        tr {
                            th scope="col" { "from, s" }
                            th scope="col" { "for, s" }
                            th scope="col" { "camera" }
                            th scope="col" { "cause" }
                        }
                    }
                    tbody {
                        @for freeze in timeline.freezes.iter().take(FREEZES_LISTED_MAX) {
                            tr {
                                th scope="row" { (number(freeze.from_s, 2)) }
                                td { (number(freeze.to_s - freeze.from_s, 2)) }
                                td { (timeline.cameras.get(freeze.camera).map_or("", String::as_str)) }
                                td { (freeze.cause.as_deref().unwrap_or("not known")) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn second_table(timeline: &Timeline, binned: &Binned) -> Markup {
    let width = binned.width as f64;
    html! {
        details {
            summary { "Every " @if binned.width == 1 { "second" } @else { (binned.width) " seconds" } " as a table" }
            div class="scroll tall" role="region" aria-label="Seconds" tabindex="0" {
                table {
                    caption class="vh" { "The cell second by second" }
                    thead {
                        tr {
                            th scope="col" { "second" }
                            @for name in &timeline.cameras { th scope="col" { (name) ", frames/s" } }
                            th scope="col" { "Mbit/s" }
                            th scope="col" { "packets" }
                            th scope="col" { "lost" }
                            th scope="col" { "queue, ms" }
                            th scope="col" { "window, kB" }
                        }
                    }
                    tbody {
                        @for (index, row) in binned.rows.iter().enumerate() {
                            tr {
                                th scope="row" { (index * binned.width) }
                                @for frames in &row.delivered { td { (number(*frames as f64 / width, usize::from(binned.width > 1))) } }
                                td { (number(mbit_s(row.sent_bytes, width), 2)) }
                                td { (row.packets) }
                                td { (row.lost) }
                                td { (number(row.queue_ms, 1)) }
                                td { (row.window_bytes.map_or("–".to_owned(), |bytes| number(bytes as f64 / 1e3, 1))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Steps in a chart of time; a longer cell has several seconds in a step.
const STEPS_MAX: usize = 600;
/// Freezes of a camera that are drawn. Gaps are at least 200 ms long, so more would not be seen apart.
const FREEZES_DRAWN_MAX: usize = 400;
/// Freezes that are listed in a page; the cell's own table has all.
const FREEZES_LISTED_MAX: usize = 100;
/// Characters of a camera's name beside the plot.
const NAME_CHARS_MAX: usize = 12;
/// Dashes that tell cameras apart; the style sheet has as many.
const CAMERA_DASHES: usize = 4;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 18.0;
const LANE: f64 = 62.0;
const LANE_GAP: f64 = 26.0;
const FREEZE_ROW: f64 = 14.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_cell_has_several_seconds_in_a_step() {
        let second = Second { delivered: vec![15], packets: 10, queue_ms: 1.0, ..Second::default() };
        let binned = binned(&vec![second; 1300]);
        assert_eq!((binned.width, binned.rows.len(), binned.seconds), (3, 434, 1300));
        assert_eq!((binned.rows[0].delivered[0], binned.rows[0].packets), (45, 30));
        assert_eq!(binned.rows[433].packets, 10, "the last step has what is left");
    }

    #[test]
    fn an_axis_ends_at_a_round_value_not_far_above() {
        for (most, end) in [(23.0, 40.0), (10.1, 20.0), (15.0, 20.0), (20.0, 20.0), (0.03, 0.04)] {
            assert!((two_steps(most) - end).abs() < 1e-9, "{most} is under {}", two_steps(most));
        }
    }

    #[test]
    fn names_beside_the_plot_are_short() {
        assert_eq!(shortened("wrist-right"), "wrist-right");
        assert_eq!(shortened("a-very-long-name"), "a-very-long…");
    }
}
