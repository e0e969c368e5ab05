//! The tables of a cell: which columns they have. `docs/formats.md` says what each means.

use parquet::errors::ParquetError;

use super::table::{Column, Floats, Ints, Part, TableProblem};
use crate::metrics::{CameraSecondRow, Cause, FrameRow, FreezeRow, LinkSecondRow, RelaySecondRow, SecondRow};
use crate::named::Named;

/// A table by its file, its name for itself, and its last version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) file: &'static str,
    pub(super) format: &'static str,
    pub(super) version: u32,
}

pub(super) const FRAMES: Kind = Kind { file: "frames.parquet", format: "arcbench.frames", version: 1 };
pub(super) const FREEZES: Kind = Kind { file: "freezes.parquet", format: "arcbench.freezes", version: 1 };
pub(super) const SECONDS: Kind = Kind { file: "seconds.parquet", format: "arcbench.seconds", version: 1 };
pub(super) const CAMERA_SECONDS: Kind =
    Kind { file: "camera_seconds.parquet", format: "arcbench.camera_seconds", version: 1 };

impl Kind {
    pub(super) fn encode(self, columns: Vec<Column>) -> Result<Vec<u8>, ParquetError> {
        super::table::encode(self.format, self.version, columns)
    }
}

pub(super) fn frames(rows: &[FrameRow]) -> Vec<Column> {
    let int = |name, of: fn(&FrameRow) -> u64| Column::int(name, rows.iter().map(of));
    let time = |name, of: fn(&FrameRow) -> Option<u64>| Column::maybe_int(name, rows.iter().map(of));
    let text = |name, of: fn(&FrameRow) -> Option<&str>| Column::maybe_text(name, rows.iter().map(of));
    vec![
        Column::text("camera", rows.iter().map(|row| row.camera.as_str())),
        int("frame", |row| row.frame.into()),
        int("frame_bytes", |row| row.bytes.into()),
        int("produced_us", |row| row.produced_us),
        time("at_relay_us", |row| row.at_relay_us),
        time("forwarded_us", |row| row.forwarded_us),
        time("delivered_us", |row| row.delivered_us),
        time("shown_us", |row| row.shown_us),
        time("delay_us", FrameRow::delay_us),
        Column::flag("late", rows.iter().map(|row| row.cause.is_some() && row.delivered_us.is_some())),
        text("cause", |row| row.cause.map(Cause::name)),
        text("dropped_at", |row| row.dropped_at.as_deref()),
        text("dropped_why", |row| row.dropped_why.as_deref()),
        int("packets_needed", |row| row.packets.into()),
        int("packets_sent", |row| row.packets_sent.into()),
        int("packets_parity", |row| row.packets_parity.into()),
        int("packets_again", |row| row.packets_again.into()),
        int("packets_lost", |row| row.packets_lost.into()),
        int("packets_overflowed", |row| row.packets_overflowed.into()),
        int("packets_in_outage", |row| row.packets_in_outage.into()),
        int("link_queue_us_max", |row| row.link_queue_us_max),
    ]
}

pub(super) fn read_frames(part: &Part) -> Result<Vec<FrameRow>, TableProblem> {
    let (camera, cause) = (part.texts("camera")?, part.texts("cause")?);
    let (dropped_at, dropped_why) = (part.texts("dropped_at")?, part.texts("dropped_why")?);
    let (frame, bytes, produced) =
        (part.ints("frame")?, part.ints("frame_bytes")?, part.ints("produced_us")?);
    let (at_relay, forwarded) = (part.ints("at_relay_us")?, part.ints("forwarded_us")?);
    let (delivered, shown) = (part.ints("delivered_us")?, part.ints("shown_us")?);
    let (needed, sent) = (part.ints("packets_needed")?, part.ints("packets_sent")?);
    let (parity, again) = (part.ints("packets_parity")?, part.ints("packets_again")?);
    let (lost, overflowed) = (part.ints("packets_lost")?, part.ints("packets_overflowed")?);
    let (in_outage, queue) = (part.ints("packets_in_outage")?, part.ints("link_queue_us_max")?);
    let row = |row| {
        Ok(FrameRow {
            camera: camera.get(row)?.to_owned(),
            frame: frame.get(row)?,
            bytes: bytes.get(row)?,
            produced_us: produced.get(row)?,
            at_relay_us: at_relay.maybe(row)?,
            forwarded_us: forwarded.maybe(row)?,
            packets: needed.get(row)?,
            delivered_us: delivered.maybe(row)?,
            shown_us: shown.maybe(row)?,
            dropped_at: dropped_at.maybe(row).map(str::to_owned),
            dropped_why: dropped_why.maybe(row).map(str::to_owned),
            cause: cause.known(row, Cause::from_name)?,
            packets_sent: sent.get(row)?,
            packets_parity: parity.get(row)?,
            packets_again: again.get(row)?,
            packets_lost: lost.get(row)?,
            packets_overflowed: overflowed.get(row)?,
            packets_in_outage: in_outage.get(row)?,
            link_queue_us_max: queue.get(row)?,
        })
    };
    (0..part.rows()).map(row).collect()
}

