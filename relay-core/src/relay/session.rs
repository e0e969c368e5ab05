//! A session: at most one robot, at most one operator, and what the relay remembers for the two.

use quinn_proto::ConnectionHandle;

use super::poses::Poses;
use crate::event::Role;
use crate::resize::Resize;
use crate::settings::Settings;
use crate::skip::Skip;
use crate::video::Assembly;

/// A robot and an operator that belong together.
pub(super) struct Session {
    pub(super) robot: Option<ConnectionHandle>,
    pub(super) operator: Option<ConnectionHandle>,
    pub(super) assembly: Assembly,
    pub(super) skip: Skip,
    pub(super) resize: Resize,
    pub(super) poses: Poses,
}

impl Session {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            robot: None,
            operator: None,
            assembly: Assembly::new(settings.deadline.reassembly),
            skip: Skip::new(&settings.skip),
            resize: Resize::new(&settings.resize),
            poses: Poses::default(),
        }
    }

    /// Whether the role was free and is now taken by `handle`.
    pub(super) fn join(&mut self, role: Role, handle: ConnectionHandle) -> bool {
        let place = self.place(role);
        if place.is_some() {
            return false;
        }
        *place = Some(handle);
        if role == Role::Operator {
            self.poses = Poses::default();
        }
        true
    }

    /// Forgets what was remembered of an earlier robot's frames.
    pub(super) fn restart(&mut self, settings: &Settings) {
        self.assembly = Assembly::new(settings.deadline.reassembly);
        self.resize = Resize::new(&settings.resize);
    }

    /// Frees the role; true if nobody is left.
    pub(super) fn leave(&mut self, role: Role, handle: ConnectionHandle) -> bool {
        let place = self.place(role);
        if *place == Some(handle) {
            *place = None;
        }
        self.robot.is_none() && self.operator.is_none()
    }

    fn place(&mut self, role: Role) -> &mut Option<ConnectionHandle> {
        match role {
            Role::Robot => &mut self.robot,
            Role::Operator => &mut self.operator,
        }
    }
}
