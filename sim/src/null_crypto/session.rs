//! The handshake of one connection, and the keys that come of it.

use std::any::Any;
use std::io::Cursor;

use quinn_proto::crypto::{ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError, TransportErrorCode};

use super::message::{Malformed, Message, Purpose, Transcript};
use super::mix;
use super::packet::{MAGIC, Space, TAG_BYTES, keys, packet_keys};

/// What a session knows of its peer once the first flight is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeData {
    /// The name that the client asked for; `None` at the client.
    pub server_name: Option<String>,
}

/// One side of a handshake in two flights, and its keys.
///
/// Client: hello with transport parameters. Server: hello, Handshake keys, flight with transport
/// parameters and proof, 1-RTT keys. Client: 1-RTT keys, finished with proof.
pub(super) struct NullSession {
    side: Side,
    stage: Stage,
    server_name: String,
    /// Our transport parameters as they go on the wire.
    params: Vec<u8>,
    peer_params: Option<TransportParameters>,
    transcript: Transcript,
    /// Handshake bytes that are not a whole message yet.
    inbox: Vec<u8>,
    data_secret: u64,
    exporter: u64,
    /// The generation that the next key update is for.
    generation: u32,
    announced: bool,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    WriteClientHello,
    ReadServerHello,
    InstallHandshakeKeys,
    ReadServerFlight,
    WriteFinished,
    ReadClientHello,
    WriteServerHello,
    WriteServerFlight,
    ReadFinished,
    Done,
}

impl NullSession {
    pub(super) fn client(server_name: &str, params: &TransportParameters) -> Self {
        Self::new(Side::Client, Stage::WriteClientHello, server_name, params)
    }

    pub(super) fn server(params: &TransportParameters) -> Self {
        Self::new(Side::Server, Stage::ReadClientHello, "", params)
    }

    fn new(side: Side, stage: Stage, server_name: &str, params: &TransportParameters) -> Self {
        let mut written = Vec::new();
        params.write(&mut written);
        Self {
            side,
            stage,
            server_name: server_name.to_owned(),
            params: written,
            peer_params: None,
            transcript: Transcript::EMPTY,
            inbox: Vec::new(),
            data_secret: 0,
            exporter: 0,
            generation: 0,
            announced: false,
        }
    }

    /// Takes one message, whose bytes are `raw`.
    fn handle(&mut self, message: Message<'_>, raw: &[u8]) -> Result<(), TransportError> {
        let before = self.transcript;
        match (self.stage, message) {
            (Stage::ReadClientHello, Message::ClientHello { server_name, params }) => {
                self.peer_params = Some(self.read_params(params)?);
                server_name.clone_into(&mut self.server_name);
                self.stage = Stage::WriteServerHello;
            }
            (Stage::ReadServerHello, Message::ServerHello { .. }) => {
                self.stage = Stage::InstallHandshakeKeys;
            }
            (Stage::ReadServerFlight, Message::ServerFlight { params, proof }) => {
                check_proof(proof, before.derive(Purpose::ServerProof))?;
                self.peer_params = Some(self.read_params(params)?);
                self.stage = Stage::WriteFinished;
            }
            (Stage::ReadFinished, Message::Finished { proof }) => {
                check_proof(proof, before.derive(Purpose::ClientProof))?;
                self.stage = Stage::Done;
            }
            _ => return Err(alert(UNEXPECTED_MESSAGE, "a message out of turn")),
        }
        self.transcript = before.with(raw);
        Ok(())
    }

    fn read_params(&self, params: &[u8]) -> Result<TransportParameters, TransportError> {
        Ok(TransportParameters::read(self.side, &mut Cursor::new(params))?)
    }

    /// Writes a message of ours and moves on.
    fn say(&mut self, message: Message<'_>, buf: &mut Vec<u8>, next: Stage) {
        let start = buf.len();
        message.write(buf);
        self.transcript = self.transcript.with(&buf[start..]);
        self.stage = next;
    }

    fn handshake_keys(&self) -> Keys {
        keys(self.transcript.derive(Purpose::HandshakeSecret), Space::Handshake, self.side)
    }

    /// The 1-RTT keys, which follow from the transcript up to the server's flight.
    fn data_keys(&mut self) -> Keys {
        self.data_secret = self.transcript.derive(Purpose::DataSecret);
        self.exporter = self.transcript.derive(Purpose::Exporter);
        keys(self.data_secret, Space::Data, self.side)
    }
}

