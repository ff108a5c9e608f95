//! Names to addresses, and addresses to connections.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::net::TcpStream;

/// The addresses of a name, when they are there.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks names up. Whatever it says is checked, so nobody has to trust it.
pub trait Resolve: Send + Sync {
    /// All addresses of a host name.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// The system's own resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A connection, when it is there.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + 'a>>;

/// Makes connections. It is only given addresses that were checked.
pub trait Dial: Send + Sync {
    /// A connection with this address and no other.
    fn dial(&self, address: SocketAddr) -> Dialing<'_>;
}

/// The system's own network.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDialer;

impl Dial for SystemDialer {
    fn dial(&self, address: SocketAddr) -> Dialing<'_> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            let peer = stream.peer_addr()?;
            if (peer.ip(), peer.port()) != (address.ip(), address.port()) {
                return Err(io::Error::other("connected to another address"));
            }
            Ok(stream)
        })
    }
}
