//! `samovar sessions fork`: continue a session in a copy.

use samovar_core::SessionId;
use samovar_locale as text;
use samovar_server::Home;
use samovar_wire::agent::SessionInfo;
use serde_json::json;

use super::find::{self, Precision};
use crate::args::ForkSession;
use crate::client::Client;
use crate::exit::Failure;
use crate::output;
use crate::reconnecting::Repeat;

pub(super) async fn fork(args: &ForkSession) -> Result<(), Failure> {
    let fresh = Home::fresh_session();
    let fork = async |client: &Client| {
        let session = find::session(client, &args.id, Precision::Part).await?;
        let params = json!({
            "sessionId": session.id,
            "messageId": args.at,
            "newSessionId": args.into.as_deref().unwrap_or(fresh.as_str()),
            "title": args.title,
        });
        let params = crate::talk::without_nulls(params);
        client.agent::<SessionInfo>("forkSession", &params).await
    };
    let made = super::change(&args.common, Repeat::Harmless, fork).await?;
    output::one(args.common.machine.format(), "session", &made, |made| {
        said(made) + "\n"
    })
}

/// Forks a session into one with this id.
///
/// # Errors
/// The refusal.
pub(crate) async fn whole(
    client: &Client,
    session: &SessionId,
    fresh: &SessionId,
) -> Result<SessionInfo, Failure> {
    let params = json!({ "sessionId": session, "newSessionId": fresh });
    client.agent("forkSession", &params).await
}

/// What a person is told of a fork.
pub(crate) fn said(made: &SessionInfo) -> String {
    let from = made.forked_from.as_ref();
    let from = from.map_or("", |from| from.session_id.as_str());
    text::sessions::forked(from, &made.id, made.message_count)
}
