//! One cell's summary for reading: what arrived, what the operator saw, and why.

use std::fmt::Write as _;

use bench::Summary;
use bench::metrics::summary::{CameraSummary, LinkSummary, Status};

/// The whole summary as text, in 80 columns.
pub(crate) fn human(cell: &Summary) -> String {
    let mut out = heading(cell);
    if cell.status == Status::Failed {
        let _ = writeln!(out, "  failed: {}", cell.error.as_deref().unwrap_or("no reason given"));
        return out;
    }
    cameras(&mut out, cell);
    hands(&mut out, cell);
    links(&mut out, cell);
    transport(&mut out, cell);
    host(&mut out, cell);
    out
}

fn heading(cell: &Summary) -> String {
    let mut out = format!("{}\n", cell.cell);
    let _ = writeln!(
        out,
        "  profile {}, settings {}, seed {}, {} s of traffic",
        cell.profile, cell.settings, cell.seed, cell.duration_s
    );
    if cell.status == Status::Ok {
        let rate = cell.cpu_s.filter(|cpu_s| *cpu_s > 0.0).map(|cpu_s| cell.packets as f64 / cpu_s / 1e3);
        let rate = rate.map(|rate| format!(", {rate:.0} thousand a CPU second")).unwrap_or_default();
        let _ = writeln!(out, "  {} packets{rate}", cell.packets);
        let _ = writeln!(out, "  trace hash {}", cell.trace_hash);
    }
    if cell.repeat > 1 {
        let _ = writeln!(out, "  run {} of this cell", cell.repeat);
    }
    if let Some(tainted) = &cell.tainted {
        let _ = writeln!(out, "  tainted: {tainted}");
    }
    for warning in &cell.warnings {
        let _ = writeln!(out, "  warning: {warning}");
    }
    out
}

