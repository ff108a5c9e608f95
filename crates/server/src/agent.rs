//! The agent service: its methods, each a command or a read (01).

use axum::body::Body;
use axum::http::Response;
use samovar_core::history::{MessageQuery, SessionQuery};
use samovar_core::{Accepted, Action, Approval, Code, Command, Error, SessionId, TurnId};
use samovar_engine::Follower;
use samovar_locale as locale;
use samovar_wire::agent::{
    AgentMessage, AgentStreamEvent, BASE_PATH, CancelParams, CancelResult, Collector,
    CreateSessionParams, GetMessagesParams, NoParams, PaginatedResult, PaginationParams,
    SendMessageParams, SendMessageResult, SessionInfo, SessionParams, Stats, StreamParams,
    ToolDefinition, UndoResult, UpdateSessionParams,
};
use samovar_wire::params;

use crate::home::Home;
use crate::route::{Call, Route, Scope};
use crate::stream;
use crate::tokens::Guest;

pub(crate) fn routes() -> Vec<Route> {
    let at = |method: &str| format!("{BASE_PATH}/{method}");
    vec![
        Route::changing(
            at("createSession"),
            "Makes a session; with the id of one that exists, answers that one.",
            create_session,
        ),
        Route::changing(
            at("sendMessage"),
            "Says something, waits for the turn that it starts, and answers the whole turn.",
            send_message,
        ),
        Route::streaming::<_, AgentStreamEvent<'_>, _>(
            at("sendMessage/stream"),
            "Says something, and streams the turn that it starts.",
            stream_message,
        ),
        Route::reading(at("getSession"), "Answers a session.", get_session),
        Route::reading(
            at("getMessages"),
            "Answers the last messages of a session, oldest first.",
            get_messages,
        ),
        Route::reading(
            at("listSessions"),
            "Answers a page of the sessions, the one that changed last first.",
            list_sessions,
        ),
        Route::changing(
            at("updateSession"),
            "Changes the title or the model of a session, and answers it.",
            update_session,
        ),
        Route::changing(
            at("deleteSession"),
            "Stops what runs in a session, and removes it.",
            delete_session,
        ),
        Route::changing(
            at("cancel"),
            "Stops a turn, and answers whether one was stopped.",
            cancel,
        ),
        Route::changing(
            at("undo"),
            "Takes the last turn of a session back, and answers what its user had said.",
            undo,
        ),
        Route::reading(
            at("listTools"),
            "Answers the tools that a model may call.",
            list_tools,
        ),
        Route::reading(
            at("getStats"),
            "Counts the sessions, their messages, and the tokens that they cost.",
            get_stats,
        ),
    ]
}

async fn create_session(call: Call, params: CreateSessionParams) -> Result<SessionInfo, Error> {
    let (session, action) = params.into_action();
    let session = session.unwrap_or_else(Home::fresh_session);
    submit(&call, &session, action).await?;
    let row = call.engine().await?.session(&session).await?;
    Ok(SessionInfo::from(&row))
}

/// A turn that was accepted, and a reader that stands before its first event.
struct Posted {
    turn: TurnId,
    reader: Follower,
}

async fn post(call: &Call, params: SendMessageParams) -> Result<Posted, Error> {
    let (session, action) = params.into_action()?;
    if let Action::Post { bounds, .. } = &action {
        check_level(&call.by, bounds.approval, call.shared.approval)?;
    }
    let engine = call.engine().await?;
    // What is accepted can be followed, also when the server is asked to stop in between.
    let _here = engine.attend();
    let Accepted::Posted { turn, after, .. } = submit(call, &session, action).await? else {
        return Err(Error::new(Code::Internal, locale::message::not_taken()));
    };
    let reader = engine.follow(&session, after).await?;
    Ok(Posted { turn, reader })
}

/// Refuses a level that is wider than the server's own, unless its owner asks for it.
fn check_level(by: &Guest, asked: Option<Approval>, server: Approval) -> Result<(), Error> {
    match asked {
        Some(asked) if asked < server && by.scope < Scope::Admin => {
            let (asked, server) = (asked.as_str(), server.as_str());
            let why = locale::request::wider_approval(asked, server);
            Err(Error::new(Code::Forbidden, why))
        }
        Some(_) | None => Ok(()),
    }
}

async fn stream_message(call: Call, params: SendMessageParams) -> Result<Response<Body>, Error> {
    let StreamParams { profile } = params::from_query(call.query.clone())?;
    let Posted { turn, reader } = post(&call, params).await?;
    Ok(stream::of_turn(
        turn,
        profile,
        reader,
        call.shared.ping_every,
    ))
}

async fn send_message(call: Call, params: SendMessageParams) -> Result<SendMessageResult, Error> {
    let Posted { turn, mut reader } = post(&call, params).await?;
    let mut collector = Collector::new(turn);
    loop {
        let events = reader.next().await.map_err(|why| stream::lost(why, None))?;
        for event in events {
            if let Some(result) = collector.collect(&event) {
                return Ok(result);
            }
        }
    }
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
    Ok(rows.iter().map(AgentMessage::from).collect())
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
        items: rows.iter().map(SessionInfo::from).collect(),
        total_count,
    })
}

async fn update_session(call: Call, params: UpdateSessionParams) -> Result<SessionInfo, Error> {
    let (session, action) = params.into_action();
    submit(&call, &session, action).await?;
    let row = call.engine().await?.session(&session).await?;
    Ok(SessionInfo::from(&row))
}

async fn delete_session(call: Call, params: SessionParams) -> Result<(), Error> {
    submit(&call, &params.session_id, Action::Close)
        .await
        .map(drop)
}

async fn cancel(call: Call, params: CancelParams) -> Result<CancelResult, Error> {
    let (session, action) = params.into_action();
    let accepted = submit(&call, &session, action).await?;
    Ok(CancelResult {
        cancelled: accepted == Accepted::Cancelled { stopped: true },
    })
}

async fn undo(call: Call, params: SessionParams) -> Result<UndoResult, Error> {
    match submit(&call, &params.session_id, Action::Undo).await? {
        Accepted::Undone { turn, text } => Ok(UndoResult {
            turn_id: turn,
            content: text,
            note: locale::turn::undone().into(),
        }),
        Accepted::Opened
        | Accepted::Posted { .. }
        | Accepted::Changed
        | Accepted::Continued
        | Accepted::Settled
        | Accepted::Cancelled { .. }
        | Accepted::Closed => Err(Error::new(Code::Internal, locale::turn::broken())),
    }
}

async fn list_tools(call: Call, _params: NoParams) -> Result<Vec<ToolDefinition>, Error> {
    let specs = call.engine().await?.toolbox().specs();
    Ok(specs
        .iter()
        .map(|spec| ToolDefinition::from(spec.as_ref()))
        .collect())
}

async fn get_stats(call: Call, _params: NoParams) -> Result<Stats, Error> {
    call.engine().await?.totals().await.map(Stats::from)
}

async fn submit(call: &Call, session: &SessionId, action: Action) -> Result<Accepted, Error> {
    let command = Command {
        by: call.by.sender.clone(),
        session: session.clone(),
        action,
    };
    call.engine().await?.submit(command).await
}
