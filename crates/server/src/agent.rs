//! The agent service: its methods, each a command or a read (01).

mod images;
mod playback;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use samovar_core::history::{MessageQuery, SessionQuery, SessionRow};
use samovar_core::{Accepted, Action, AgentName, Approval, Code, Error, Seq, SessionId, TurnId};
use samovar_engine::{Attendance, Engine, Fork, TurnChoice};
use samovar_locale as locale;
use samovar_wire::agent::{
    AgentMessage, AgentStreamEvent, AppendMessageParams, Attachment, Awaited, BASE_PATH,
    CancelParams, CancelResult, Collector, CreateSessionParams, DeleteSessionParams,
    ForkSessionParams, GetMessagesParams, MAX_ATTACHMENTS_BYTES, NoParams, PaginatedResult,
    PaginationParams, Profile, ResumeParams, ResumedEvent, SendMessageParams, SendMessageResult,
    SessionInfo, SessionParams, Stats, StreamParams, ToolDefinition, UndoParams, UndoResult,
    UpdateSessionParams, UpdateTokenUsageParams, Waiting, Waits, Within,
};
use samovar_wire::api::{ApprovalInfo, OpenCallInfo};
use samovar_wire::params;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::unavailable;
use crate::clock::UuidV7;
use crate::endpoint;
use crate::reply::fitting;
use crate::stream::{self, Liveliness};
use playback::{Cursor, StreamSettings};

/// Default number of seconds for which a request waits for a person (AS-2).
const WAIT_SECONDS: u32 = 30;

/// When a request that found nothing open looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The server's own approval level is all that these handlers need beside the engine.
type Call = endpoint::Call<Approval>;
type Endpoint = endpoint::Endpoint<Approval>;

fn at(method: &str) -> String {
    format!("{BASE_PATH}/{method}")
}

pub(crate) fn routes() -> Vec<Endpoint> {
    let mut routes = about_sessions();
    routes.extend(about_messages());
    routes.extend([
        Endpoint::reading(
            at("listTools"),
            "Returns the tools that a model may call.",
            list_tools,
        ),
        Endpoint::reading(
            at("getStats"),
            "Counts the sessions, their messages, and the tokens they used.",
            get_stats,
        ),
    ]);
    routes
}

fn about_sessions() -> Vec<Endpoint> {
    vec![
        Endpoint::changing(
            at("createSession"),
            "Creates a session; with the id of an existing session, returns that one.",
            create_session,
        ),
        Endpoint::reading(at("getSession"), "Returns a session.", get_session),
        Endpoint::reading(
            at("listSessions"),
            "Returns a page of the sessions, the most recently changed first.",
            list_sessions,
        ),
        Endpoint::changing(
            at("updateSession"),
            "Changes the title, the model or the approval level of a session, and returns it.",
            update_session,
        ),
        Endpoint::changing(
            at("forkSession"),
            "Creates a session with copies of the messages of another one, and returns it.",
            fork_session,
        ),
        Endpoint::changing(
            at("updateTokenUsage"),
            "Adds tokens to those that a session has used, and returns the session.",
            update_token_usage,
        ),
        Endpoint::changing(
            at("deleteSession"),
            "Stops a session's turns, and deletes the session.",
            delete_session,
        ),
        Endpoint::changing(
            at("cancel"),
            "Stops a turn, and returns whether one was stopped.",
            cancel,
        ),
        Endpoint::changing(
            at("undo"),
            "Takes back the last turn of a session, also what its tools changed in files if asked \
             to, and returns its user's message.",
            undo,
        ),
    ]
}

fn about_messages() -> Vec<Endpoint> {
    vec![
        Endpoint::changing(
            at("sendMessage"),
            "Sends a message, waits for its turn to end, and returns the whole turn.",
            send_message,
        )
        .with_longer_bodies(MAX_ATTACHMENTS_BYTES, Attachment::bytes_in),
        Endpoint::streaming::<_, AgentStreamEvent<'_>, _>(
            at("sendMessage/stream"),
            "Sends a message, and streams its turn.",
            stream_message,
        )
        .with_longer_bodies(MAX_ATTACHMENTS_BYTES, Attachment::bytes_in),
        Endpoint::following::<_, ResumedEvent<'_>, _>(
            at("sendMessage/stream"),
            "Streams a turn again, after the last frame that was read.",
            resume_message,
        )
        .with_tickets(),
        Endpoint::reading(
            at("getMessages"),
            "Returns the last messages of a session, oldest first.",
            get_messages,
        ),
        Endpoint::changing(
            at("appendMessage"),
            "Adds a message to a session without starting a turn, and returns it.",
            append_message,
        ),
    ]
}