fn cameras(out: &mut String, cell: &Summary) {
    type Row = (&'static str, fn(&CameraSummary) -> String);
    let rows: [Row; 21] = [
        ("frames produced", |c| c.produced.to_string()),
        ("frames delivered", |c| c.delivered.to_string()),
        ("  share, %", |c| percent(c.delivered_ratio)),
        ("on time, 200 ms, %", |c| percent(c.on_time_ratio.within_200_ms)),
        ("on time, 300 ms, %", |c| percent(c.on_time_ratio.within_300_ms)),
        ("on time, 500 ms, %", |c| percent(c.on_time_ratio.within_500_ms)),
        ("delay p50, delivered, ms", |c| lost(c.delay_ms.p50)),
        ("delay p99, delivered, ms", |c| lost(c.delay_ms.p99)),
        ("delay p50, produced, ms", |c| lost(c.delay_all_ms.p50)),
        ("delay p99, produced, ms", |c| lost(c.delay_all_ms.p99)),
        ("frozen, s/min", |c| format!("{:.2}", c.frozen_s_per_min)),
        ("freezes", |c| c.freezes.to_string()),
        ("longest freeze, ms", |c| format!("{:.0}", c.freeze_ms_max)),
        ("skipped for loss", |c| c.dropped.skipped.to_string()),
        ("expired", |c| c.dropped.expired.to_string()),
        ("superseded", |c| c.dropped.superseded.to_string()),
        ("nobody to send to", |c| c.dropped.no_peer.to_string()),
        ("a part missing", |c| c.dropped.incomplete.to_string()),
        ("lost on the link", |c| c.dropped.lost_on_link.to_string()),
        ("not sent at the end", |c| c.dropped.unaccounted.to_string()),
        ("in the relay p99, ms", |c| number(c.relay_ms.p99)),
    ];
    let names: Vec<String> = cell.cameras.iter().map(|(name, _)| name.to_owned()).collect();
    row(out, "\nvideo", &names);
    for (label, show) in rows {
        row(out, &format!("  {label}"), &cell.cameras.iter().map(|(_, c)| show(c)).collect::<Vec<_>>());
    }
    let all = &cell.all;
    let _ = writeln!(
        out,
        "  all cameras: {} % delivered, frozen {} s/min, goodput {} Mbit/s",
        percent(all.delivered_ratio),
        number(all.frozen_s_per_min),
        number(all.goodput_mbit_s)
    );
}

fn hands(out: &mut String, cell: &Summary) {
    let (hand, commands) = (&cell.hand_to_command_ms, &cell.commands);
    let _ = writeln!(
        out,
        "\nhand to command\n  p50 {}, p99 {}, longest {}, longest gap {} ms",
        lost_or_ms(hand.p50),
        lost_or_ms(hand.p99),
        lost_or_ms(hand.max),
        number(commands.gap_ms_max)
    );
    let _ = writeln!(
        out,
        "  {} poses, {} commands executed, {} refused, {} stale, {} movements lost",
        commands.poses, commands.executed, commands.refused, cell.stale_commands, commands.movements_lost
    );
}

fn links(out: &mut String, cell: &Summary) {
    type Row = (&'static str, fn(&LinkSummary) -> String);
    let rows: [Row; 8] = [
        ("packets offered", |l| l.offered.to_string()),
        ("lost", |l| l.lost.to_string()),
        ("queue full", |l| l.queue_dropped.to_string()),
        ("in an outage", |l| l.outage_dropped.to_string()),
        ("delivered", |l| l.delivered.to_string()),
        ("out of order", |l| l.reordered.to_string()),
        ("MB offered", |l| format!("{:.2}", l.bytes as f64 / 1e6)),
        ("queue p99, ms", |l| number(l.queue_ms.p99)),
    ];
    let links = [&cell.link.down, &cell.link.up, &cell.robot_link.up, &cell.robot_link.down];
    let names = ["down", "up", "robot up", "robot down"];
    row(out, "\nlinks (down: from the relay)", &names.map(str::to_owned));
    for (label, show) in rows {
        row(out, &format!("  {label}"), &links.map(show));
    }
}

fn transport(out: &mut String, cell: &Summary) {
    let transport = &cell.transport;
    let _ = writeln!(out, "\nthe relay's transport towards the operator");
    let _ = writeln!(
        out,
        "  {} packets sent, {} declared lost, {} really lost, at least {} spuriously",
        transport.packets_sent,
        transport.packets_declared_lost,
        transport.packets_really_lost,
        transport.packets_spuriously_lost_min
    );
    let _ = writeln!(
        out,
        "  {} congestion events, feedback: {} of {} datagrams lost",
        transport.congestion_events, transport.app_packets_lost, transport.app_packets_judged
    );
    let _ = writeln!(
        out,
        "  link lost {} % of packets; frames lost after repair and parity: {} %",
        percent(cell.loss.pre_repair_ratio),
        percent(cell.loss.post_repair_ratio)
    );
    let _ = writeln!(
        out,
        "  sent for each byte delivered: {} to the operator, {} from the robot",
        number(transport.operator_hop_overhead_ratio),
        number(transport.robot_hop_overhead_ratio)
    );
}

/// How the machine fared, of a real cell.
fn host(out: &mut String, cell: &Summary) {
    let Some(host) = &cell.host else { return };
    let _ = writeln!(out, "\nthe machine, with packets carried by {}", host.backend);
    let lags = [("released", host.release_lag_us), ("timeouts", host.timer_lag_us)];
    for (what, lag) in lags.into_iter().filter_map(|(what, lag)| Some((what, lag?))) {
        let _ = writeln!(
            out,
            "  {what} late by p50 {:.0} us, p99 {:.0} us, at most {:.0} us",
            lag.p50, lag.p99, lag.max
        );
    }
    if host.datagrams_sent > 0 {
        let switch = |on: Option<bool>| if on == Some(true) { "on" } else { "off" };
        let _ = writeln!(
            out,
            "  {} datagrams sent in {} calls (GSO {}), {} received in {} pieces (GRO {})",
            host.datagrams_sent,
            host.send_calls,
            switch(host.gso),
            host.datagrams_received,
            host.pieces_received,
            switch(host.gro)
        );
    }
}

/// A label and one column for each of `values`.
fn row(out: &mut String, label: &str, values: &[String]) {
    // The label of a heading begins with an empty line, which takes no room.
    let width = LABEL + usize::from(label.starts_with('\n'));
    let _ = write!(out, "{label:<width$}");
    for value in values {
        let _ = write!(out, "{value:>COLUMN$}");
    }
    let _ = writeln!(out);
}

fn percent(ratio: Option<f64>) -> String {
    number(ratio.map(|ratio| ratio * 100.0))
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// Milliseconds, or `lost` where the percentile falls on something that never arrived.
fn lost(value: Option<f64>) -> String {
    value.map_or("lost".to_owned(), |value| format!("{value:.1}"))
}

/// The same with its unit.
fn lost_or_ms(value: Option<f64>) -> String {
    value.map_or("lost".to_owned(), |value| format!("{value:.1} ms"))
}

/// Columns of the label.
const LABEL: usize = 27;
/// Columns of a value.
const COLUMN: usize = 13;

#[cfg(test)]
mod tests {
    use bench::Named;

    use super::*;

    #[test]
    fn a_cell_reads_in_columns() {
        let mut cell = Summary { cell: "p--s--s1--00".to_owned(), ..Summary::default() };
        let mut main = CameraSummary { produced: 1800, delivered: 164, ..CameraSummary::default() };
        main.delivered_ratio = Some(0.091);
        main.dropped.lost_on_link = 77;
        main.delay_ms.p50 = Some(1053.25);
        cell.hand_to_command_ms.p99 = Some(157.04);
        cell.warnings = vec!["the robot's end never joined".to_owned()];
        cell.loss.pre_repair_ratio = Some(0.021);
        cell.loss.post_repair_ratio = Some(0.0035);
        cell.cameras =
            Named(vec![("main".to_owned(), main), ("wrist-left".to_owned(), CameraSummary::default())]);
        let text = human(&cell);
        assert!(text.contains("video                               main   wrist-left\n"), "{text}");
        assert!(text.contains("    share, %                        9.10            -\n"), "{text}");
        assert!(text.contains("1053.2"), "{text}");
        assert!(text.contains("delay p99, produced, ms           lost"), "{text}");
        assert!(text.contains("p50 lost, p99 157.0 ms, longest lost, longest gap"), "{text}");
        assert!(text.contains("\n  warning: the robot's end never joined\n"), "{text}");
        assert!(text.contains("  lost on the link                    77            0\n"), "{text}");
        let loss = "link lost 2.10 % of packets; frames lost after repair and parity: 0.35 %\n";
        assert!(text.contains(loss), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn a_failed_cell_says_why() {
        let cell =
            Summary { status: Status::Failed, error: Some("a panic".to_owned()), ..Summary::default() };
        assert!(human(&cell).contains("failed: a panic"));
    }
}