impl Session for NullSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let server_name = self.side.is_server().then(|| self.server_name.clone());
        self.announced.then(|| Box::new(HandshakeData { server_name }) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.side.is_client().then_some(false)
    }

    fn is_handshaking(&self) -> bool {
        self.stage != Stage::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.extend_from_slice(buf);
        let mut rest = &inbox[..];
        while let Some((message, length)) = Message::read(rest)? {
            self.handle(message, &rest[..length])?;
            rest = &rest[length..];
        }
        self.inbox = rest.to_vec();
        let ready = !self.announced && self.peer_params.is_some();
        self.announced |= ready;
        Ok(ready)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer_params)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.stage {
            Stage::WriteClientHello => {
                let (name, params) =
                    (std::mem::take(&mut self.server_name), std::mem::take(&mut self.params));
                let hello = Message::ClientHello { server_name: &name, params: &params };
                self.say(hello, buf, Stage::ReadServerHello);
                None
            }
            Stage::WriteServerHello => {
                let random = mix::bytes(self.transcript.derive(Purpose::ServerRandom), &self.params);
                self.say(Message::ServerHello { random }, buf, Stage::WriteServerFlight);
                Some(self.handshake_keys())
            }
            Stage::WriteServerFlight => {
                let params = std::mem::take(&mut self.params);
                let proof = self.transcript.derive(Purpose::ServerProof);
                self.say(Message::ServerFlight { params: &params, proof }, buf, Stage::ReadFinished);
                Some(self.data_keys())
            }
            Stage::InstallHandshakeKeys => {
                self.stage = Stage::ReadServerFlight;
                Some(self.handshake_keys())
            }
            Stage::WriteFinished => {
                let keys = self.data_keys();
                let proof = self.transcript.derive(Purpose::ClientProof);
                self.say(Message::Finished { proof }, buf, Stage::Done);
                Some(keys)
            }
            Stage::ReadClientHello
            | Stage::ReadServerHello
            | Stage::ReadServerFlight
            | Stage::ReadFinished
            | Stage::Done => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation = self.generation.wrapping_add(1);
        Some(packet_keys(self.data_secret, Space::Data, self.side, self.generation))
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some((token, tag)) = payload.split_last_chunk::<TAG_BYTES>() else {
            return false;
        };
        *tag == retry_tag(orig_dst_cid, &[header, token].concat())
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        mix::fill(mix::bytes(mix::bytes(self.exporter, label), context), output);
        Ok(())
    }
}

impl From<Malformed> for TransportError {
    fn from(malformed: Malformed) -> Self {
        alert(DECODE_ERROR, malformed.0)
    }
}

/// The keys of a connection's first packets, which follow from the client's first destination id.
pub(super) fn initial_keys(dst_cid: &ConnectionId, side: Side) -> Keys {
    keys(mix::bytes(INITIAL, dst_cid), Space::Initial, side)
}

/// The tag on a retry packet (RFC 9001 §5.8).
pub(super) fn retry_tag(orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; TAG_BYTES] {
    let mut tag = [0; TAG_BYTES];
    mix::fill(mix::bytes(mix::bytes(RETRY, orig_dst_cid), packet), &mut tag);
    tag[..MAGIC.len()].copy_from_slice(&MAGIC);
    tag
}

fn check_proof(got: u64, expected: u64) -> Result<(), TransportError> {
    if got == expected { Ok(()) } else { Err(alert(DECRYPT_ERROR, "a proof that proves nothing")) }
}

fn alert(code: u8, reason: &str) -> TransportError {
    TransportError { code: TransportErrorCode::crypto(code), frame: None, reason: reason.to_owned() }
}

// TLS alerts (RFC 8446 §6).
const UNEXPECTED_MESSAGE: u8 = 10;
const DECODE_ERROR: u8 = 50;
const DECRYPT_ERROR: u8 = 51;

