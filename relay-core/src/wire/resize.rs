//! The relay's request for other frame sizes.

use bytes::{BufMut, BytesMut};
use units::Share;

use super::codec::Reader;
use super::{CAMERAS_MAX, Malformed, TYPE_RESIZE, tag};
use crate::event::Camera;

/// Share of its full size that each camera's frames should have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ResizeRequest {
    pub(crate) shares: Vec<(Camera, Share)>,
}

impl ResizeRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let shares = &self.shares[..self.shares.len().min(CAMERAS_MAX)];
        out.put_u8(tag(TYPE_RESIZE));
        out.put_u8(shares.len() as u8);
        for (camera, share) in shares {
            out.put_u8(camera.0);
            out.put_u32(share.as_parts_per_billion());
        }
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let count = usize::from(reader.u8()?);
        if count > CAMERAS_MAX {
            return Err(Malformed::Field);
        }
        let mut shares = Vec::with_capacity(count);
        for _ in 0..count {
            let camera = Camera(reader.u8()?);
            let parts = reader.u32()?;
            if usize::from(camera.0) >= CAMERAS_MAX || parts > Share::ALL.as_parts_per_billion() {
                return Err(Malformed::Field);
            }
            shares.push((camera, Share::from_parts_per_billion(parts)));
        }
        if reader.is_empty() { Ok(Self { shares }) } else { Err(Malformed::Field) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Message;
    use super::*;

    #[test]
    fn requests_survive_the_wire() {
        let shares = vec![(Camera(0), Share::from_f64(0.75)), (Camera(2), Share::from_f64(0.2))];
        let request = ResizeRequest { shares };
        let mut out = BytesMut::new();
        request.encode(&mut out);
        assert_eq!(Message::decode(out.freeze()), Ok(Message::Resize(request)));
    }
}
