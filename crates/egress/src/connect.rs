//! From a host to a connection with an address that was checked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use samovar_descriptors::{pauses, stems_from_exhaustion};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::failure::Problem;
use crate::public::private;
use crate::range::Range;
use crate::resolve::{Dial, Resolve};
use crate::target::Target;

/// Addresses of a host that are tried, one after the other.
const MAX_TRIED: usize = 4;
/// How long one of several addresses may take to answer.
const EACH: Duration = Duration::from_secs(5);

/// What a request is sent over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Makes connections, to nowhere but checked addresses.
pub(crate) struct Connector {
    pub(crate) resolver: Arc<dyn Resolve>,
    dialer: Arc<dyn Dial>,
    pub(crate) allowed: Vec<Range>,
    /// The one host, with its port, whose addresses are not checked: the operator named it.
    trusted: Option<(String, u16)>,
    /// Made at the first request over TLS: it reads the system's certificates. A failure is not
    /// kept, because it may come from a lack of descriptors.
    tls: OnceLock<Arc<ClientConfig>>,
}

impl Connector {
    pub(crate) fn new(
        resolver: Arc<dyn Resolve>,
        dialer: Arc<dyn Dial>,
        allowed: Vec<Range>,
    ) -> Self {
        Self {
            resolver,
            dialer,
            allowed,
            trusted: None,
            tls: OnceLock::new(),
        }
    }

    /// One that also connects to this target, whatever its address is.
    pub(crate) fn trusting(&self, target: &Target) -> Self {
        Self {
            resolver: self.resolver.clone(),
            dialer: self.dialer.clone(),
            allowed: self.allowed.clone(),
            trusted: Some((target.host().to_owned(), target.port())),
            tls: self.tls.clone(),
        }
    }

    /// Refuses an address that is neither public nor opened.
    pub(crate) fn check(&self, host: &str, address: SocketAddr) -> Result<(), Problem> {
        let Some(what) = private(address.ip()) else {
            return Ok(());
        };
        let is_trusted = self
            .trusted
            .as_ref()
            .is_some_and(|(trusted, port)| (trusted.as_str(), *port) == (host, address.port()));
        if is_trusted || self.allowed.iter().any(|range| range.holds(address)) {
            return Ok(());
        }
        let (host, address) = (host.to_owned(), address.ip());
        Err(Problem::NotPublic {
            host,
            address,
            what,
        })
    }

    /// The addresses of a host, once, and all of them checked: one that is not public could be the
    /// one that is taken when the first does not answer.
    pub(crate) async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, Problem> {
        let host = target.host();
        let found = match target.literal() {
            Some(literal) => vec![literal],
            None => match self.resolve_patiently(host).await {
                Err(error) if stems_from_exhaustion(&error) => return Err(no_descriptor(target)),
                found => found.map_err(|error| unresolved(host, error.to_string()))?,
            },
        };
        if found.is_empty() {
            return Err(unresolved(host, "no address".to_owned()));
        }
        let with_port = |ip: IpAddr| SocketAddr::new(ip, target.port());
        let addresses: Vec<_> = found.into_iter().map(with_port).collect();
        for address in &addresses {
            self.check(host, *address)?;
        }
        Ok(addresses)
    }

    /// Looks a name up; while this process has no free descriptor for that, it waits.
    async fn resolve_patiently(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        for pause in pauses() {
            match self.resolver.resolve(host).await {
                Err(error) if stems_from_exhaustion(&error) => tokio::time::sleep(pause).await,
                found => return found,
            }
        }
        self.resolver.resolve(host).await
    }

    /// Connects to the first of the addresses that answers.
    pub(crate) async fn connect(&self, target: &Target) -> Result<Box<dyn Stream>, Problem> {
        let addresses = self.addresses(target).await?;
        let mut last = None;
        for address in addresses.into_iter().take(MAX_TRIED) {
            match dial_patiently(&*self.dialer, address).await {
                Ok(Ok(stream)) => return self.secure(target, stream).await,
                Ok(Err(error)) if stems_from_exhaustion(&error) => {
                    return Err(no_descriptor(target));
                }
                Ok(Err(error)) => last = Some(error.to_string()),
                Err(_) => last = Some(io::Error::from(io::ErrorKind::TimedOut).to_string()),
            }
        }
        Err(unreachable(target, last.unwrap_or_default()))
    }

    async fn secure(&self, target: &Target, stream: TcpStream) -> Result<Box<dyn Stream>, Problem> {
        if !target.is_secure() {
            return Ok(Box::new(stream));
        }
        let tls = if let Some(tls) = self.tls.get() {
            tls.clone()
        } else {
            let made = system_tls().map_err(|why| unreachable(target, why))?;
            self.tls.get_or_init(|| made).clone()
        };
        let name = ServerName::try_from(target.host().to_owned());
        let name = name.map_err(|error| unreachable(target, error.to_string()))?;
        let secured = TlsConnector::from(tls).connect(name, stream).await;
        let secured = secured.map_err(|error| unreachable(target, error.to_string()))?;
        Ok(Box::new(secured))
    }
}

/// Connects within [`EACH`]; while this process has no free descriptor for that, it waits.
async fn dial_patiently(
    dialer: &dyn Dial,
    address: SocketAddr,
) -> Result<io::Result<TcpStream>, Elapsed> {
    for pause in pauses() {
        match timeout(EACH, dial(dialer, address)).await? {
            Err(error) if stems_from_exhaustion(&error) => tokio::time::sleep(pause).await,
            dialled => return Ok(dialled),
        }
    }
    timeout(EACH, dial(dialer, address)).await
}

async fn dial(dialer: &dyn Dial, address: SocketAddr) -> io::Result<TcpStream> {
    let stream = dialer.dial(address).await?;
    // A request is one write; to wait for more would only delay it.
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn system_tls() -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = builder
        .with_platform_verifier()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_no_client_auth()))
}

fn unresolved(host: &str, cause: String) -> Problem {
    let host = host.to_owned();
    Problem::Unresolved { host, cause }
}

fn no_descriptor(target: &Target) -> Problem {
    let server = target.to_string();
    Problem::NoDescriptor { server }
}

fn unreachable(target: &Target, cause: String) -> Problem {
    let server = target.to_string();
    Problem::Unreachable { server, cause }
}
