//! A request, from its first check to the last byte of its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use crate::body::{self, BodyError, Read};
use crate::connect::Connector;
use crate::failure::{Failure, Problem};
use crate::range::Range;
use crate::resolve::{Dial, Resolve, SystemDialer, SystemResolver};
use crate::target::Target;

/// Redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;
/// Bytes of an answer's headers, at most.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// What another origin is told, too; anything else may be a credential.
const FOR_EVERYBODY: [HeaderName; 4] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_TYPE,
    header::USER_AGENT,
];

/// The client. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    connector: Arc<Connector>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// How.
    pub method: Method,
    /// The address.
    pub target: Target,
    /// Further headers; `Host`, the length and the encoding are set by the client. A redirect to
    /// another origin gets only the content types, the language and the user agent.
    pub headers: HeaderMap,
    /// What is sent along.
    pub body: Bytes,
}

/// What an answer may cost.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of the body that are read, counted after they are unpacked.
    pub max_bytes: usize,
    /// Time for everything, redirects included.
    pub timeout: Duration,
    /// The content types that are taken: `application/json`, `text/*`, `application/*+json`. A body
    /// without a type is taken whatever they are.
    pub content_types: &'static [&'static str],
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// Who answered, at the end of all redirects.
    pub target: Target,
    /// The type of the body without its parameters, in lower case; `None` if the answer does not
    /// say.
    pub content_type: Option<String>,
    /// The charset that the type names, as it is written; `None` if it names none.
    pub charset: Option<String>,
    /// Seconds after which the server wants to be asked again, if it says so in seconds.
    pub retry_after: Option<u64>,
    /// The body, unpacked.
    pub body: Vec<u8>,
    /// Whether the body was longer.
    pub is_cut: bool,
}

impl Client {
    /// A client that asks public addresses, and those in these ranges.
    pub fn new(allowed: Vec<Range>) -> Self {
        Self::with_resolver(allowed, Arc::new(SystemResolver))
    }

    /// A client that looks names up in another way.
    pub fn with_resolver(allowed: Vec<Range>, resolver: Arc<dyn Resolve>) -> Self {
        Self::with_network(allowed, resolver, Arc::new(SystemDialer))
    }

    /// A client that looks names up and connects in another way.
    pub fn with_network(
        allowed: Vec<Range>,
        resolver: Arc<dyn Resolve>,
        dialer: Arc<dyn Dial>,
    ) -> Self {
        let connector = Arc::new(Connector::new(resolver, dialer, allowed));
        Self { connector }
    }

    /// The same client for an address that the operator configured: its host may be asked at its
    /// port whatever address it has. A redirect to any other is checked as always.
    #[must_use]
    pub fn trusting(&self, target: &Target) -> Self {
        let connector = Arc::new(self.connector.trusting(target));
        Self { connector }
    }

    /// Whether a request to an address would be allowed now, for a caller that wants to keep it. A
    /// name that does not resolve now may resolve later, so that is no refusal.
    ///
    /// # Errors
    /// [`Problem::NotPublic`].
    pub async fn check(&self, target: &Target, patience: Duration) -> Result<(), Problem> {
        let looked = tokio::time::timeout(patience, self.connector.addresses(target)).await;
        match looked {
            Ok(Err(problem @ Problem::NotPublic { .. })) => Err(problem),
            Ok(Ok(_) | Err(_)) | Err(_) => Ok(()),
        }
    }

    /// Sends a request and reads the answer. `GET` and `HEAD` follow every redirect; others only
    /// those that keep the method and the body, and answer what else they meet.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn send(&self, request: Request, bounds: &Bounds) -> Result<Answer, Failure> {
        let was_sent = AtomicBool::new(false);
        let answer = self.follow(request, bounds, &was_sent);
        let in_time = tokio::time::timeout(bounds.timeout, answer).await;
        in_time.unwrap_or_else(|_| {
            let seconds = bounds.timeout.as_secs_f32();
            Err(Failure {
                was_sent: was_sent.load(Ordering::Relaxed),
                problem: Problem::Late { seconds },
            })
        })
    }

    async fn follow(
        &self,
        mut request: Request,
        bounds: &Bounds,
        was_sent: &AtomicBool,
    ) -> Result<Answer, Failure> {
        for _ in 0..=MAX_REDIRECTS {
            // Whoever sent us on did not do what was asked.
            was_sent.store(false, Ordering::Relaxed);
            let stream = self.connector.connect(&request.target).await;
            let stream = stream.map_err(Problem::before_sending)?;
            let shaken = http1::Builder::new()
                .max_buf_size(MAX_HEADER_BYTES)
                .handshake(TokioIo::new(stream))
                .await;
            let broken = |error: &hyper::Error| Problem::Broken {
                server: request.target.to_string(),
                cause: error.to_string(),
            };
            let (mut sender, connection) =
                shaken.map_err(|error| broken(&error).before_sending())?;
            // It ends with the set, and so with this request.
            let mut driver = JoinSet::new();
            driver.spawn(connection);
            let message = message(&request)?;
            was_sent.store(true, Ordering::Relaxed);
            let response = sender.send_request(message).await;
            let response = response.map_err(|error| broken(&error).after_sending())?;
            match next(&request, &response)? {
                Some(target) => request = redirected(request, target),
                None => return answer(request.target, response, bounds).await,
            }
        }
        Err(Problem::Redirects(MAX_REDIRECTS).before_sending())
    }
}

