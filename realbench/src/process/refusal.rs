//! Who is not let in and why, in words: at the relay that turns somebody away, and at the end that was.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::net::SocketAddr;

use bench::relay_core::{Refusal, Role, TurnedAway};

use super::app::name;

/// What a relay says of those whom it turns away. Each kind is told at once the first time, and counted from then on until the
/// next line of statistics, so that no flood of peers is a flood of lines.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// No more entries than there are kinds.
    kinds: BTreeMap<Refusal, Unsaid>,
}

/// What was counted of one kind and not said yet.
#[derive(Debug)]
struct Unsaid {
    count: u64,
    last: SocketAddr,
}

impl Refusals {
    /// Counts one; the line to say now, if it is the first of its kind.
    pub(super) fn note(&mut self, away: &TurnedAway) -> Option<String> {
        if let Some(unsaid) = self.kinds.get_mut(&away.why) {
            unsaid.count += 1;
            unsaid.last = away.peer;
            return None;
        }
        self.kinds.insert(away.why, Unsaid { count: 0, last: away.peer });
        let who = match away.role {
            Some(Role::Robot) => "a robot",
            Some(Role::Operator) => "an operator",
            None => "somebody",
        };
        let (peer, lack) = (away.peer, Lack::of(away).words());
        let why = match away.why {
            Refusal::PeerUntrusted => format!("its certificate {lack}"),
            Refusal::Untrusted => format!("it finds that this relay's certificate {lack}"),
            why => at_relay(why).to_owned(),
        };
        Some(format!("relay: turned away {who} at {peer}: {why}{}", Detail(&away.detail)))
    }

    /// The line about what was only counted since the last such line, if there is something.
    pub(super) fn take_line(&mut self) -> Option<String> {
        let mut line = String::new();
        for (why, unsaid) in &mut self.kinds {
            let count = std::mem::take(&mut unsaid.count);
            if count > 0 {
                let comma = if line.is_empty() { "" } else { ", " };
                let _ = write!(line, "{comma}{count} {} (the last at {})", why.name(), unsaid.last);
            }
        }
        (!line.is_empty()).then(|| format!("relay: turned away since: {line}"))
    }
}

fn at_relay(why: Refusal) -> &'static str {
    match why {
        Refusal::PeerUntrusted | Refusal::Untrusted => "a certificate does not fit",
        Refusal::Protocol => "it broke the protocol",
        Refusal::Version => "it speaks another version or protocol",
        Refusal::Hello => "its hello cannot be read",
        Refusal::NoHello => "it has not said which session it wants",
        Refusal::Token => "its token is wrong or missing",
        Refusal::OtherToken => "its token is for another session or role",
        Refusal::RoleTaken => "another has its role in the session",
        Refusal::SessionsFull => "there are as many sessions as there can be",
        Refusal::ConnectionsFull => "there are as many connections as there can be",
        Refusal::Unsaid => "no reason is known",
    }
}

/// What is wrong with a certificate, by the alert of whoever would not take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// It is of another authority.
    Authority,
    /// It carries other names than the one that was asked for.
    Name,
    /// It is not valid at this time.
    Time,
    /// It is for the other side of a connection.
    Purpose,
    /// Something else.
    Other,
}

impl Lack {
    /// What the alert says, as rustls uses them.
    pub fn of(away: &TurnedAway) -> Self {
        match away.alert {
            // Where two authorities have one name, it is the signature that does not fit.
            Some(ALERT_UNKNOWN_CA | ALERT_DECRYPT_ERROR) => Self::Authority,
            Some(ALERT_BAD_CERTIFICATE) if away.detail.contains("for name") => Self::Name,
            Some(ALERT_CERTIFICATE_EXPIRED) => Self::Time,
            Some(ALERT_UNSUPPORTED_CERTIFICATE) => Self::Purpose,
            _ => Self::Other,
        }
    }

    /// Reads after "the certificate".
    fn words(self) -> &'static str {
        match self {
            Self::Authority => "is of another authority",
            Self::Name => "carries another name",
            Self::Time => "is not valid at this time",
            Self::Purpose => "is for the other side of a connection",
            Self::Other => "does not fit",
        }
    }
}

/// Why an end never came into its session. Reads after "failed to join the session: ".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJoined {
    /// The relay's address.
    pub relay: SocketAddr,
    /// The role it asked for.
    pub role: Role,
    /// The session it asked for.
    pub session: u64,
    /// Whether it showed a token.
    pub with_token: bool,
    /// Whether anything came from the network.
    pub heard: bool,
    /// What the system said when it would not send, if that happened.
    pub unsent: Option<String>,
    /// How it was turned away the last time, if it ever was.
    pub away: Option<TurnedAway>,
}

impl NotJoined {
    /// Why it was turned away, if it was.
    pub fn why(&self) -> Option<Refusal> {
        self.away.as_ref().map(|away| away.why)
    }
}