async fn create_session(call: Call, params: CreateSessionParams) -> Result<SessionInfo, Error> {
    let asked = params.clone();
    let (session, action) = params.into_action();
    let session = session.unwrap_or_else(|| SessionId::fresh(&UuidV7));
    call.submit(&session, action).await?;
    let row = call.engine().await?.session(&session).await?;
    check_same(&asked, &row)?;
    Ok(SessionInfo::from(&row))
}

/// Refuses a request for a session that exists and is not as the request wants it.
fn check_same(asked: &CreateSessionParams, row: &SessionRow) -> Result<(), Error> {
    let conflict = |parameter: &str, why: String| {
        let details = json!({"parameter": parameter});
        Err(Error::new(Code::SessionConflict, why).with_details(details))
    };
    let id = locale::quoted(row.id.as_str());
    if let Some(model) = &asked.model
        && model.trim() != row.model.trim()
    {
        let (model, other) = (locale::quoted(&row.model), locale::quoted(model.as_str()));
        return conflict("model", locale::session::other_model(id, model, other));
    }
    if let Some(agent) = asked.agent.as_ref().map(AgentName::as_str)
        && agent != row.agent
    {
        let why = locale::session::other_agent(id, &row.agent, agent);
        return conflict("agent", why);
    }
    if asked.system_prompt.is_some() && asked.system_prompt != row.system_prompt {
        return conflict("systemPrompt", locale::session::other_prompt(id));
    }
    if asked.approval.is_some() && asked.approval != row.approval {
        return conflict("approval", locale::session::other_level(id));
    }
    for (key, value) in asked.metadata.iter().flatten() {
        // The server shows the model there, too.
        let is_model = key == "model" && value == row.model.as_str();
        if row.metadata.get(key).unwrap_or(&Value::Null) != value && !is_model {
            let key = locale::quoted(key.as_str());
            return conflict("metadata", locale::session::other_metadata(id, key));
        }
    }
    Ok(())
}

/// A turn that was accepted, and a position in front of its first event.
struct AcceptedTurn {
    session: SessionId,
    turn: TurnId,
    after: Seq,
    engine: Arc<Engine>,
    /// What is accepted can be followed, also when the server is asked to stop in between.
    _here: Attendance,
}

async fn post(call: &Call, params: SendMessageParams) -> Result<AcceptedTurn, Error> {
    let (session, action) = images::into_action(params).await?;
    let engine = call.engine().await?;
    let here = engine.attend();
    let Accepted::Posted { turn, after, .. } = call.submit(&session, action).await? else {
        return Err(Error::new(Code::Internal, locale::message::not_taken()));
    };
    Ok(AcceptedTurn {
        session,
        turn,
        after,
        engine,
        _here: here,
    })
}

async fn stream_message(call: Call, params: SendMessageParams) -> Result<Response<Body>, Error> {
    let StreamParams {
        profile,
        approvals,
        after,
    } = params::from_query(call.query.clone())?;
    let cursor = Cursor::read(call.last_event_id.as_deref(), after.as_deref());
    let settings = settings(&call, profile, approvals);
    let posted = post(&call, params).await?;
    let AcceptedTurn { session, turn, .. } = &posted;
    if cursor == Cursor::None {
        let reader = posted.engine.follow(session, posted.after).await?;
        return Ok(playback::of_turn(turn.clone(), reader, settings));
    }
    let wanted = TurnChoice::Turn(turn.clone(), posted.after);
    let resumed = posted.engine.resume(session, wanted, cursor.since());
    Ok(match resumed.await? {
        Some(resumption) => playback::resumed(session.clone(), resumption, cursor, settings),
        None => playback::nothing_left(session.clone()),
    })
}