fn message(request: &Request) -> Result<http::Request<Full<Bytes>>, Failure> {
    let unusable = |_| Problem::Target(crate::TargetError::Unreadable).before_sending();
    let mut message = http::Request::new(Full::new(request.body.clone()));
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = request.target.path().parse().map_err(unusable)?;
    let headers = message.headers_mut();
    headers.clone_from(&request.headers);
    let unusable = |_| Problem::Target(crate::TargetError::Unreadable).before_sending();
    let host = HeaderValue::from_str(&request.target.authority()).map_err(unusable)?;
    headers.insert(header::HOST, host);
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(message)
}

/// Where a redirect leads that is to be followed.
fn next(request: &Request, response: &Response<Incoming>) -> Result<Option<Target>, Failure> {
    let is_reading = matches!(request.method, Method::GET | Method::HEAD);
    let is_followed = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => is_reading,
        _ => false,
    };
    let location = response.headers().get(header::LOCATION);
    let (true, Some(location)) = (is_followed, location) else {
        return Ok(None);
    };
    let unusable = |error| Problem::Target(error).before_sending();
    let location = location.to_str();
    let location = location.map_err(|_| unusable(crate::TargetError::Unreadable))?;
    request.target.join(location).map(Some).map_err(unusable)
}

/// The same for another address; what may be a credential is dropped when that is another origin.
fn redirected(mut request: Request, target: Target) -> Request {
    if !request.target.is_same_origin(&target) {
        let mut headers = HeaderMap::new();
        for name in FOR_EVERYBODY {
            if let Some(value) = request.headers.remove(&name) {
                headers.insert(name, value);
            }
        }
        request.headers = headers;
    }
    request.target = target;
    request
}

async fn answer(
    target: Target,
    response: Response<Incoming>,
    bounds: &Bounds,
) -> Result<Answer, Failure> {
    let (head, body) = response.into_parts();
    let status = head.status;
    let content_type = content_type(&head.headers);
    let charset = charset(&head.headers);
    let retry_after = head.headers.get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let is_wanted = content_type.as_deref().is_none_or(|found| {
        bounds
            .content_types
            .iter()
            .any(|wanted| fits(wanted, found))
    });
    // What is not wanted is looked at for its first byte only: an empty body has no type.
    let max = if is_wanted { bounds.max_bytes } else { 0 };
    let read = body::read(&head.headers, body, max).await;
    let Read { bytes, is_cut } = read.map_err(|unread| match unread {
        BodyError::Broken(cause) => Problem::Broken {
            server: target.to_string(),
            cause,
        }
        .after_sending(),
        BodyError::Packing => Problem::Encoding {
            status: status.as_u16(),
        }
        .after_sending(),
    })?;
    if !is_wanted && is_cut {
        let (status, found) = (status.as_u16(), content_type.unwrap_or_default());
        return Err(Problem::ContentType { status, found }.after_sending());
    }
    Ok(Answer {
        status,
        target,
        content_type,
        charset,
        retry_after,
        body: bytes,
        is_cut,
    })
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?;
    let text = String::from_utf8_lossy(value.as_bytes());
    let essence = text.split(';').next().unwrap_or_default().trim();
    Some(essence.to_ascii_lowercase())
}

fn charset(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?;
    let text = String::from_utf8_lossy(value.as_bytes());
    let mut parameters = text.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"').trim();
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        (is_charset && !value.is_empty()).then(|| value.to_owned())
    })
}

/// Whether a type is one of a pattern with at most one `*` in it.
fn fits(pattern: &str, found: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == found,
        Some((begin, end)) => {
            found.len() >= begin.len() + end.len()
                && found.starts_with(begin)
                && found.ends_with(end)
        }
    }
}
