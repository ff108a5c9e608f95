//! Servers that are asked over TLS: who they are is checked before anything is sent.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use samovar_egress::{Client, Problem, Range};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::desk::{Names, get};

/// Whom the system trusts, for OpenSSL and all that do as it does.
const TRUSTED: &str = "SSL_CERT_FILE";
/// The name that the certificate is for.
const NAME: &str = "hook.example";

/// The certificates and the key were made for these tests and are good for nothing else.
fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls");
    folder.join(name)
}

/// A server with a certificate for [`NAME`], that says one thing to all who shake hands with it.
struct Secure {
    range: Range,
    port: u16,
    _serving: JoinSet<()>,
}

impl Secure {
    async fn open() -> Self {
        let chain = vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth();
        let config = config.with_single_cert(chain, key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Who does not trust it breaks off.
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    continue;
                };
                stream.read_u8().await.unwrap();
                let said = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
                stream.write_all(said).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self {
            range: address.to_string().parse().unwrap(),
            port: address.port(),
            _serving: serving,
        }
    }

    /// A client for which both names lead here.
    fn client(&self) -> Client {
        Client::with_resolver(
            vec![self.range],
            Names::saying([&["127.0.0.1"], &["127.0.0.1"]]),
        )
    }

    fn url(&self, name: &str) -> String {
        format!("https://{name}:{}/", self.port)
    }
}

/// Whether this is the process of the test in which the system trusts who signed the certificate;
/// else the test is run in one.
fn is_trusted(name: &str) -> bool {
    let authority = file("authority.pem");
    if std::env::var_os(TRUSTED).is_some_and(|trusted| trusted == *authority) {
        return true;
    }
    let test = std::env::current_exe().unwrap();
    let ran = Command::new(test)
        .args(["--exact", name, "--nocapture"])
        .env(TRUSTED, authority)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let is_one = said.contains("1 passed");
    assert!(ran.status.success() && is_one, "{name}: {said}");
    false
}

// proves TL-9
#[tokio::test]
async fn a_server_is_asked_over_tls_under_its_own_name_alone() {
    if !is_trusted("secure::a_server_is_asked_over_tls_under_its_own_name_alone") {
        return;
    }
    let server = Secure::open().await;
    let client = server.client();

    let answer = get(&client, &server.url(NAME)).await.unwrap();
    let failure = get(&client, &server.url("other.example"))
        .await
        .unwrap_err();

    assert_eq!(
        (answer.status.as_u16(), answer.body.as_slice()),
        (200, &b"hi"[..])
    );
    assert!(!failure.was_sent);
    let Problem::Unreachable { cause, .. } = &failure.problem else {
        panic!("{failure:?}");
    };
    assert!(cause.contains("name"), "{cause}");
}

// proves TL-9
#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_told_nothing() {
    let server = Secure::open().await;

    let failure = get(&server.client(), &server.url(NAME)).await.unwrap_err();

    assert!(!failure.was_sent);
    let Problem::Unreachable { cause, .. } = &failure.problem else {
        panic!("{failure:?}");
    };
    assert!(cause.contains("certificate"), "{cause}");
}
