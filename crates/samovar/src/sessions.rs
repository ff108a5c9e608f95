//! `samovar sessions`: what was said, and where.

use std::io::IsTerminal;

use samovar_core::{Code, TurnId};
use samovar_locale as text;
use samovar_wire::agent::{AgentMessage, CancelResult, PaginatedResult, SessionInfo};
use samovar_wire::api::RecoveryInfo;
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::Purpose;
use crate::args::{Common, ModelArgs, Sessions};
use crate::client::Client;
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, table};
use crate::reconnecting::{Reconnecting, Repeat};
use crate::run;
use crate::screen::{beginning, confirm, put, say, visible};
use crate::timestamps::moment;

/// Characters of a message that `show` begins a tool's result with.
const SHOWN: usize = 160;

/// Runs one of the commands.
pub(crate) async fn sessions(command: Sessions) -> Result<Exit, Failure> {
    match command {
        Sessions::List {
            limit,
            offset,
            query,
            common,
        } => {
            let mut params = json!({ "limit": limit, "offset": offset });
            if let Some(query) = query {
                params["query"] = query.into();
            }
            let page = list(&common, &params).await?;
            show_page(common.machine.format(), &page, offset)
        }
        Sessions::Show { id, limit, common } => show(&id, limit, &common).await,
        Sessions::Resume(args) => return run::resume(args).await,
        Sessions::Cancel { id, common } => cancel(&id, &common).await,
        Sessions::Rename { id, title, common } => {
            let params = json!({ "sessionId": id, "title": title });
            let session: SessionInfo = ask(&common, "updateSession", params).await?;
            output::one(common.machine.format(), "session", &session, |session| {
                text::sessions::renamed(&session.id, title.trim()) + "\n"
            })
        }
        Sessions::Delete { id, yes, common } => delete(&id, yes, &common).await,
    }?;
    Ok(Exit::Ok)
}

/// One call, and nothing else.
pub(crate) async fn ask<A>(common: &Common, method: &str, params: Value) -> Result<A, Failure>
where
    A: serde::de::DeserializeOwned,
{
    look(common, async |client| client.agent(method, &params).await).await
}

