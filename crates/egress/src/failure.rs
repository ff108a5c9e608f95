//! Why there is no answer.

use std::net::IpAddr;

use samovar_locale as locale;

use crate::target::TargetError;

/// Why there is no answer, and whether the request may have had an effect.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct Failure {
    /// Whether the request, or a part of it, was sent: whoever got it may have acted on it.
    pub was_sent: bool,
    /// What went wrong.
    pub problem: Problem,
}

/// What went wrong. No sentence has more of an address than its host.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The address, or one that a redirect led to, cannot be asked.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The host, or one that a redirect led to, has an address that is not public and in no range
    /// that was opened.
    #[error("{}", not_public(.host, *.address, .what))]
    NotPublic {
        /// The host.
        host: String,
        /// The address.
        address: IpAddr,
        /// What it is.
        what: &'static str,
    },
    /// The host has no address.
    #[error("{}", locale::egress::unresolved(.host, .cause))]
    Unresolved {
        /// The host.
        host: String,
        /// What the resolver said.
        cause: String,
    },
    /// No connection came about.
    #[error("{}", locale::egress::unreachable(.server, .cause))]
    Unreachable {
        /// The server, without what stands behind its host.
        server: String,
        /// What the system said.
        cause: String,
    },
    /// This process had no free file descriptor for a connection.
    #[error("{}", locale::egress::no_descriptor(.server))]
    NoDescriptor {
        /// The server, without what stands behind its host.
        server: String,
    },
    /// The connection broke off.
    #[error("{}", locale::egress::broken(.server, .cause))]
    Broken {
        /// The server, without what stands behind its host.
        server: String,
        /// What was seen of it.
        cause: String,
    },
    /// The time was up.
    #[error("{}", locale::egress::late(.seconds))]
    Late {
        /// How many seconds there were.
        seconds: f32,
    },
    /// Redirects led on and on.
    #[error("{}", locale::egress::redirects(.0))]
    Redirects(usize),
    /// The body is of a type that was not asked for.
    #[error("{}", locale::egress::content_type(.status, locale::quoted(.found)))]
    ContentType {
        /// The status that it came with.
        status: u16,
        /// What the server calls it.
        found: String,
    },
    /// The body is packed in a way that cannot be undone.
    #[error("{}", locale::egress::encoding(.status))]
    Encoding {
        /// The status that it came with.
        status: u16,
    },
}

impl Problem {
    pub(crate) fn before_sending(self) -> Failure {
        Failure {
            was_sent: false,
            problem: self,
        }
    }

    pub(crate) fn after_sending(self) -> Failure {
        Failure {
            was_sent: true,
            problem: self,
        }
    }
}

/// A host that is an address has no other name.
fn not_public(host: &str, address: IpAddr, what: &str) -> String {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if bare.parse() == Ok(address) {
        return locale::egress::address_not_public(address, what);
    }
    locale::egress::not_public(host, address, what)
}
