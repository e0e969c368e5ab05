//! The shipped relay beside a bulk flow on a thin link: neither starves the other.

use std::sync::Arc;

use bench::statistics::mean;
use bench::units::Span;
use bench::workload::{CrossTraffic, Workload};
use bench::{Cell, Scenario, Summary, builtin_scenario};
use tests::run;

fn cells(settings: &str) -> Vec<Cell> {
    let text = builtin_scenario("fairness").expect("it is built in");
    let scenario = Scenario::parse("fairness", text, &|_| None).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.cells().into_iter().filter(|cell| cell.settings_name == settings).collect()
}

fn rates(summary: &Summary) -> (f64, f64) {
    let flow = summary.cross_traffic.expect("there is a second flow");
    (summary.all.goodput_mbit_s.expect("video"), flow.goodput_mbit_s.expect("bulk"))
}

#[test]
fn the_relay_and_a_bulk_flow_share_a_thin_link() {
    let summaries: Vec<Summary> = cells("best").iter().map(|cell| run(cell).summary).collect();
    for summary in &summaries {
        println!("{} {:?} {:?} {:?}", summary.cell, summary.all, summary.cross_traffic, summary.link.down);
    }
    let (video, bulk): (Vec<f64>, Vec<f64>) = summaries.iter().map(rates).unzip();
    let (video, bulk) = (mean(&video).expect("cells"), mean(&bulk).expect("cells"));
    assert!(video >= 1.0 && bulk >= 1.0, "video {video}, bulk {bulk} Mbit/s");
}

/// The flow's packets are the link's, and not the relay's: neither its overhead nor its loss.
#[test]
fn only_the_relays_own_packets_are_its_overhead() {
    let cell = cells("best").remove(0);
    let summary = run(&cell).summary;
    let flow = summary.cross_traffic.expect("there is a second flow");
    let down = summary.link.down;
    let (video_bytes, all) = (summary.all.goodput_mbit_s.unwrap() * 120e6 / 8.0, down.bytes as f64);
    let own = summary.overhead_ratio.unwrap() * video_bytes;
    assert!((own + flow.sent as f64 * 1500.0 - all).abs() < 1e-3 * all, "{own} of {all}: {flow:?}");
    assert!(flow.sent < down.offered && flow.lost <= down.queue_dropped);
    assert_eq!(down.lost + summary.link.up.lost, 0);
    assert_eq!(summary.transport.packets_really_lost + flow.lost, down.queue_dropped);
}

#[test]
fn once_it_has_stopped_the_relay_has_the_link_to_itself() {
    let mut cell = cells("best").remove(0);
    let spec = cell.workload.cross_traffic.clone().expect("there is a second flow");
    let stop = Some(Span::from_secs(40));
    let flow = Some(CrossTraffic { stop, ..spec });
    cell.workload = Arc::new(Workload { cross_traffic: flow, ..Workload::clone(&cell.workload) });
    let result = run(&cell);
    let late: Vec<_> = result.seconds.iter().filter(|row| (75..115).contains(&row.second)).collect();
    let main: u64 = late.iter().map(|row| row.cameras.get("main").unwrap().delivered).sum();
    assert!(main >= 40 * 15 - 2, "{main}");
    let longest = late.iter().map(|row| row.down.queue_ms_max).fold(0.0, f64::max);
    assert!(longest < 150.0, "a queue of {longest} ms");
}
