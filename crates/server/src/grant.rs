//! What a named token has at run time: a number of requests (TL-13), and an end for everything that
//! it has opened (TL-11).

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{Request, Response};
use axum::middleware::Next;
use futures_util::StreamExt;
use samovar_core::{Code, Error};
use samovar_locale as locale;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::reply;
use crate::upgrade::ConnectionGuard;

const MINUTE: Duration = Duration::from_mins(1);

/// The part of a named token that all its requests share.
pub(crate) struct Grant {
    revoked: CancellationToken,
    per_minute: u32,
    /// When its bucket of requests is full again.
    full_at: Mutex<Instant>,
}

impl Grant {
    /// A full bucket of so many requests, which fills up in a minute; 0 for no limit.
    pub(crate) fn new(per_minute: u32) -> Self {
        Self {
            revoked: CancellationToken::new(),
            per_minute,
            full_at: Mutex::new(Instant::now()),
        }
    }

    /// Takes one request out of the bucket.
    ///
    /// # Errors
    /// [`Code::RateLimited`], with the time until there is one.
    pub(crate) fn spend(&self) -> Result<(), Error> {
        let Some(interval) = MINUTE.checked_div(self.per_minute) else {
            return Ok(());
        };
        let now = Instant::now();
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let then = (*full_at).max(now) + interval;
        let wait = then.saturating_duration_since(now + interval * self.per_minute);
        if wait.is_zero() {
            *full_at = then;
            return Ok(());
        }
        let why = locale::request::rate_limited(u64::from(self.per_minute));
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        Err(Error::new(Code::RateLimited, why).with_details(json!({ "retryAfterMs": wait })))
    }

    /// Ends everything that the token has opened, when the guard is dropped.
    pub(crate) fn revoke(&self) -> DropGuard {
        self.revoked.clone().drop_guard()
    }

    /// Serves a request until the token is revoked: then a request without an answer gets 401, a
    /// stream ends, and a WebSocket is closed.
    pub(crate) async fn serve(&self, mut request: Request<Body>, next: Next) -> Response<Body> {
        let extensions = request.extensions_mut();
        let guard: &mut ConnectionGuard = extensions.get_or_insert_default();
        guard.end_with(self.revoked.clone());
        let response = tokio::select! {
            // First, so that a token that revokes itself gets its answer.
            biased;
            response = next.run(request) => response,
            () = self.revoked.cancelled() => {
                let why = locale::request::no_token();
                return reply::refusal(&Error::new(Code::Unauthorized, why));
            }
        };
        let revoked = self.revoked.clone().cancelled_owned();
        response.map(|body| match body.size_hint().exact() {
            Some(_) => body,
            None => Body::from_stream(body.into_data_stream().take_until(revoked)),
        })
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(grant: &Grant) -> Option<u64> {
        let refused = grant.spend().err()?;
        assert_eq!(refused.code, Code::RateLimited);
        refused.details?["retryAfterMs"].as_u64()
    }

    // proves TL-13
    #[tokio::test(start_paused = true)]
    async fn a_bucket_is_spent_at_once_and_fills_up_in_a_minute() {
        let grant = Grant::new(60);
        for _ in 0..60 {
            assert_eq!(wait(&grant), None);
        }
        assert_eq!(wait(&grant), Some(1000));
        tokio::time::advance(Duration::from_millis(900)).await;
        assert_eq!(wait(&grant), Some(100), "a refusal takes nothing out");
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(wait(&grant), None);
        assert_eq!(wait(&grant), Some(1000));

        tokio::time::advance(10 * MINUTE).await;
        let passed = (0..100).filter(|_| wait(&grant).is_none()).count();
        assert_eq!(passed, 60, "no more than a full bucket is saved up");
    }

    // proves TL-13
    #[tokio::test(start_paused = true)]
    async fn without_a_limit_every_request_passes() {
        let grant = Grant::new(0);
        assert!((0..10_000).all(|_| wait(&grant).is_none()));
    }
}
