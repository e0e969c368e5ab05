//! A session: at most one robot, at most one operator, and what the relay remembers for the two.

use quinn_proto::ConnectionHandle;
use units::Time;

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
    robot_asked: Option<Asked>,
    operator_asked: Option<Asked>,
    pub(super) assembly: Assembly,
    pub(super) skip: Skip,
    pub(super) resize: Resize,
    pub(super) poses: Poses,
}

/// The holder of a place was asked to show that it is there, since somebody else wants the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) since: Time,
    /// What had been heard of the holder then.
    pub(super) heard: u64,
}

impl Session {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            robot: None,
            operator: None,
            robot_asked: None,
            operator_asked: None,
            assembly: Assembly::new(settings.deadline.reassembly),
            skip: Skip::new(&settings.skip),
            resize: Resize::new(&settings.resize),
            poses: Poses::default(),
        }
    }

    /// Puts `handle` into the role.
    pub(super) fn join(&mut self, role: Role, handle: ConnectionHandle) {
        *self.place(role) = Some(handle);
        *self.asked(role) = None;
        if role == Role::Operator {
            self.poses = Poses::default();
        }
    }

    /// Who is in the role.
    pub(super) fn holder(&self, role: Role) -> Option<ConnectionHandle> {
        match role {
            Role::Robot => self.robot,
            Role::Operator => self.operator,
        }
    }

    /// Since when the role's holder is asked to show that it is there.
    pub(super) fn asked(&mut self, role: Role) -> &mut Option<Asked> {
        match role {
            Role::Robot => &mut self.robot_asked,
            Role::Operator => &mut self.operator_asked,
        }
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