pub(super) fn freezes(rows: &[FreezeRow]) -> Vec<Column> {
    let int = |name, of: fn(&FreezeRow) -> u64| Column::int(name, rows.iter().map(of));
    let frame = |name, of: fn(&FreezeRow) -> Option<u32>| {
        Column::maybe_int(name, rows.iter().map(of).map(|number| number.map(u64::from)))
    };
    vec![
        Column::text("camera", rows.iter().map(|row| row.camera.as_str())),
        int("from_us", |row| row.from_us),
        int("to_us", |row| row.to_us),
        int("length_us", FreezeRow::length_us),
        Column::maybe_text("cause", rows.iter().map(|row| row.cause.map(Cause::name))),
        frame("first_frame", |row| row.first_frame),
        frame("last_frame", |row| row.last_frame),
        int("frames_missing", |row| row.missing.into()),
        int("frames_late", |row| row.late.into()),
    ]
}

pub(super) fn read_freezes(part: &Part) -> Result<Vec<FreezeRow>, TableProblem> {
    let (camera, cause) = (part.texts("camera")?, part.texts("cause")?);
    let (from, to) = (part.ints("from_us")?, part.ints("to_us")?);
    let (first, last) = (part.ints("first_frame")?, part.ints("last_frame")?);
    let (missing, late) = (part.ints("frames_missing")?, part.ints("frames_late")?);
    let row = |row| {
        Ok(FreezeRow {
            camera: camera.get(row)?.to_owned(),
            from_us: from.get(row)?,
            to_us: to.get(row)?,
            cause: cause.known(row, Cause::from_name)?,
            first_frame: first.maybe(row)?,
            last_frame: last.maybe(row)?,
            missing: missing.get(row)?,
            late: late.get(row)?,
        })
    };
    (0..part.rows()).map(row).collect()
}

pub(super) fn seconds(rows: &[SecondRow]) -> Vec<Column> {
    let int = |name, of: fn(&SecondRow) -> u64| Column::int(name, rows.iter().map(of));
    let relay = |name, of: fn(RelaySecondRow) -> u64| {
        Column::maybe_int(name, rows.iter().map(|row| row.relay.map(of)))
    };
    let mut columns = vec![int("second", |row| row.second)];
    columns.extend(DOWN.columns(rows, |row| &row.down));
    columns.extend(UP.columns(rows, |row| &row.up));
    columns.extend([
        relay("window_bytes", |relay| relay.window_bytes),
        relay("in_flight_bytes", |relay| relay.in_flight_bytes),
        Column::maybe_float("rtt_ms", rows.iter().map(|row| row.relay.map(|relay| relay.rtt_ms))),
        relay("relay_queue_bytes", |relay| relay.queue_bytes),
        relay("relay_queue_frames", |relay| relay.queue_frames),
        relay("packets_declared_lost", |relay| relay.declared_lost),
        int("commands", |row| row.commands),
    ]);
    columns
}

/// Seconds without their cameras.
pub(super) fn read_seconds(part: &Part) -> Result<Vec<SecondRow>, TableProblem> {
    let (second, commands) = (part.ints("second")?, part.ints("commands")?);
    let (down, up) = (DOWN.of(part)?, UP.of(part)?);
    let relay = RelayColumns::of(part)?;
    let row = |row| {
        Ok(SecondRow {
            second: second.get(row)?,
            cameras: Named::default(),
            down: down.get(row)?,
            up: up.get(row)?,
            relay: relay.get(row)?,
            commands: commands.get(row)?,
        })
    };
    (0..part.rows()).map(row).collect()
}

/// What the columns of one direction are called.
struct LinkNames {
    packets: &'static str,
    bytes: &'static str,
    lost: &'static str,
    queue: &'static str,
}

const DOWN: LinkNames = LinkNames {
    packets: "down_packets",
    bytes: "down_bytes",
    lost: "down_packets_lost",
    queue: "down_queue_ms_max",
};
const UP: LinkNames =
    LinkNames { packets: "up_packets", bytes: "up_bytes", lost: "up_packets_lost", queue: "up_queue_ms_max" };

