//! Why an end is not let into its session: one vocabulary for the relay that turns it away and the end that is turned away.
//!
//! What the transport knows of it is translated here; what the relay itself decides travels in its welcome (`wire::hello`).

use std::net::SocketAddr;

use quinn_proto::{ConnectionError, TransportErrorCode, VarInt};

use crate::event::Role;
use crate::wire::CLOSE_NOT_JOINED;

/// Why an end was not let into its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// This side broke the TLS handshake off: the other's certificate does not fit.
    PeerUntrusted,
    /// The other side broke it off: it does not take this one's certificate.
    Untrusted,
    /// The other side broke the rules of QUIC or of the session's beginning.
    Protocol,
    /// The other side speaks another version of the wire format, or another protocol altogether.
    Version,
    /// The hello could not be read.
    Hello,
    /// No whole hello came in time.
    NoHello,
    /// The token is not one that the relay knows, or there is none.
    Token,
    /// The token is right for another session or role.
    OtherToken,
    /// Another end is in this role of the session, and answers.
    RoleTaken,
    /// The relay has as many sessions as it can hold.
    SessionsFull,
    /// The relay has as many connections as it can hold.
    ConnectionsFull,
    /// The relay refused without saying why in a way that this build knows.
    Unsaid,
}

impl Refusal {
    /// All of them, in order.
    pub const ALL: [Self; 12] = [
        Self::PeerUntrusted,
        Self::Untrusted,
        Self::Protocol,
        Self::Version,
        Self::Hello,
        Self::NoHello,
        Self::Token,
        Self::OtherToken,
        Self::RoleTaken,
        Self::SessionsFull,
        Self::ConnectionsFull,
        Self::Unsaid,
    ];

    /// Its name in logs and summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeerUntrusted => "peer-untrusted",
            Self::Untrusted => "untrusted",
            Self::Protocol => "protocol",
            Self::Version => "version",
            Self::Hello => "malformed-hello",
            Self::NoHello => "no-hello",
            Self::Token => "token",
            Self::OtherToken => "other-token",
            Self::RoleTaken => "role-taken",
            Self::SessionsFull => "sessions-full",
            Self::ConnectionsFull => "connections-full",
            Self::Unsaid => "unsaid",
        }
    }

    /// Whether it lasts until somebody changes a file or a program: dialling again does not help by itself.
    pub const fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::PeerUntrusted
                | Self::Untrusted
                | Self::Version
                | Self::Hello
                | Self::Token
                | Self::OtherToken
        )
    }
}

/// An end that was not let in: what the relay says of it, or the end itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnedAway {
    /// The end's role. The relay does not know it before it has read a hello.
    pub role: Option<Role>,
    /// The address of the other side.
    pub peer: SocketAddr,
    /// Why.
    pub why: Refusal,
    /// The TLS alert (RFC 8446 §6), where the handshake failed with one.
    pub alert: Option<u8>,
    /// What the transport said beside it, at most 200 printable characters; empty where it said nothing. Some of it may
    /// be the other side's words.
    pub detail: Box<str>,
}

impl TurnedAway {
    /// Turned away for what the hello says.
    pub(crate) fn new(role: Option<Role>, peer: SocketAddr, why: Refusal) -> Self {
        Self { role, peer, why, alert: None, detail: Box::default() }
    }

    /// What the end of a connection that had joined nothing says, if it is that somebody was turned away.
    pub(crate) fn of(role: Option<Role>, peer: SocketAddr, reason: &ConnectionError) -> Option<Self> {
        let (why, alert, detail) = match reason {
            ConnectionError::TransportError(error) => {
                let alert = alert(error.code);
                (by_alert(alert, Refusal::PeerUntrusted), alert, printable(error.reason.as_bytes()))
            }
            ConnectionError::ConnectionClosed(close) => {
                let alert = alert(close.error_code);
                let why = match close.error_code {
                    // The latter is an application's code before the handshake is done (RFC 9000 §10.2.3).
                    TransportErrorCode::NO_ERROR | TransportErrorCode::APPLICATION_ERROR => return None,
                    TransportErrorCode::CONNECTION_REFUSED => Refusal::ConnectionsFull,
                    _ => by_alert(alert, Refusal::Untrusted),
                };
                (why, alert, printable(&close.reason))
            }
            ConnectionError::ApplicationClosed(close)
                if close.error_code == VarInt::from_u32(CLOSE_NOT_JOINED) =>
            {
                (Refusal::NoHello, None, Box::default())
            }
            ConnectionError::VersionMismatch => (Refusal::Version, None, Box::default()),
            ConnectionError::CidsExhausted => (Refusal::ConnectionsFull, None, Box::default()),
            ConnectionError::ApplicationClosed(_)
            | ConnectionError::Reset
            | ConnectionError::TimedOut
            | ConnectionError::LocallyClosed => return None,
        };
        Some(Self { role, peer, why, alert, detail })
    }
}