async fn resume_message(call: Call, params: ResumeParams) -> Result<Response<Body>, Error> {
    let ResumeParams {
        session_id: session,
        after,
        profile,
        approvals,
    } = params;
    let cursor = Cursor::read(call.last_event_id.as_deref(), after.as_deref());
    let engine = call.engine().await?;
    let resumed = engine.resume(&session, TurnChoice::Latest, cursor.since());
    let by_header = Cursor::read(call.last_event_id.as_deref(), None);
    match (resumed.await?, cursor) {
        (Some(resumption), _) if playback::has_all(&resumption, by_header) => {
            Ok(stream::nothing_more())
        }
        (Some(resumption), _) => {
            let settings = settings(&call, profile, approvals);
            Ok(playback::resumed(session, resumption, cursor, settings))
        }
        (None, Cursor::None) => Err(events_gone()),
        (None, Cursor::Frame(_) | Cursor::Garbage) => Ok(playback::nothing_left(session)),
    }
}

fn settings(call: &Call, profile: Profile, approvals: bool) -> StreamSettings {
    StreamSettings {
        profile,
        approvals,
        liveliness: Liveliness::of(call),
    }
}

fn events_gone() -> Error {
    Error::new(Code::UnknownTurn, locale::turn::events_gone())
}

async fn send_message(call: Call, params: SendMessageParams) -> Result<SendMessageResult, Error> {
    let patience = params.wait_seconds.map_or(WAIT_SECONDS, Within::get);
    let patience = Duration::from_secs(patience.into());
    let posted = post(&call, params).await?;
    let mut reader = posted.engine.follow(&posted.session, posted.after).await?;
    let mut collector = Collector::new(posted.turn.clone());
    let session = posted.session.clone();
    drop(posted);
    // Until when the turn may wait for a person, if it does.
    let mut until = None;
    loop {
        let late = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        // Safe to drop halfway: the reader moves only when it has something.
        let events = tokio::select! {
            biased;
            events = reader.next() => events.map_err(|why| stream::lost(why, None))?,
            () = late => {
                let engine = call.engine().await?;
                let waits = waits(&engine, &session, collector.waiting()).await?;
                if waits != Waits::default() {
                    return Ok(collector.so_far(waits));
                }
                // What was read of the log is older than what is open.
                until = Some(Instant::now() + LOOK_AGAIN);
                continue;
            }
        };
        for event in events {
            if let Some(result) = collector.collect(&event) {
                return Ok(result);
            }
        }
        if collector.waiting().is_empty() {
            until = None;
        } else {
            until.get_or_insert_with(|| Instant::now() + patience);
        }
    }
}

/// What is open of what a turn waits for.
async fn waits(engine: &Engine, session: &SessionId, waiting: &Waiting) -> Result<Waits, Error> {
    let mut waits = Waits::default();
    for open in engine.open_calls().await? {
        let awaited = match &open.asked {
            Some(asked) => Awaited::Approval(asked.id.clone()),
            None => Awaited::Call(open.call.id.clone()),
        };
        if open.session != *session || !waiting.awaited().any(|other| *other == awaited) {
            continue;
        }
        let (session, turn) = (open.session, open.turn);
        if let Some(asked) = open.asked {
            let info = ApprovalInfo::new(session, turn, &open.agent, open.call, &asked);
            waits.approvals.push(info);
        } else {
            let info = OpenCallInfo::new(session, turn, &open.agent, open.call);
            waits.calls.push(info);
        }
    }
    Ok(waits)
}

async fn get_session(call: Call, params: SessionParams) -> Result<SessionInfo, Error> {
    let row = call.engine().await?.session(&params.session_id).await?;
    Ok(SessionInfo::from(&row))
}

async fn get_messages(call: Call, params: GetMessagesParams) -> Result<Vec<AgentMessage>, Error> {
    let rows = call
        .engine()
        .await?
        .messages(MessageQuery::from(params))
        .await?;
    // The newest count, whatever their size.
    let mut messages = fitting(rows.iter().rev().map(AgentMessage::from));
    messages.reverse();
    Ok(messages)
}

