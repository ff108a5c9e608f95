//! The web page: the files of `web/dist`, which are in the binary. They need no token, and say nothing
//! about the server.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use samovar_locale as locale;
use sha2::{Digest, Sha256};

use crate::endpoint::Endpoint;

/// A path, a file's name, and its bytes.
type Embedded = (&'static str, &'static str, &'static [u8]);

const FILES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The tags of the files, in their order.
static TAGS: LazyLock<Vec<HeaderValue>> =
    LazyLock::new(|| FILES.iter().map(|(_, _, bytes)| tag(bytes)).collect());

/// Where all but the first file of the page is.
const PARTS: &str = "/ui/";

/// Nothing comes from elsewhere, nothing is in the page that is not in its files, and no other page
/// shows it in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob: data:; connect-src 'self'; font-src 'self'; form-action 'none'; \
    frame-ancestors 'none'; base-uri 'none'";

/// Headers of every answer that a browser shows as a page.
const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    // For browsers that do not know `frame-ancestors`.
    ("x-frame-options", "DENY"),
    // Asked each time: a new version of the server may have another page.
    ("cache-control", "no-cache"),
];

/// A row for each file; their state is whether there is a page.
pub(crate) fn routes() -> Vec<Endpoint<bool>> {
    let rows = FILES.iter().enumerate().map(|(at, &(path, name, bytes))| {
        Endpoint::fixed(
            path.to_owned(),
            "Returns a file of the web page.",
            move |is_on| {
                if *is_on {
                    let tag = TAGS.get(at).cloned();
                    answer(
                        StatusCode::OK,
                        media_type(name),
                        Bytes::from_static(bytes),
                        tag,
                    )
                } else {
                    absent()
                }
            },
        )
    });
    rows.collect()
}

/// Whether a path is a file of the page besides the first, and is nothing without it.
pub(crate) fn is_part(path: &str) -> bool {
    path.starts_with(PARTS)
}

/// What a client says it has already.
pub(crate) fn known(asked: &HeaderMap) -> Vec<HeaderValue> {
    asked
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .cloned()
        .collect()
}

/// Leaves out of an answer what the client has already.
pub(crate) fn leave_out(known: &[HeaderValue], response: &mut Response<Body>) {
    let Some(tag) = response.headers().get(header::ETAG) else {
        return;
    };
    let mut known = known
        .iter()
        .flat_map(|tags| tags.as_bytes().split(|&byte| byte == b','));
    let is_known = known.any(|other| {
        let other = other.trim_ascii();
        other.strip_prefix(b"W/").unwrap_or(other) == tag.as_bytes()
    });
    if is_known && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
    }
}

/// What a browser shows of a server without a page.
fn absent() -> Response<Body> {
    let text = locale::server::page_off();
    let html = format!("<!doctype html><meta charset=utf-8><title>Samovar</title><p>{text}");
    answer(
        StatusCode::NOT_FOUND,
        media_type(".html"),
        html.into(),
        None,
    )
}

fn answer(
    status: StatusCode,
    media_type: &'static str,
    body: Bytes,
    tag: Option<HeaderValue>,
) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(tag) = tag {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// The same for the same bytes alone.
fn tag(bytes: &[u8]) -> HeaderValue {
    let hash = Sha256::digest(bytes);
    let begin = hash.first_chunk().copied().map_or(0, u64::from_be_bytes);
    // Digits are a header's value.
    HeaderValue::from_str(&format!("\"{begin:016x}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
