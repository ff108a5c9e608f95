//! `samovar sessions`: what was said, and where.

pub(crate) mod context;
mod export;
pub(crate) mod find;
pub(crate) mod fork;
mod list;
mod move_here;
mod search;
pub(crate) mod undo;

use std::fs;
use std::io::{ErrorKind, IsTerminal};

use samovar_core::Code;
use samovar_locale as text;
use samovar_server::Config;
use samovar_wire::agent::{AgentMessage, CancelResult, MessagePart, SessionInfo};
use samovar_wire::api::ContextInfo;
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::Purpose;
use crate::args::{Common, DirArgs, ModelArgs, Sessions};
use crate::calls::{Extent, brief, result};
use crate::client::Client;
use crate::config::{self, LocalData, Place, Setup};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::reconnecting::{Reconnecting, Repeat};
use crate::run;
use crate::screen::{confirm, say};
use crate::timestamps::moment;

use find::Precision;

/// Runs one of the commands.
pub(crate) async fn sessions(command: Sessions) -> Result<Exit, Failure> {
    match command {
        Sessions::List(args) => list::list(&args).await,
        Sessions::Search(args) => search::search(&args).await,
        Sessions::Show { id, limit, common } => show(&id, limit, &common).await,
        Sessions::Resume(args) => return run::resume(args).await,
        Sessions::Cancel { id, common } => cancel(&id, &common).await,
        Sessions::Undo { id, files, common } => undo::undo(&id, files, &common).await,
        Sessions::Context { id, turn, common } => {
            let told = async |client: &Client| {
                let id = find::session(client, &id, Precision::Part).await?.id;
                let path = context::path(id.as_str(), turn.as_deref());
                client.get::<ContextInfo>(&path).await
            };
            let told = look(&common, told).await?;
            output::one(common.machine.format(), "context", &told, context::shown)
        }
        Sessions::Fork(args) => fork::fork(&args).await,
        Sessions::Export { id, places, .. } => export::export(id.as_deref(), &places).await,
        Sessions::Import { file, common } => export::import(&file, &common).await,
        Sessions::Rename { id, title, common } => {
            let renamed = async |client: &Client| {
                let id = find::session(client, &id, Precision::Part).await?.id;
                let params = json!({ "sessionId": id, "title": title });
                client.agent::<SessionInfo>("updateSession", &params).await
            };
            let session = look(&common, renamed).await?;
            output::one(common.machine.format(), "session", &session, |session| {
                let told = match &session.title {
                    Some(title) => text::sessions::renamed(&session.id, title),
                    None => text::sessions::untitled(&session.id),
                };
                told + "\n"
            })
        }
        Sessions::Move { from, common } => Box::pin(move_here::move_here(from, &common)).await,
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

/// Asks something that leaves everything as it is, or a session that is there.
pub(crate) async fn look<A>(
    common: &Common,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Result<A, Failure> {
    look_in(&common.places, question).await
}

/// As [`look`], for a command that has only one format.
async fn look_in<A>(
    places: &DirArgs,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Result<A, Failure> {
    let found = config::read(places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    look_at(&found, question).await
}

/// As [`look`], of what was found. What has no data directory yet gets none from a look.
pub(crate) async fn look_at<A>(
    found: &Setup,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Result<A, Failure> {
    let dir = &found.config.data_dir;
    let is_missing = fs::metadata(dir).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    if !is_missing {
        return once(found, Repeat::Harmless, question).await;
    }
    if found.place == Place::Named {
        say(&text::client::data_dir_missing(dir.display()));
    }
    let nothing = tempfile::tempdir().map_err(|error| Failure::broken(&error))?;
    let mut config = found.config.clone();
    config.data_dir = nothing.path().to_owned();
    config.owner = None;
    Box::pin(reach(&config, Repeat::Harmless, question)).await
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
    found.note_folder();
    Box::pin(reach(&found.config, repeat, question)).await
}

async fn reach<A>(
    config: &Config,
    repeat: Repeat,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Result<A, Failure> {
    let mut way = Reconnecting::new(config, Purpose::Rows);
    let answer = way.ask(repeat, question).await;
    way.close_now().await;
    answer
}

/// Ends the turn that runs in a session, or that waits to go on.
async fn cancel(id: &str, common: &Common) -> Result<(), Failure> {
    let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    let mut way = Reconnecting::new(&found.config, Purpose::Turns);
    let precision = if std::io::stdin().is_terminal() {
        Precision::Part
    } else {
        Precision::End
    };
    let asked = async |client: &Client| {
        let id = find::session(client, id, precision).await?.id;
        let params = json!({ "sessionId": id });
        let answer: CancelResult = client.agent("cancel", &params).await?;
        Ok((id, answer.cancelled))
    };
    let answer = Box::pin(way.ask(Repeat::Harmless, asked)).await;
    way.close().await;
    let (id, cancelled) = answer?;
    let answer = json!({ "sessionId": id, "cancelled": cancelled });
    output::one(common.machine.format(), "cancelled", &answer, |_| {
        if cancelled {
            text::sessions::cancelled(&id) + "\n"
        } else {
            text::sessions::nothing_runs(&id) + "\n"
        }
    })
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
        let session = find::session(client, id, Precision::Part).await?;
        let params = json!({ "sessionId": session.id, "limit": limit });
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
    let title = find::name(session);
    let mut lines = text::sessions::head(
        &session.id,
        title,
        &session.model,
        moment(session.created_at),
        session.message_count,
    );
    if let Some(level) = session.approval {
        lines.push('\n');
        lines.push_str(&text::chat::approval(level.as_str()));
    }
    lines.push('\n');
    for message in &shown.messages {
        lines.push('\n');
        lines.push_str(&said(message));
        lines.push('\n');
        for call in &message.tool_calls {
            lines.push_str(&text::view::call(brief(&call.name, &call.args)));
            lines.push('\n');
        }
    }
    lines
}

/// A message; of a result its line, and all that a command wrote.
fn said(message: &AgentMessage) -> String {
    let mut lines = Vec::new();
    for part in &message.parts {
        if let MessagePart::Outcome {
            name, text, data, ..
        } = part
        {
            let told = result(name, text, data.as_ref(), Extent::All);
            lines.push(text::sessions::said(told.subject, told.what));
            lines.extend(told.below.iter().map(|line| format!("    {line}")));
        }
    }
    if lines.is_empty() {
        let who = message.name.as_deref().unwrap_or(message.role.as_str());
        return text::sessions::said(who, &message.content);
    }
    lines.join("\n")
}

/// Asks first, at a terminal; elsewhere `--yes` has to say it. Nobody waits for the data directory
/// while the person thinks.
async fn delete(id: &str, is_sure: bool, common: &Common) -> Result<(), Failure> {
    let is_asked = !is_sure && std::io::stdin().is_terminal();
    let precision = if is_asked {
        Precision::Part
    } else {
        Precision::End
    };
    let found = async |client: &Client| match find::session(client, id, precision).await {
        Ok(session) => {
            let name = find::name(&session);
            Ok((session.id.to_string(), name, session.message_count))
        }
        // How much of it there was, cannot be counted any more.
        Err(damaged) if damaged.code == Code::SessionDamaged.as_str() => {
            Ok((id.to_owned(), String::new(), 0))
        }
        Err(failure) => Err(failure),
    };
    let (id, name, messages) = look(common, found).await?;
    let params = json!({ "sessionId": id });
    let is_wanted = is_sure || {
        if !is_asked {
            return Err(Failure::usage(text::sessions::needs_yes(&id)));
        }
        let messages = text::sessions::messages(messages);
        let id = format!("{id} {}", text::quoted(&name));
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
            text::sessions::deleted(&id) + "\n"
        } else {
            text::sessions::kept(&id) + "\n"
        }
    })
}