/// Asks something that may be asked twice.
pub(crate) async fn look<A>(
    common: &Common,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Result<A, Failure> {
    change(common, Repeat::Harmless, question).await
}

/// Asks something of the data directory, for a command that starts no turn.
pub(crate) async fn change<A>(
    common: &Common,
    repeat: Repeat,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Result<A, Failure> {
    let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    once(&found, repeat, question).await
}

/// Goes to the data directory for one question, and leaves it.
pub(crate) async fn once<A>(
    found: &Setup,
    repeat: Repeat,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Result<A, Failure> {
    let mut way = Reconnecting::new(&found.config, Purpose::Rows);
    let answer = way.ask(repeat, question).await;
    way.close_now().await;
    answer
}

/// A session in the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedSession {
    #[serde(flatten)]
    session: SessionInfo,
    /// Its turn that a stop of the server cut, and that has not gone on.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_turn_id: Option<TurnId>,
}

async fn list(common: &Common, params: &Value) -> Result<PaginatedResult<ListedSession>, Failure> {
    look(common, async |client| {
        let page: PaginatedResult<SessionInfo> = client.agent("listSessions", params).await?;
        let recovery: RecoveryInfo = client.get("/api/recovery").await?;
        let listed = page.items.into_iter().map(|session| {
            let cut = recovery.of(&session.id);
            let waiting_turn_id = cut.map(|cut| cut.turn_id.clone());
            ListedSession {
                session,
                waiting_turn_id,
            }
        });
        Ok(PaginatedResult {
            items: listed.collect(),
            total_count: page.total_count,
        })
    })
    .await
}

/// Ends the turn that runs in a session, or that waits to go on.
async fn cancel(id: &str, common: &Common) -> Result<(), Failure> {
    let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    let params = json!({ "sessionId": id });
    let mut way = Reconnecting::new(&found.config, Purpose::Turns);
    let asked = async |client: &Client| client.agent("cancel", &params).await;
    let answer: Result<CancelResult, _> = way.ask(Repeat::Harmless, asked).await;
    way.close().await;
    let cancelled = answer?.cancelled;
    let answer = json!({ "sessionId": id, "cancelled": cancelled });
    output::one(common.machine.format(), "cancelled", &answer, |_| {
        if cancelled {
            text::sessions::cancelled(id) + "\n"
        } else {
            text::sessions::nothing_runs(id) + "\n"
        }
    })
}

fn show_page(
    format: Format,
    page: &PaginatedResult<ListedSession>,
    offset: u32,
) -> Result<(), Failure> {
    match format {
        Format::Text => {
            let rows = page.items.iter().map(|listed| {
                let session = &listed.session;
                let title = match listed.waiting_turn_id {
                    Some(_) => text::sessions::cut_off(title(session))
                        .trim_end()
                        .to_owned(),
                    None => title(session),
                };
                vec![
                    session.id.to_string(),
                    moment(session.updated_at),
                    text::sessions::messages(session.message_count),
                    session.model.clone(),
                    title,
                ]
            });
            let rows: Vec<_> = rows.collect();
            put(&visible(&table(&rows)))?;
            let mut items = page.items.iter();
            if let Some(cut) = items.find(|listed| listed.waiting_turn_id.is_some()) {
                say(&text::sessions::how_to_resume(&cut.session.id));
            }
            let shown = u64::from(offset) + page.items.len() as u64;
            if page.total_count == 0 {
                say(text::sessions::none());
            } else if shown < page.total_count {
                say(&text::sessions::more(shown, page.total_count));
            }
            Ok(())
        }
        Format::Json => put(&output::line("sessions", page)?).map(drop),
        Format::Jsonl => output::list(format, "session", &page.items, |_| String::new()),
    }
}

/// A session with its last messages.
#[derive(Serialize)]
struct SessionDetails {
    #[serde(flatten)]
    session: SessionInfo,
    messages: Vec<AgentMessage>,
}

async fn show(id: &str, limit: u32, common: &Common) -> Result<(), Failure> {
    let shown = look(common, async |client| {
        let session = client
            .agent("getSession", &json!({ "sessionId": id }))
            .await?;
        let params = json!({ "sessionId": id, "limit": limit });
        let messages = client.agent("getMessages", &params).await?;
        Ok(SessionDetails { session, messages })
    });
    let shown = shown.await?;
    match common.machine.format() {
        Format::Jsonl => {
            let messages = &shown.messages;
            output::list(Format::Jsonl, "message", messages, |_| String::new())
        }
        format => output::one(format, "session", &shown, as_text),
    }
}

fn as_text(shown: &SessionDetails) -> String {
    let session = &shown.session;
    let title = title(session);
    let mut lines = text::sessions::head(
        &session.id,
        title,
        &session.model,
        moment(session.created_at),
        session.message_count,
    );
    lines.push('\n');
    for message in &shown.messages {
        lines.push('\n');
        let said = match message.role {
            samovar_core::Role::Tool => beginning(&message.content, SHOWN),
            _ => message.content.clone(),
        };
        let who = message.name.as_deref().unwrap_or(message.role.as_str());
        lines.push_str(&text::sessions::said(who, said));
        lines.push('\n');
        for call in &message.tool_calls {
            let args = beginning(&call.args.to_string(), SHOWN);
            lines.push_str(&text::view::call(&call.name, args));
            lines.push('\n');
        }
    }
    lines
}

/// Asks first, at a terminal; elsewhere `--yes` has to say it. Nobody waits for the data directory
/// while the person thinks.
async fn delete(id: &str, is_sure: bool, common: &Common) -> Result<(), Failure> {
    let params = json!({ "sessionId": id });
    let messages = match ask::<SessionInfo>(common, "getSession", params.clone()).await {
        Ok(session) => session.message_count,
        // How much of it there was, nobody can count any more.
        Err(damaged) if damaged.code == Code::SessionDamaged.as_str() => 0,
        Err(failure) => return Err(failure),
    };
    let is_wanted = is_sure || {
        if !std::io::stdin().is_terminal() {
            return Err(Failure::usage(text::sessions::needs_yes(id)));
        }
        let messages = text::sessions::messages(messages);
        confirm(&text::sessions::sure(id, messages))?
    };
    if is_wanted {
        match ask::<Value>(common, "deleteSession", params).await {
            // It was there just now: a server that left before it answered has done it.
            Err(gone) if gone.code == Code::UnknownSession.as_str() => {}
            answered => drop(answered?),
        }
    }
    let answer = json!({ "sessionId": id, "deleted": is_wanted });
    output::one(common.machine.format(), "deleted", &answer, |_| {
        if is_wanted {
            text::sessions::deleted(id) + "\n"
        } else {
            text::sessions::kept(id) + "\n"
        }
    })
}

/// What a person calls a session; empty when it has no title.
pub(crate) fn title(session: &SessionInfo) -> String {
    let title = session.title.as_ref();
    title.map_or_else(String::new, |title| title.as_str().to_owned())
}