/// The TLS alert in a transport error code (RFC 9001 §4.8).
fn alert(code: TransportErrorCode) -> Option<u8> {
    let code = u64::from(code);
    (code >> 8 == 1).then_some((code & 0xff) as u8)
}

fn by_alert(alert: Option<u8>, untrusted: Refusal) -> Refusal {
    match alert {
        None => Refusal::Protocol,
        Some(ALERT_PROTOCOL_VERSION | ALERT_NO_APPLICATION_PROTOCOL) => Refusal::Version,
        Some(_) => untrusted,
    }
}

/// What can be shown of somebody's words.
fn printable(bytes: &[u8]) -> Box<str> {
    let bytes = &bytes[..bytes.len().min(DETAIL_CHARS_MAX * 4)];
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|c| !c.is_control()).take(DETAIL_CHARS_MAX).collect::<String>().into()
}

const DETAIL_CHARS_MAX: usize = 200;
const ALERT_PROTOCOL_VERSION: u8 = 70;
const ALERT_NO_APPLICATION_PROTOCOL: u8 = 120;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use bytes::Bytes;
    use quinn_proto::{ApplicationClose, ConnectionClose, TransportError};

    use super::*;

    fn of(reason: &ConnectionError) -> Option<(Refusal, Option<u8>, String)> {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let away = TurnedAway::of(Some(Role::Robot), peer, reason)?;
        Some((away.why, away.alert, away.detail.into()))
    }

    fn closed(error_code: TransportErrorCode, reason: &'static [u8]) -> ConnectionError {
        let reason = Bytes::from_static(reason);
        ConnectionError::ConnectionClosed(ConnectionClose { error_code, frame_type: None, reason })
    }

    fn failed(code: TransportErrorCode) -> ConnectionError {
        let reason = "invalid peer certificate: UnknownIssuer".to_owned();
        ConnectionError::TransportError(TransportError { code, frame: None, reason })
    }

    #[test]
    fn who_broke_a_handshake_off_is_told_apart() {
        let unknown_ca = TransportErrorCode::crypto(48);
        let said = "invalid peer certificate: UnknownIssuer".to_owned();
        assert_eq!(of(&failed(unknown_ca)), Some((Refusal::PeerUntrusted, Some(48), said)));
        assert_eq!(of(&closed(unknown_ca, b"no")), Some((Refusal::Untrusted, Some(48), "no".into())));
        let other = TransportErrorCode::crypto(120);
        assert_eq!(of(&failed(other)).unwrap().0, Refusal::Version);
        assert_eq!(of(&closed(other, b"")).unwrap().0, Refusal::Version);
        assert_eq!(of(&failed(TransportErrorCode::PROTOCOL_VIOLATION)).unwrap().0, Refusal::Protocol);
        let full = closed(TransportErrorCode::CONNECTION_REFUSED, b"");
        assert_eq!(of(&full).unwrap().0, Refusal::ConnectionsFull);
    }

    #[test]
    fn who_goes_by_itself_was_not_turned_away() {
        let app = |code| {
            let error_code = VarInt::from_u32(code);
            ConnectionError::ApplicationClosed(ApplicationClose { error_code, reason: Bytes::new() })
        };
        assert_eq!(of(&app(CLOSE_NOT_JOINED)).unwrap().0, Refusal::NoHello);
        for reason in [app(0), app(2), ConnectionError::TimedOut, ConnectionError::Reset] {
            assert_eq!(of(&reason), None, "{reason:?}");
        }
        for code in [TransportErrorCode::NO_ERROR, TransportErrorCode::APPLICATION_ERROR] {
            assert_eq!(of(&closed(code, b"")), None);
        }
    }

    #[test]
    fn the_other_sides_words_are_cut_and_cannot_steer_a_terminal() {
        let long = vec![b'x'; 4000];
        assert_eq!(printable(&long).len(), DETAIL_CHARS_MAX);
        assert_eq!(&*printable(b"a\x1b[31mb\nc\xff"), "a[31mbc\u{fffd}");
    }

    #[test]
    fn names_are_all_different_and_the_list_is_whole() {
        let mut names: Vec<&str> = Refusal::ALL.iter().map(|why| why.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Refusal::ALL.len());
        assert!(Refusal::ALL.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(Refusal::ALL.last(), Some(&Refusal::Unsaid));
    }
}