impl fmt::Display for NotJoined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relay, session, .. } = self;
        let role = name(self.role);
        let Some(away) = &self.away else {
            return match &self.unsent {
                _ if self.heard => {
                    write!(f, "somebody answers at {relay}, but the session was not joined in time")
                }
                Some(error) => write!(f, "the system does not send to {relay}: {error}"),
                None => write!(f, "nobody answers at {relay}"),
            };
        };
        match away.why {
            Refusal::PeerUntrusted => write!(f, "the relay's certificate {}", Lack::of(away).words()),
            Refusal::Untrusted => {
                write!(f, "the relay finds that this end's certificate {}", Lack::of(away).words())
            }
            Refusal::Protocol => write!(f, "what answers at {relay} does not keep to the protocol"),
            Refusal::Version => write!(f, "what answers at {relay} is no relay, or one of another version"),
            Refusal::Hello => f.write_str("the relay could not read this end's hello"),
            Refusal::NoHello => f.write_str("this end's hello did not reach the relay in time"),
            Refusal::Token if self.with_token => f.write_str("the relay does not know this token"),
            Refusal::Token => f.write_str("the relay asks for a token, and there is none"),
            Refusal::OtherToken => {
                write!(f, "the token is for another place than that of the {role} in session {session}")
            }
            Refusal::RoleTaken => write!(f, "another {role} is in session {session} and answers"),
            Refusal::SessionsFull => f.write_str("the relay has as many sessions as it can hold"),
            Refusal::ConnectionsFull => f.write_str("the relay has as many connections as it can hold"),
            Refusal::Unsaid => f.write_str("the relay refused without saying why"),
        }?;
        Detail(&away.detail).fmt(f)
    }
}

/// What the transport said, in brackets, if it said something.
struct Detail<'a>(&'a str);

impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " ({})", self.0) }
    }
}

// RFC 8446 §6.2
const ALERT_BAD_CERTIFICATE: u8 = 42;
const ALERT_UNSUPPORTED_CERTIFICATE: u8 = 43;
const ALERT_CERTIFICATE_EXPIRED: u8 = 45;
const ALERT_UNKNOWN_CA: u8 = 48;
const ALERT_DECRYPT_ERROR: u8 = 51;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn away(why: Refusal, port: u16) -> TurnedAway {
        let peer = (Ipv4Addr::LOCALHOST, port).into();
        TurnedAway { role: Some(Role::Robot), peer, why, alert: None, detail: Box::default() }
    }

    #[test]
    fn a_flood_of_refused_peers_is_one_line_a_kind_and_then_numbers() {
        let mut refusals = Refusals::default();
        let mut said = Vec::new();
        for port in 1..=10_000 {
            said.extend(refusals.note(&away(Refusal::Token, port)));
            said.extend(refusals.note(&away(Refusal::RoleTaken, port)));
        }
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[0], "relay: turned away a robot at 127.0.0.1:1: its token is wrong or missing");
        let line = refusals.take_line().unwrap();
        assert_eq!(
            line,
            "relay: turned away since: 9999 token (the last at 127.0.0.1:10000), \
             9999 role-taken (the last at 127.0.0.1:10000)"
        );
        assert_eq!(refusals.take_line(), None, "each is counted once");
        assert_eq!(refusals.note(&away(Refusal::Token, 7)), None);
        assert_eq!(
            refusals.take_line().unwrap(),
            "relay: turned away since: 1 token (the last at 127.0.0.1:7)"
        );
    }

    #[test]
    fn each_cause_has_words_of_its_own() {
        let not_joined = |away| NotJoined {
            relay: (Ipv4Addr::LOCALHOST, 1).into(),
            role: Role::Robot,
            session: 3,
            with_token: true,
            heard: false,
            unsent: None,
            away,
        };
        let mut words: Vec<String> =
            Refusal::ALL.iter().map(|why| not_joined(Some(away(*why, 1))).to_string()).collect();
        words.push(not_joined(None).to_string());
        words.push(NotJoined { heard: true, ..not_joined(None) }.to_string());
        words.push(NotJoined { unsent: Some("no route".to_owned()), ..not_joined(None) }.to_string());
        let without = NotJoined { with_token: false, ..not_joined(Some(away(Refusal::Token, 1))) };
        words.push(without.to_string());
        words.sort();
        words.dedup();
        assert_eq!(words.len(), Refusal::ALL.len() + 4, "{words:#?}");
        let detail = TurnedAway { detail: "unknown issuer".into(), ..away(Refusal::PeerUntrusted, 1) };
        let text = not_joined(Some(detail)).to_string();
        assert_eq!(text, "the relay's certificate does not fit (unknown issuer)");
        let lacks = [
            (48, "of another authority"),
            (51, "of another authority"),
            (45, "at this time"),
            (43, "other side"),
        ];
        for (alert, words) in lacks {
            let away = TurnedAway { alert: Some(alert), ..away(Refusal::Untrusted, 1) };
            let text = not_joined(Some(away)).to_string();
            assert!(text.contains("this end's certificate") && text.contains(words), "{text}");
        }
    }
}
