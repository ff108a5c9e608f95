//! What stands under `/api`: the server itself, its models, tools and tokens, and what it found at
//! start.

use samovar_core::{Action, Clock, Code, Command, Error};
use samovar_locale as locale;
use samovar_stores::Stores;
use samovar_wire::agent::{NoParams, SessionParams};
use samovar_wire::api::{
    BASE_PATH, CreateTokenParams, CreatedToken, ModelsAnswer, ModelsParams, RecoveryInfo,
    ServerInfo, StoreInfo, TokenInfo, TokenParams, WaitingTurn,
};

use crate::clock::SystemClock;
use crate::endpoint::{Call, Route, Scope, Verb};
use crate::models;
use crate::tokens::{self, Tokens};

pub(crate) mod backup;
mod tools;

pub(crate) fn routes() -> Vec<Route> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    let get = &[Verb::Get];
    let mut routes = tools::routes();
    routes.extend([
        Route::answering(
            get,
            Scope::Read,
            at("server"),
            "Returns the server's version, workspace, approval level and store.",
            server,
        ),
        Route::answering(
            get,
            Scope::Read,
            at("recovery"),
            "Returns what happened to the turns that the last run of the server left.",
            recovery,
        ),
        Route::answering(
            &[Verb::Post],
            Scope::Use,
            at("recovery/continue"),
            "Resumes a session's interrupted turn that waits for it.",
            continue_turn,
        ),
        Route::answering(
            get,
            Scope::Read,
            at("models"),
            "Returns the providers, the default model, and why it was chosen.",
            list_models,
        ),
        Route::answering(
            get,
            Scope::Admin,
            at("tokens"),
            "Returns the tokens, without their secrets.",
            tokens,
        ),
        Route::answering(
            &[Verb::Post],
            Scope::Admin,
            at("tokens"),
            "Creates a token and returns it, only once.",
            create_token,
        ),
        Route::answering(
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
    if call.engine().await?.is_stopping() {
        return Err(Error::new(Code::Unavailable, locale::server::stopping()));
    }
    Ok(ServerInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: call.shared.workspace.display().to_string(),
        approval: call.shared.approval,
        store: store_info(call.shared.stores()?)?,
    })
}

fn store_info(stores: &Stores) -> Result<StoreInfo, Error> {
    let fill = stores.fill().map_err(|broken| {
        tracing::error!(%broken, "the journal cannot be read");
        Error::new(Code::Internal, locale::store::unreadable())
    })?;
    Ok(StoreInfo {
        is_full: stores.disk.is_full(),
        free_bytes: stores.disk.free_bytes(),
        journal_used_bytes: fill.used_bytes as u64,
        journal_map_bytes: fill.map_bytes as u64,
        journal_commits: stores.commits(),
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
    let registry = &call.shared.registry;
    if params.probe {
        registry.probe().await;
    }
    Ok(models::overview(registry).await)
}

async fn tokens(call: Call, _params: NoParams) -> Result<Vec<TokenInfo>, Error> {
    Ok(call.shared.tokens.list())
}

async fn create_token(call: Call, params: CreateTokenParams) -> Result<CreatedToken, Error> {
    let CreateTokenParams { name, scope } = params;
    let change = move |tokens: &Tokens| tokens.create(name, scope, SystemClock.now());
    let (info, token) = change_tokens(call, change).await?;
    let token = token.expose().to_owned();
    Ok(CreatedToken { info, token })
}

async fn revoke_token(call: Call, params: TokenParams) -> Result<(), Error> {
    change_tokens(call, move |tokens| tokens.revoke(&params.name)).await
}

/// A change waits for the disk, and nobody else is to wait with it.
async fn change_tokens<T: Send + 'static>(
    call: Call,
    change: impl FnOnce(&Tokens) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let changed = tokio::task::spawn_blocking(move || change(&call.shared.tokens)).await;
    changed.unwrap_or_else(|error| Err(tokens::not_kept(&error.into())))
}
