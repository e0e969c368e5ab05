//! What to try when an end could not join its session, for the one cause that it was.

use realbench::process::{Lack, NotJoined};
use relay_core::Refusal;

use crate::failure::Failure;

/// The failure of an end that never joined. A certificate or token that does not fit is a file that is wrong (exit code 2).
pub(super) fn never_joined(cause: &NotJoined) -> Failure {
    let message = format!("failed to join the session: {cause}");
    let failure = match cause.why() {
        Some(Refusal::PeerUntrusted | Refusal::Untrusted | Refusal::Token | Refusal::OtherToken) => {
            Failure::usage(message)
        }
        _ => Failure::unexpected(message),
    };
    failure.help(help(cause))
}

fn help(cause: &NotJoined) -> &'static str {
    let Some(away) = &cause.away else {
        return if cause.heard {
            "the network may lose too much of it; --join-within gives it more time"
        } else if cause.unsent.is_some() {
            "is there a route to this address, and does this machine's firewall let UDP out?"
        } else {
            "is the address right, does the relay run, and does every firewall let UDP through both ways?"
        };
    };
    match away.why {
        Refusal::PeerUntrusted => relays_certificate(Lack::of(away)),
        Refusal::Untrusted => own_certificate(Lack::of(away)),
        Refusal::Protocol => "does an arcbench relay listen at this address and port?",
        Refusal::Version => {
            "does an arcbench relay listen there? then `arcbench --version` must say the same at both"
        }
        Refusal::Hello => "`arcbench --version` must say the same at relay and end",
        Refusal::NoHello => "the network may lose too much of it; --join-within gives it more time",
        Refusal::Token if cause.with_token => {
            "--token-file must hold the token whose hash the relay's file has for this session and role; \
             the relay reads its file when it starts"
        }
        Refusal::Token => "give the token of this session and role with --token-file",
        Refusal::OtherToken => "--session must be that of the token, and the token that of this role",
        Refusal::RoleTaken => {
            "stop the other one, or take another --session; a place whose end has died is free after some seconds"
        }
        Refusal::SessionsFull | Refusal::ConnectionsFull => {
            "try again when others have left, or start another relay"
        }
        Refusal::Unsaid => "the relay's own output says why; `arcbench --version` may differ there",
    }
}

/// The relay's certificate does not fit here.
fn relays_certificate(lack: Lack) -> &'static str {
    match lack {
        Lack::Name => "say --server-name with one of the names that the relay's certificate has",
        Lack::Purpose => "the relay's --cert must be a relay's: relay.pem in what `arcbench certs` writes",
        Lack::Time => "is this machine's clock right? if it is, the relay needs a new certificate",
        Lack::Authority | Lack::Other => {
            "--ca must be the authority that made the relay's certificate: the ca.pem beside its relay.pem"
        }
    }
}

/// The relay does not take this end's certificate.
fn own_certificate(lack: Lack) -> &'static str {
    match lack {
        Lack::Purpose => "--cert must be an end's: robot.pem or operator.pem in what `arcbench certs` writes",
        Lack::Time => "is the relay's clock right? if it is, this end needs a new certificate",
        Lack::Authority | Lack::Name | Lack::Other => {
            "--cert must be made by the authority that the relay has as its --ca"
        }
    }
}