impl LinkNames {
    fn columns(&self, rows: &[SecondRow], link: fn(&SecondRow) -> &LinkSecondRow) -> [Column; 4] {
        let links = || rows.iter().map(link);
        [
            Column::int(self.packets, links().map(|link| link.packets)),
            Column::int(self.bytes, links().map(|link| link.bytes)),
            Column::int(self.lost, links().map(|link| link.lost)),
            Column::float(self.queue, links().map(|link| link.queue_ms_max)),
        ]
    }

    fn of<'a>(&self, part: &'a Part) -> Result<LinkColumns<'a>, TableProblem> {
        Ok(LinkColumns {
            packets: part.ints(self.packets)?,
            bytes: part.ints(self.bytes)?,
            lost: part.ints(self.lost)?,
            queue: part.floats(self.queue)?,
        })
    }
}

/// The columns of one direction.
struct LinkColumns<'a> {
    packets: Ints<'a>,
    bytes: Ints<'a>,
    lost: Ints<'a>,
    queue: Floats<'a>,
}

impl LinkColumns<'_> {
    fn get(&self, row: usize) -> Result<LinkSecondRow, TableProblem> {
        Ok(LinkSecondRow {
            packets: self.packets.get(row)?,
            bytes: self.bytes.get(row)?,
            lost: self.lost.get(row)?,
            queue_ms_max: self.queue.get(row)?,
        })
    }
}

/// The columns of the relay's sending side.
struct RelayColumns<'a> {
    window: Ints<'a>,
    in_flight: Ints<'a>,
    rtt: Floats<'a>,
    queue_bytes: Ints<'a>,
    queue_frames: Ints<'a>,
    declared: Ints<'a>,
}

impl<'a> RelayColumns<'a> {
    fn of(part: &'a Part) -> Result<Self, TableProblem> {
        Ok(Self {
            window: part.ints("window_bytes")?,
            in_flight: part.ints("in_flight_bytes")?,
            rtt: part.floats("rtt_ms")?,
            queue_bytes: part.ints("relay_queue_bytes")?,
            queue_frames: part.ints("relay_queue_frames")?,
            declared: part.ints("packets_declared_lost")?,
        })
    }

    /// `None` in a second without a sample.
    fn get(&self, row: usize) -> Result<Option<RelaySecondRow>, TableProblem> {
        let Some(window_bytes) = self.window.maybe(row)? else { return Ok(None) };
        Ok(Some(RelaySecondRow {
            window_bytes,
            in_flight_bytes: self.in_flight.get(row)?,
            rtt_ms: self.rtt.get(row)?,
            queue_bytes: self.queue_bytes.get(row)?,
            queue_frames: self.queue_frames.get(row)?,
            declared_lost: self.declared.get(row)?,
        }))
    }
}

pub(super) fn camera_seconds(rows: &[SecondRow]) -> Vec<Column> {
    let flat =
        || rows.iter().flat_map(|row| row.cameras.iter().map(move |(name, camera)| (row, name, camera)));
    let int = |name, of: fn(&CameraSecondRow) -> u64| Column::int(name, flat().map(|(_, _, c)| of(c)));
    vec![
        Column::int("second", flat().map(|(row, _, _)| row.second)),
        Column::text("camera", flat().map(|(_, name, _)| name)),
        int("produced", |camera| camera.produced),
        int("delivered", |camera| camera.delivered),
        int("skipped", |camera| camera.skipped),
        int("dropped", |camera| camera.dropped),
        int("freezes", |camera| camera.freezes),
        Column::float("frozen_s", flat().map(|(_, _, camera)| camera.frozen_s)),
    ]
}

/// One camera's part of one second.
pub(super) struct CameraSecond {
    pub(super) second: u64,
    pub(super) camera: String,
    pub(super) row: CameraSecondRow,
}

pub(super) fn read_camera_seconds(part: &Part) -> Result<Vec<CameraSecond>, TableProblem> {
    let (second, camera) = (part.ints("second")?, part.texts("camera")?);
    let (produced, delivered) = (part.ints("produced")?, part.ints("delivered")?);
    let (skipped, dropped) = (part.ints("skipped")?, part.ints("dropped")?);
    let (freezes, frozen) = (part.ints("freezes")?, part.floats("frozen_s")?);
    let row = |row| {
        Ok(CameraSecond {
            second: second.get(row)?,
            camera: camera.get(row)?.to_owned(),
            row: CameraSecondRow {
                produced: produced.get(row)?,
                delivered: delivered.get(row)?,
                skipped: skipped.get(row)?,
                dropped: dropped.get(row)?,
                freezes: freezes.get(row)?,
                frozen_s: frozen.get(row)?,
            },
        })
    };
    (0..part.rows()).map(row).collect()
}
