//! One exchange with a model's server, up to the point where its answer can be read.

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use samovar_core::error::FaultCode;
use samovar_descriptors::{pauses, stems_from_exhaustion};
use samovar_locale as locale;

use crate::endpoint::Endpoint;
use crate::fault::{Fault, cause, clean};
use crate::timeouts::{Limit, Watch};

/// How much of a refusal is read, in bytes.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Headers that are the same in every request of a dialect.
pub(crate) type Headers = &'static [(&'static str, &'static str)];

/// Sends a request whose body is JSON, and checks the status of what comes back. What kind of body
/// comes its header does not say: many servers send another.
///
/// # Errors
/// There is no answer: nobody is there, it takes too long, or the server says no.
pub(crate) async fn ask(
    endpoint: &Endpoint,
    url: Url,
    headers: Headers,
    body: Vec<u8>,
    watch: &mut Watch,
) -> Result<Response, Fault> {
    let mut request = endpoint
        .client()?
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        // A server may choose any coding for a client that names none.
        .header(ACCEPT_ENCODING, "identity")
        .body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some((name, value)) = endpoint.credentials() {
        request = request.header(name, value);
    }
    let sent = send(request, watch).await;
    let mut response = sent
        .map_err(|limit| endpoint.late(limit))?
        .map_err(|error| endpoint.unanswered(&error))?;
    if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        return Err(Endpoint::locked_proxy());
    }
    if !response.status().is_success() {
        return Err(refusal(&mut response, watch).await);
    }
    let coding = response.headers().get(CONTENT_ENCODING);
    let coding = coding.map(|coding| String::from_utf8_lossy(coding.as_bytes()));
    match coding.as_deref() {
        None | Some("" | "identity") => Ok(response),
        Some(coding) => Err(Fault {
            is_final: true,
            ..Fault::bad(locale::provider::answer_compressed(clean(coding)))
        }),
    }
}

/// Sends a request. While this process has no free descriptor for a connection it waits; the
/// model's server has no part in that, and its time limits do not count it.
async fn send(request: RequestBuilder, watch: &mut Watch) -> Result<SendResult, Limit> {
    for pause in pauses() {
        let Some(again) = request.try_clone() else {
            break;
        };
        match watch.wait(again.send()).await? {
            Err(error) if stems_from_exhaustion(&error) => tokio::time::sleep(pause).await,
            sent => return Ok(sent),
        }
        watch.restart();
    }
    watch.wait(request.send()).await
}

/// What became of a request.
type SendResult = reqwest::Result<Response>;

/// What the server says in place of an answer; as much of it as comes.
async fn refusal(response: &mut Response, watch: &mut Watch) -> Fault {
    let mut body = Vec::new();
    while body.len() < MAX_REFUSAL_BYTES
        && let Ok(Ok(Some(bytes))) = watch.wait(response.chunk()).await
    {
        body.extend_from_slice(&bytes);
    }
    Fault::refused(response.status().as_u16(), response.headers(), &body)
}

/// A connection that broke in the middle of an answer.
pub(crate) fn cut(error: &reqwest::Error) -> Fault {
    let why = locale::provider::answer_cut_by(cause(error));
    Fault::new(FaultCode::StreamCut, why)
}
