//! The routes under `/api`: the server, its models, agents, tools and tokens, and its report on recovery.

use samovar_core::audit::What;
use samovar_core::{Action, Clock, Code, Command, Error};
use samovar_locale as locale;
use samovar_wire::agent::{NoParams, SessionParams};
use samovar_wire::api::{
    BASE_PATH, CreateTokenParams, CreatedToken, MemoryInfo, ModelsAnswer, ModelsParams,
    RecoveryInfo, ServerInfo, StoreInfo, TokenInfo, TokenParams, WaitingTurn,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::SystemClock;
use crate::door;
use crate::endpoint::Verb;
use crate::models;
use crate::tokens::{Scope, Tokens};

mod agents;
mod approvals;
pub(crate) mod audit;
pub(crate) mod backup;
mod blobs;
mod context;
mod examine;
mod exports;
mod feeds;
mod logins;
mod memory;
mod metrics;
mod search;
mod skills;
mod state;
mod tools;
mod turns;

pub(crate) use self::approvals::check_words;
pub(crate) use self::tools::{check_result, unavailable};

pub(crate) use self::state::State;

use self::audit::decided;
use self::state::{Call, Endpoint, memory_info, store_info};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    let mut routes = tools::routes();
    routes.extend(memory::routes());
    routes.push(metrics::route());
    routes.extend(skills::routes());
    routes.extend(turns::routes());
    routes.extend(search::routes());
    routes.extend(agents::routes());
    routes.extend(approvals::routes());
    routes.extend(audit::routes());
    routes.extend(blobs::routes());
    routes.extend(exports::routes());
    routes.extend(feeds::routes());
    routes.extend(context::routes());
    routes.extend(examine::routes());
    routes.extend(logins::routes());
    routes.extend([
        Endpoint::showing(
            at("server"),
            "Returns the server's version, workspace, approval level, store and memory.",
            server,
        ),
        Endpoint::showing(
            at("recovery"),
            "Returns what happened to the turns that the last run of the server left.",
            recovery,
        ),
        Endpoint::changing(
            at("recovery/continue"),
            "Resumes a session's interrupted turn that waits for it.",
            continue_turn,
        ),
        Endpoint::showing(
            at("models"),
            "Returns the providers, the default model, and why it was chosen.",
            list_models,
        ),
        Endpoint::answering(
            &[Verb::Get],
            Scope::Admin,
            at("tokens"),
            "Returns the tokens, without their secrets.",
            tokens,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("tokens"),
            "Creates a token and returns it, only once.",
            create_token,
        ),
        Endpoint::answering(
            &[Verb::Delete],
            Scope::Admin,
            at("tokens/{name}"),
            "Revokes a token.",
            revoke_token,
        ),
    ]);
    routes
}

async fn server(call: Call, _params: NoParams) -> Result<ServerInfo, Error> {
    // Who asks this wants to stay, and should not come to a server that leaves.
    let engine = call.engine().await?;
    if engine.is_stopping() {
        return Err(Error::new(Code::Unavailable, locale::server::stopping()));
    }
    Ok(ServerInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: call.state.workspace.display().to_string(),
        approval: call.state.approval,
        stays: call.state.restart.is_some(),
        page: call.state.logins.is_on(),
        store: store_info(&call.state, &engine)?,
        memory: memory_info(&engine),
    })
}

async fn recovery(call: Call, _params: NoParams) -> Result<RecoveryInfo, Error> {
    let found = call.engine().await?.recovered();
    let waiting = found.waiting.into_iter();
    Ok(RecoveryInfo {
        continued: found.continued,
        ended: found.ended,
        unknown_calls: found.unknown_calls,
        waiting: waiting
            .map(|(session_id, turn_id)| WaitingTurn {
                session_id,
                turn_id,
            })
            .collect(),
    })
}

async fn continue_turn(call: Call, params: SessionParams) -> Result<(), Error> {
    let command = Command {
        by: call.by.sender.clone(),
        session: params.session_id,
        action: Action::Continue,
    };
    call.engine().await?.submit(command).await.map(drop)
}

async fn list_models(call: Call, params: ModelsParams) -> Result<ModelsAnswer, Error> {
    let registry = &call.state.registry;
    if params.probe {
        registry.probe().await;
    }
    Ok(models::overview(registry).await)
}

async fn tokens(call: Call, _params: NoParams) -> Result<Vec<TokenInfo>, Error> {
    Ok(call.state.tokens.list())
}

async fn create_token(call: Call, params: CreateTokenParams) -> Result<CreatedToken, Error> {
    let CreateTokenParams { name, scope } = params;
    let change = move |tokens: &Tokens| tokens.create(name, scope, SystemClock.now());
    let (info, token) = call.state.change_tokens(change).await?;
    let made = decided(What::TokenMade, &call.by.sender);
    let made = made.about(info.name.as_str()).by_rule(&info.scope);
    call.state.record(made).await?;
    let token = token.expose().to_owned();
    Ok(CreatedToken { info, token })
}

async fn revoke_token(call: Call, params: TokenParams) -> Result<(), Error> {
    let name = params.name.clone();
    // Dropped with the answer, which may be for the very token that is revoked.
    let revoke = move |tokens: &Tokens| tokens.revoke(&params.name);
    let _revoked = call.state.change_tokens(revoke).await?;
    let revoked = decided(What::TokenRevoked, &call.by.sender);
    call.state.record(revoked.about(name.as_str())).await
}

/// What a probe reads.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok`, or the request fails.
    status: &'static str,
    /// The store, if details were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreInfo>,
    /// The memory, if details were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryInfo>,
}

impl Health {
    const OK: Self = Self {
        status: "ok",
        store: None,
        memory: None,
    };
}

/// Which probe is asked for.
#[derive(Deserialize, JsonSchema)]
struct ReadyParams {
    /// Set, to anything, for details; they need a token.
    #[serde(default)]
    verbose: Option<String>,
}

/// The paths of the probes.
pub(crate) const PROBES: [&str; 2] = [ALIVE, READY];
const ALIVE: &str = "/healthz";
const READY: &str = "/readyz";

/// The probes, which need no token.
pub(crate) fn probes() -> Vec<Endpoint> {
    let probe = &[Verb::Get];
    vec![
        Endpoint::answering(
            probe,
            Scope::Public,
            ALIVE.to_owned(),
            "Reports that the server is alive.",
            alive,
        ),
        Endpoint::answering(
            probe,
            Scope::Public,
            READY.to_owned(),
            "Reports whether the server accepts work.",
            ready,
        ),
    ]
}

async fn alive(_call: Call, _params: NoParams) -> Result<Health, Error> {
    Ok(Health::OK)
}

async fn ready(call: Call, params: ReadyParams) -> Result<Health, Error> {
    let engine = call.engine.now()?;
    if engine.is_stopping() {
        return Err(Error::new(Code::Unavailable, locale::server::ends()));
    }
    let failure = call
        .state
        .stores
        .get()
        .and_then(|stores| stores.disk.failure());
    if let Some(broken) = failure {
        return Err(Error::new(Code::StoreFailed, broken.to_string()));
    }
    if params.verbose.is_none() {
        return Ok(Health::OK);
    }
    if call.by.scope == Scope::Public {
        return Err(Error::new(Code::Unauthorized, locale::request::no_token()));
    }
    door::check_scope(&call.by, Scope::Read)?;
    Ok(Health {
        store: Some(store_info(&call.state, &engine)?),
        memory: Some(memory_info(&engine)),
        ..Health::OK
    })
}
