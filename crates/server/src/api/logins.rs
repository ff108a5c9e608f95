//! How a browser logs in and out, and what a client learns about itself.

use axum::body::Body;
use axum::http::Response;
use samovar_core::audit::{Decision, What};
use samovar_core::{Clock, Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    BASE_PATH, Brought, LoginLink, LoginLinkParams, LoginParams, Me, TokenName, TokenScope,
};

use super::audit::{Pace, decided};
use super::state::{Call, Endpoint, State};
use crate::clock::SystemClock;
use crate::cookie::Change;
use crate::endpoint::Verb;
use crate::logins::LoginGrant;
use crate::reply;
use crate::tokens::{Scope, Tokens};

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    let post = &[Verb::Post];
    vec![
        Endpoint::answering(
            post,
            Scope::Admin,
            at("login-links"),
            "Creates a login link, which lets one browser in, once.",
            create_link,
        ),
        Endpoint::streaming::<LoginParams, Me, _>(
            at("login"),
            "Logs a browser in with the code of a login link, and gives it a cookie.",
            log_in,
        )
        .with_scope(Scope::Public),
        Endpoint::streaming::<NoParams, (), _>(
            at("logout"),
            "Ends the login of the browser, and takes its cookie.",
            log_out,
        )
        .with_scope(Scope::Any),
        Endpoint::answering(
            &[Verb::Get],
            Scope::Any,
            at("me"),
            "Returns who the client is to the server, and what it may do.",
            me,
        ),
    ]
}

async fn create_link(call: Call, params: LoginLinkParams) -> Result<LoginLink, Error> {
    let by = call.by.sender.name().to_owned();
    call.state.logins.link(params, by)
}

async fn log_in(call: Call, params: LoginParams) -> Result<Response<Body>, Error> {
    let state = &call.state;
    state.logins.check()?;
    // A code that is taken while the server starts would be lost.
    call.engine().await?;
    let granted = match state.logins.take(&params.code) {
        Ok(granted) => granted,
        Err(error) => {
            state.failures.add();
            state.record_failures(Pace::Minutely).await;
            return Err(error);
        }
    };
    let LoginGrant { name, scope, by } = granted;
    let is_earlier = call.by.by == Brought::Cookie;
    let earlier = call.by.token.clone().filter(|_| is_earlier);
    let given = scope.clone();
    let change =
        move |tokens: &Tokens| tokens.log_in(&name, given, earlier.as_ref(), SystemClock.now());
    let login = state.change_tokens(change).await?;
    for name in &login.ended {
        let ended = Decision::new(What::TokenRevoked, by.as_str(), SystemClock.now());
        state.record(ended.about(name.as_str())).await?;
    }
    let made = Decision::new(What::TokenMade, by.as_str(), SystemClock.now());
    let made = made.about(login.info.name.as_str()).by_rule(&scope);
    state.record(made).await?;
    let me = known(state, login.info.name.as_str(), scope, Brought::Cookie);
    let mut response = reply::json(&me);
    response.extensions_mut().insert(Change::Keep(login.token));
    // Dropped with the answer, which is for a browser that may have had one of them.
    drop(login.guards);
    Ok(response)
}

async fn log_out(call: Call, _params: NoParams) -> Result<Response<Body>, Error> {
    if call.by.by != Brought::Cookie {
        let why = locale::login::none_to_end();
        return Err(Error::new(Code::InvalidParams, why));
    }
    let name = call.by.sender.name().to_owned();
    let revocable = call.by.grant.as_ref();
    let revocable = revocable.and_then(|_| TokenName::new(name.clone()));
    // Dropped with the answer, which is for the very browser that leaves.
    let _revoked = match revocable {
        Some(name) => {
            let revoke = move |tokens: &Tokens| tokens.revoke(&name);
            Some(call.state.change_tokens(revoke).await?)
        }
        None => None,
    };
    let revoked = decided(What::TokenRevoked, &call.by.sender);
    call.state.record(revoked.about(name)).await?;
    let mut response = reply::json(&());
    response.extensions_mut().insert(Change::Forget);
    Ok(response)
}

async fn me(call: Call, _params: NoParams) -> Result<Me, Error> {
    let scope = call.by.token_scope().ok_or_else(|| {
        let why = locale::request::no_token();
        Error::new(Code::Unauthorized, why)
    })?;
    let name = call.by.sender.name();
    Ok(known(&call.state, name, scope, call.by.by))
}

/// What a client with such a token is told of itself.
fn known(state: &State, name: &str, scope: TokenScope, by: Brought) -> Me {
    let may_read = !matches!(scope, TokenScope::Relay { .. });
    Me {
        name: name.to_owned(),
        scope,
        by,
        server_id: state.logins.server_id().as_str().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: may_read.then(|| state.workspace.display().to_string()),
    }
}
