//! What a packet carries, in words.

use bench::Cell;
use bench::relay_core::{Carried, FrameId, PartKind, VideoPart};

/// The cameras of a cell by name.
#[derive(Debug, Clone)]
pub(crate) struct Cameras {
    names: Vec<String>,
}

impl Cameras {
    pub(crate) fn of(cell: &Cell) -> Self {
        Self { names: cell.workload.cameras.iter().map(|camera| camera.name.clone()).collect() }
    }

    /// The name of the camera that made `frame`.
    pub(crate) fn name(&self, frame: FrameId) -> &str {
        self.names.get(usize::from(frame.camera.0)).map_or("unknown", String::as_str)
    }

    /// All names, in the workload's order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// The kinds of things that a packet carries, joined by `+`; `other` for handshake, acknowledgements,
/// probes and streams.
pub(crate) fn kinds(carries: &Carried) -> String {
    let video = carries.video.map(|part| part_name(part.kind));
    let kinds = [
        video,
        carries.pose.map(|_| "poses"),
        carries.command.map(|_| "commands"),
        carries.feedback.then_some("feedback"),
        carries.resize.then_some("resize"),
    ];
    let kinds: Vec<&str> = kinds.into_iter().flatten().collect();
    if kinds.is_empty() { "other".to_owned() } else { kinds.join("+") }
}

/// The same in a sentence, with numbers.
pub(crate) fn sentence(cameras: &Cameras, carries: &Carried) -> String {
    let video = carries.video.map(|VideoPart { frame, kind, index, count }| {
        let (name, number) = (cameras.name(frame), frame.number);
        match kind {
            PartKind::Fragment => format!("{name} frame {number} part {} of {count}", index + 1),
            PartKind::Parity => format!("{name} frame {number} parity {}", (index + 1).saturating_sub(count)),
            PartKind::Again => format!("{name} frame {number} part {} of {count} again", index + 1),
        }
    });
    let parts = [
        video,
        carries.pose.map(|pose| format!("pose {pose}")),
        carries.command.map(|pose| format!("command {pose}")),
        carries.feedback.then(|| "feedback".to_owned()),
        carries.resize.then(|| "a request for other frame sizes".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "QUIC alone".to_owned() } else { parts.join(", ") }
}

/// The word for a part of a frame.
pub(crate) fn part_name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Fragment => "fragment",
        PartKind::Parity => "parity",
        PartKind::Again => "resend",
    }
}

#[cfg(test)]
mod tests {
    use bench::relay_core::Camera;

    use super::*;

    #[test]
    fn what_is_carried_is_named() {
        let cameras = Cameras { names: vec!["main".to_owned()] };
        let frame = FrameId { camera: Camera(0), number: 7 };
        let part = |kind, index| Carried {
            video: Some(VideoPart { frame, kind, index, count: 4 }),
            ..Carried::default()
        };
        let none = Carried::default();
        assert_eq!((kinds(&none), sentence(&cameras, &none)), ("other".to_owned(), "QUIC alone".to_owned()));
        let both = Carried { pose: Some(3), feedback: true, ..none };
        assert_eq!(kinds(&both), "poses+feedback");
        assert_eq!(sentence(&cameras, &both), "pose 3, feedback");
        assert_eq!(kinds(&part(PartKind::Again, 1)), "resend");
        assert_eq!(sentence(&cameras, &part(PartKind::Fragment, 1)), "main frame 7 part 2 of 4");
        assert_eq!(sentence(&cameras, &part(PartKind::Parity, 4)), "main frame 7 parity 1");
    }
}
