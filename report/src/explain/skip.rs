//! How much loss the relay measured where it decides on skipping, from the seconds table.

use bench::relay_core::settings::LossMeasure;
use bench::statistics::ratio;

use super::Look;
use super::facts::Facts;
use super::record::Fact;

/// The measured loss at its highest.
pub(super) struct Peak {
    /// Share of packets that QUIC declared lost, over the measuring time.
    pub(super) declared: Option<f64>,
    /// Share that the link really lost over the same time.
    pub(super) really: Option<f64>,
    /// The measuring time in whole seconds, as the table has it.
    pub(super) window_s: u64,
}

/// The most loss that QUIC declared within the measuring time, and what the link really lost then.
pub(super) fn peak(look: &Look<'_>) -> Peak {
    let window_s = look.evidence.cell.settings.skip.window.as_nanos().div_ceil(1_000_000_000).max(1);
    let rows = look.evidence.seconds;
    let length = usize::try_from(window_s).unwrap_or(usize::MAX).min(rows.len().max(1));
    let share = |rows: &[bench::SecondRow]| {
        let packets: u64 = rows.iter().map(|row| row.down.packets).sum();
        let declared: u64 =
            rows.iter().filter_map(|row| row.relay.as_ref()).map(|relay| relay.declared_lost).sum();
        let lost: u64 = rows.iter().map(|row| row.down.lost).sum();
        Some((ratio(declared, packets)?, ratio(lost, packets)?))
    };
    let most = rows.windows(length).filter_map(share).max_by(|(a, _), (b, _)| a.total_cmp(b));
    Peak { declared: most.map(|(declared, _)| declared), really: most.map(|(_, really)| really), window_s }
}

impl Peak {
    /// The two as facts.
    pub(super) fn facts(&self) -> [Fact; 2] {
        let before = self.window_s - 1;
        let over = format!("OVER (ORDER BY second ROWS {before} PRECEDING)");
        let inner = format!(
            "SELECT sum(coalesce(packets_declared_lost, 0)) {over} / sum(down_packets) {over} AS declared, \
             sum(down_packets_lost) {over} / sum(down_packets) {over} AS really, count(*) {over} AS n FROM *"
        );
        let whole = format!("WHERE n = {} ORDER BY declared DESC, second LIMIT 1", self.window_s);
        let inner = inner.replacen("SELECT ", "SELECT second, ", 1);
        let what = |what: &str| format!("{what}, the most within {} s", self.window_s);
        [
            Facts::table(
                &what("declared lost"),
                "seconds",
                self.declared,
                "",
                &format!("SELECT round(declared, 6) FROM ({inner}) {whole}"),
            ),
            Facts::table(
                "really lost in the same time",
                "seconds",
                self.really,
                "",
                &format!("SELECT round(really, 6) FROM ({inner}) {whole}"),
            ),
        ]
    }

    /// Whether QUIC's declarations passed the threshold and real loss did not.
    pub(super) fn declared_alone(&self, look: &Look<'_>) -> bool {
        let skip = &look.evidence.cell.settings.skip;
        let threshold = skip.threshold.as_f64();
        skip.measured == LossMeasure::Transport
            && self.declared.is_some_and(|share| share >= threshold)
            && self.really.is_some_and(|share| share < threshold)
    }
}
