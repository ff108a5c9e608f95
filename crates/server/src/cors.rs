//! Answers to pages of other origins that the configuration allows (TL-12).

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

/// Headers of answers that a page may read, besides those that every page may.
const EXPOSED: &str =
    "retry-after, www-authenticate, x-chat-boot, x-chat-truncated, x-samovar-code";

/// Whether a browser asks if its page may send a request.
pub(crate) fn is_preflight(request: &Parts) -> bool {
    let asks = header::ACCESS_CONTROL_REQUEST_METHOD;
    request.method == Method::OPTIONS && request.headers.contains_key(asks)
}

/// The answer to that: any header may be sent, because only the token lets a client in.
pub(crate) fn preflight(request: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, PUT, DELETE");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    if let Some(asked) = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    let seconds = HeaderValue::from_static("600");
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, seconds);
    response
}

/// Lets the page of this origin, and of no other, read the answer.
pub(crate) fn share(headers: &mut HeaderMap, page: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let exposed = HeaderValue::from_static(EXPOSED);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}
