//! What the link towards the operator can carry, second by second, and what the cameras would have it carry.

use bench::Cell;
use bench::netmodel::profile::{DirectionProfile, RateModel};
use bench::units::Span;

/// Bits a second that the cameras make at full size.
pub(super) fn full_bps(cell: &Cell) -> f64 {
    let of = |camera: &bench::workload::CameraSpec| {
        8.0 * camera.frame_bytes.as_bytes() as f64 * f64::from(camera.frames_per_s)
    };
    cell.workload.cameras.iter().map(of).sum()
}

/// The link's rate in each second of the traffic, at its middle; `None` where nothing limits it.
pub(super) fn rates_bps(cell: &Cell) -> Vec<Option<f64>> {
    let seconds = cell.duration.as_nanos().div_ceil(1_000_000_000).min(SECONDS_MAX);
    (0..seconds).map(|second| rate_at(&cell.profile.down, Span::from_millis(second * 1000 + 500))).collect()
}

fn rate_at(link: &DirectionProfile, at: Span) -> Option<f64> {
    let changed =
        link.schedule.iter().take_while(|change| change.at <= at).filter_map(|c| c.rate.as_ref()).last();
    match changed.unwrap_or(&link.rate) {
        RateModel::Unlimited => None,
        RateModel::Constant(rate) => Some(rate.as_bits_per_sec() as f64),
        RateModel::Steps(steps) => {
            let step = steps.iter().take_while(|step| step.at <= at).last()?;
            Some(step.rate.as_bits_per_sec() as f64)
        }
        RateModel::Trace(trace) => Some(trace.mean_rate().as_bits_per_sec() as f64),
    }
}

/// A cell lasts at most an hour.
const SECONDS_MAX: u64 = 3_600;
