use std::os::unix::fs::PermissionsExt as _;

use std::sync::Arc;

use bench::End;
use rustls::pki_types::ServerName;

use super::*;

/// A TLS handshake between an end and a relay without a network: whether both are content.
fn shake(end: &Identity, relay: &Identity, name: &str) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let client = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_root_certificates(end.roots().unwrap())
        .with_client_auth_cert(end.chain.clone(), end.key.clone_key())
        .map_err(|error| text(&error))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(relay.roots().unwrap()), provider());
    let server = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(relay.chain.clone(), relay.key.clone_key())
        .map_err(|error| text(&error))?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(client), name).unwrap();
    let mut server = rustls::ServerConnection::new(Arc::new(server)).unwrap();
    for _ in 0..4 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut bytes.as_slice()).unwrap();
        server.process_new_packets().map_err(|error| text(&error))?;
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        client.read_tls(&mut bytes.as_slice()).unwrap();
        client.process_new_packets().map_err(|error| text(&error))?;
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    Ok(())
}

#[test]
fn each_side_takes_its_own_authority_and_role_alone() {
    let names = [SERVER_NAME.to_owned(), "127.0.0.1".to_owned()];
    let (ours, theirs) = (Certificates::generate(&names).unwrap(), Certificates::generate(&names).unwrap());
    let of = |set: &Certificates, end| set.identity(end).unwrap();
    let relay = of(&ours, End::Relay);
    shake(&of(&ours, End::Robot), &relay, "relay").unwrap();
    shake(&of(&ours, End::Operator), &relay, "127.0.0.1").unwrap();
    assert!(shake(&of(&ours, End::Robot), &relay, "elsewhere").is_err(), "another name");
    assert!(shake(&of(&theirs, End::Robot), &relay, "relay").is_err(), "another authority");
    let mut liar = of(&theirs, End::Robot);
    liar.authority.clone_from(&relay.authority);
    assert!(shake(&liar, &relay, "relay").is_err(), "it trusts the relay, and the relay does not trust it");
    assert!(
        shake(&of(&ours, End::Robot), &of(&ours, End::Operator), "operator").is_err(),
        "an end as a relay"
    );
    assert!(shake(&relay, &relay, "relay").is_err(), "a relay as an end");
}

#[test]
fn a_set_of_files_reads_back_and_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let set = Certificates::generate(&[SERVER_NAME.to_owned()]).unwrap();
    set.write(folder.path()).unwrap();
    let file = |name: &str| folder.path().join(name);
    let read = |name: &str| {
        Identity::read(&file(&format!("{name}.pem")), &file(&format!("{name}.key")), &file("ca.pem")).unwrap()
    };
    shake(&read("robot"), &read("relay"), "relay").unwrap();
    assert_eq!(file("relay.key").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let error = set.write(folder.path()).unwrap_err().to_string();
    assert!(error.contains("ca.pem"), "{error}");
    let error = Identity::read(&file("relay.key"), &file("relay.key"), &file("ca.pem")).err().unwrap();
    assert!(error.to_string().contains("no certificate"), "{error}");
    assert!(Identity::read(&file("none"), &file("relay.key"), &file("ca.pem")).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 7, "nothing half-written is left");
}

#[test]
fn a_reset_key_follows_from_the_private_key() {
    let set = Certificates::generate(&[SERVER_NAME.to_owned()]).unwrap();
    let sign = |end| {
        let mut out = [0; 32];
        set.identity(end).unwrap().reset_key().sign(b"connection", &mut out);
        out
    };
    assert_eq!(sign(End::Relay), sign(End::Relay));
    assert_ne!(sign(End::Relay), sign(End::Robot));
}

#[test]
fn names_of_certificates_are_names() {
    let generate = |name: &str| Certificates::generate(&[SERVER_NAME.to_owned(), name.to_owned()]);
    for name in ["relay.example.org", "*.example.org", "10.0.0.1", "::1"] {
        assert!(generate(name).is_ok(), "{name}");
    }
    for name in ["", " ", "a b", "*.10.0.0.1", "*.", "10.0.0.1:4433", "relay..org", "\u{e9}"] {
        let error = generate(name).err().expect(name).to_string();
        assert!(error.contains(&format!("`{name}`: it is neither")), "{error}");
    }
}

#[test]
fn a_certificate_for_the_other_side_or_another_key_is_told_at_the_start() {
    let set = Certificates::generate(&[SERVER_NAME.to_owned()]).unwrap();
    let other = Certificates::generate(&[SERVER_NAME.to_owned()]).unwrap();
    for set in [&set, &set.trusting(&other)] {
        // Whose authority it is makes no difference here.
        set.identity(End::Relay).unwrap().check(Purpose::Relay).unwrap();
        set.identity(End::Robot).unwrap().check(Purpose::End).unwrap();
        let error = set.identity(End::Robot).unwrap().check(Purpose::Relay).unwrap_err();
        assert!(matches!(error, RealError::Purpose { purpose: Purpose::Relay }), "{error}");
        let error = set.identity(End::Relay).unwrap().check(Purpose::End).unwrap_err();
        assert!(matches!(error, RealError::Purpose { purpose: Purpose::End }), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    set.write(folder.path()).unwrap();
    let file = |name: &str| folder.path().join(name);
    let error = Identity::read(&file("robot.pem"), &file("relay.key"), &file("ca.pem")).err().unwrap();
    assert!(matches!(error, RealError::KeyMismatch { .. }), "{error}");
    assert!(!others_can_read(&file("robot.key")) && others_can_read(&file("robot.pem")));
    assert!(!others_can_read(&file("none")));
}

#[test]
fn a_certificate_out_of_date_is_told_at_the_start() {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let mut params = rcgen::CertificateParams::new(vec![SERVER_NAME.to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("old.pem"), certificate.pem()).unwrap();
    std::fs::write(file("old.key"), key.serialize_pem()).unwrap();
    let old = Identity::read(&file("old.pem"), &file("old.key"), &file("old.pem")).unwrap();
    for purpose in [Purpose::Relay, Purpose::End] {
        let error = old.check(purpose).unwrap_err();
        assert!(matches!(&error, RealError::OutOfDate(text) if text.contains("expired")), "{error}");
    }
}