async fn list_sessions(
    call: Call,
    params: PaginationParams,
) -> Result<PaginatedResult<SessionInfo>, Error> {
    let (rows, total_count) = call
        .engine()
        .await?
        .sessions(SessionQuery::from(params))
        .await?;
    Ok(PaginatedResult {
        items: fitting(rows.iter().map(SessionInfo::from)),
        total_count,
    })
}

async fn update_session(call: Call, params: UpdateSessionParams) -> Result<SessionInfo, Error> {
    let (session, action) = params.into_action();
    call.submit(&session, action).await?;
    let row = call.engine().await?.session(&session).await?;
    Ok(SessionInfo::from(&row))
}

async fn append_message(call: Call, params: AppendMessageParams) -> Result<AgentMessage, Error> {
    let (session, action) = params.into_action()?;
    match call.submit(&session, action).await? {
        Accepted::Appended { message, agent } => {
            Ok(AgentMessage::of(&session, &message, &agent, None))
        }
        _ => Err(Error::new(Code::Internal, locale::message::not_taken())),
    }
}

async fn fork_session(call: Call, params: ForkSessionParams) -> Result<SessionInfo, Error> {
    let engine = call.engine().await?;
    let fork = Fork {
        session: params.session_id,
        last: params.message_id,
        into: params.new_session_id,
        title: params.title,
        is_edit: false,
    };
    let row = engine.fork(call.by.sender.clone(), fork).await?;
    Ok(SessionInfo::from(&row))
}

async fn update_token_usage(
    call: Call,
    params: UpdateTokenUsageParams,
) -> Result<SessionInfo, Error> {
    let (session, action) = params.into_action();
    call.submit(&session, action).await?;
    let row = call.engine().await?.session(&session).await?;
    Ok(SessionInfo::from(&row))
}

async fn delete_session(call: Call, params: DeleteSessionParams) -> Result<(), Error> {
    let action = match params.if_empty {
        Some(true) => Action::CloseEmpty,
        Some(false) | None => Action::Close,
    };
    call.submit(&params.session_id, action).await.map(drop)
}

async fn cancel(call: Call, params: CancelParams) -> Result<CancelResult, Error> {
    let (session, action) = params.into_action();
    let accepted = call.submit(&session, action).await?;
    Ok(CancelResult {
        cancelled: accepted == Accepted::Cancelled { stopped: true },
    })
}

async fn undo(call: Call, params: UndoParams) -> Result<UndoResult, Error> {
    let (session, action) = params.into_action();
    match call.submit(&session, action).await? {
        Accepted::Undone { turn, text, files } => {
            let note = match &files {
                None => locale::turn::undone().into(),
                Some(files) if files.remaining.is_empty() => {
                    locale::turn::undone_with_files().into()
                }
                Some(files) => locale::turn::undone_but(files.remaining.join(", ")),
            };
            let (files, remaining) = files.map(|files| (files.restored, files.remaining)).unzip();
            Ok(UndoResult {
                turn_id: turn,
                content: text,
                note,
                files,
                remaining_tools: remaining,
            })
        }
        Accepted::Opened
        | Accepted::Copied(_)
        | Accepted::Posted { .. }
        | Accepted::Appended { .. }
        | Accepted::Changed
        | Accepted::Continued
        | Accepted::Settled
        | Accepted::Decided
        | Accepted::Cancelled { .. }
        | Accepted::Closed => Err(Error::new(Code::Internal, locale::turn::broken())),
    }
}

async fn list_tools(call: Call, _params: NoParams) -> Result<Vec<ToolDefinition>, Error> {
    let engine = call.engine().await?;
    let mut lacking = unavailable(&engine).await;
    let specs = engine.toolbox().specs();
    let definitions = specs.iter().map(|spec| ToolDefinition {
        unavailable: lacking.remove(&spec.name),
        ..ToolDefinition::from(spec.as_ref())
    });
    Ok(definitions.collect())
}

async fn get_stats(call: Call, _params: NoParams) -> Result<Stats, Error> {
    call.engine().await?.totals().await.map(Stats::from)
}