/// Keep what follows from connection ids apart.
const INITIAL: u64 = 0x696e_6974_6961_6c31;
const RETRY: u64 = 0x7265_7472_7974_6167;

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;

    fn params() -> TransportParameters {
        // The defaults of the wire: what a peer that says nothing means.
        TransportParameters::read(Side::Client, &mut Cursor::new(&[])).unwrap()
    }

    fn pair() -> (NullSession, NullSession) {
        (NullSession::client("relay", &params()), NullSession::server(&params()))
    }

    fn write(session: &mut NullSession) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let keys = session.write_handshake(&mut out);
        (out, keys.is_some())
    }

    /// Hands over one message byte by byte; whether the peer's parameters came with it.
    fn read(session: &mut NullSession, data: &[u8]) -> bool {
        let mut ready = false;
        for byte in data.chunks(1) {
            ready |= session.read_handshake(byte).expect("the peer is honest");
        }
        ready
    }

    #[test]
    fn two_flights_make_a_connection() {
        let (mut client, mut server) = pair();
        let (hello, keys) = write(&mut client);
        assert!(!keys && !hello.is_empty());
        assert!(read(&mut server, &hello), "the server knows the client's parameters");
        let data = server.handshake_data().unwrap().downcast::<HandshakeData>().unwrap();
        assert_eq!(data.server_name.as_deref(), Some("relay"));
        let (server_hello, keys) = write(&mut server);
        assert!(keys && !server_hello.is_empty());
        let (flight, keys) = write(&mut server);
        assert!(keys && !flight.is_empty());
        assert!(server.is_handshaking());
        read(&mut client, &server_hello);
        assert_eq!(write(&mut client), (Vec::new(), true), "handshake keys");
        assert_eq!(write(&mut client), (Vec::new(), false));
        assert!(read(&mut client, &flight));
        let (finished, keys) = write(&mut client);
        assert!(keys && !finished.is_empty() && !client.is_handshaking());
        read(&mut server, &finished);
        assert!(!server.is_handshaking());
        assert_eq!(client.data_secret, server.data_secret);
        let mut exported = [[0; 16]; 2];
        client.export_keying_material(&mut exported[0], b"label", b"").unwrap();
        server.export_keying_material(&mut exported[1], b"label", b"").unwrap();
        assert_eq!(exported[0], exported[1]);
    }

    #[test]
    fn each_key_update_is_a_generation_of_its_own() {
        let (mut client, mut server) = pair();
        let seal = |key: &dyn PacketKey| {
            let mut buffer = b"header...payload................".to_vec();
            key.encrypt(1, &mut buffer, 6);
            BytesMut::from(&buffer[6..])
        };
        let opens =
            |key: &dyn PacketKey, sealed: &BytesMut| key.decrypt(1, b"header", &mut sealed.clone()).is_ok();
        let mut before = keys(0, Space::Data, Side::Client).packet.local;
        for _ in 0..300 {
            let (own, peer) = (client.next_1rtt_keys().unwrap(), server.next_1rtt_keys().unwrap());
            assert!(opens(&*peer.remote, &seal(&*own.local)));
            assert!(opens(&*own.remote, &seal(&*peer.local)));
            assert!(!opens(&*peer.remote, &seal(&*before)));
            before = own.local;
        }
    }

    #[test]
    fn messages_out_of_turn_are_refused() {
        let (mut client, mut server) = pair();
        let (hello, _) = write(&mut client);
        let error = client.read_handshake(&hello).unwrap_err();
        assert_eq!(error.code, TransportErrorCode::crypto(UNEXPECTED_MESSAGE));
        let twice = [&hello[..], &hello].concat();
        let error = server.read_handshake(&twice).unwrap_err();
        assert_eq!(error.code, TransportErrorCode::crypto(UNEXPECTED_MESSAGE));
    }

    #[test]
    fn a_wrong_proof_is_refused() {
        let (mut client, mut server) = pair();
        let hello = write(&mut client).0;
        read(&mut server, &hello);
        write(&mut server);
        write(&mut server);
        let mut forged = Vec::new();
        Message::Finished { proof: 0 }.write(&mut forged);
        let error = server.read_handshake(&forged).unwrap_err();
        assert_eq!(error.code, TransportErrorCode::crypto(DECRYPT_ERROR));
        assert!(server.is_handshaking());
    }

    #[test]
    fn malformed_parameters_are_a_typed_error() {
        let (_, mut server) = pair();
        let mut hello = Vec::new();
        Message::ClientHello { server_name: "relay", params: &[1, 200, 0] }.write(&mut hello);
        assert!(server.read_handshake(&hello).is_err());
    }

    #[test]
    fn retries_are_valid_for_their_connection_only() {
        let (client, _) = pair();
        let (id, other) = (ConnectionId::new(b"12345678"), ConnectionId::new(b"87654321"));
        let tag = retry_tag(&id, b"headertoken");
        let payload = [&b"token"[..], &tag].concat();
        assert!(client.is_valid_retry(&id, b"header", &payload));
        assert!(!client.is_valid_retry(&other, b"header", &payload));
        assert!(!client.is_valid_retry(&id, b"headex", &payload));
        assert!(!client.is_valid_retry(&id, b"header", &payload[..10]));
    }
}
