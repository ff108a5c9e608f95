//! The front door of the AI SDK: what `useChat` posts and reads (06).

mod reading;

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Response};
use samovar_core::approval::Answer;
use samovar_core::history::{MessageQuery, MessageRow, TurnQuery};
use samovar_core::{Accepted, Action, CallId, Code, Error, Outcome, Role, SessionId, TurnId};
use samovar_engine::Engine;
use samovar_locale as locale;
use samovar_wire::agent::{
    Attachment, CancelParams, CancelResult, CreateSessionParams, MAX_ATTACHMENTS_BYTES,
    SendMessageParams,
};
use samovar_wire::params;
use samovar_wire::ui::{
    ApprovalResponse, BASE_PATH, CODE_HEADER, ClientAnswers, MAX_POST_BYTES, PostBody, Posted,
    STREAM_HEADER, UiChunk, UiMessagesParams, UiPost, UiResumeParams, UiState, UiStreamParams,
    UiView, ui_messages,
};
use serde_json::{Value, json};

use crate::api::{check_result, check_words};
use crate::door::check_scope;
use crate::endpoint;
use crate::reply::{Refused, fitting};
use crate::stream::{self, Liveliness};
use crate::tokens::Scope;

use reading::Place;

/// The most characters of a call's outcome that a refusal repeats.
const MAX_SAID_CHARS: usize = 200;

type Call = endpoint::Call<()>;
type Endpoint = endpoint::Endpoint<()>;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}{path}");
    let routes = vec![
        Endpoint::streaming_bytes::<PostBody<'_>, UiChunk<'_>, _>(
            at(""),
            "Takes the last message of a client of the AI SDK, and streams what follows.",
            post,
        )
        .with_longer_bodies(MAX_POST_BYTES, UiPost::longer_bytes_in)
        .with_kept_body(MAX_ATTACHMENTS_BYTES)
        .with_scope(Scope::Read),
        Endpoint::following::<_, UiChunk<'_>, _>(
            at("/{id}/stream"),
            "Streams the running turn from its start; answers 204 if none runs.",
            resume,
        )
        .with_tickets(),
        Endpoint::changing(
            at("/{id}/stop"),
            "Stops the running turn, and returns whether one was stopped.",
            stop,
        ),
        Endpoint::showing(
            at("/{id}/messages"),
            "Returns the last messages as messages of the AI SDK, oldest first.",
            messages,
        ),
    ];
    let routes = routes.into_iter();
    routes.map(|row| row.answered_with(in_words)).collect()
}

/// A refusal as a readable sentence, which clients show unchanged (UI-2).
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the table calls it so")]
pub(crate) fn in_words(_: &(), response: &mut Response<Body>) {
    let Some(Refused { why, code }) = response.extensions_mut().remove() else {
        return;
    };
    *response.body_mut() = Body::from(why);
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    let name = HeaderName::from_static(CODE_HEADER);
    let code = HeaderValue::from_static(code.as_str());
    response.headers_mut().insert(name, code);
}

/// What the query and the header say of the stream; the query takes precedence.
fn view(call: &Call) -> Result<UiView, Error> {
    let asked: UiStreamParams = params::from_query(call.query.clone())?;
    UiView::new(asked, call.view.as_deref())
}

async fn post(mut call: Call) -> Result<Response<Body>, Error> {
    let view = view(&call)?;
    call.begin().await;
    let body = std::mem::take(&mut call.body);
    let read = move || UiPost::read(&body);
    let read = tokio::task::spawn_blocking(read).await;
    let post = read.unwrap_or_else(|error| {
        tracing::error!(%error, "a post was not read");
        Err(Error::new(Code::Internal, locale::message::not_taken()))
    })?;
    let engine = call.engine().await?;
    let _here = engine.attend();
    let session = post.session;
    // Who may approve may answer, and nothing else.
    if !matches!(post.posted, Posted::Answers(_)) {
        check_scope(&call.by, Scope::Use)?;
    }
    let place = match post.posted {
        Posted::Message(params) => say(&call, &session, post.opening, *params).await?,
        Posted::Edit(params) => rewrite(&call, &session, *params).await?,
        Posted::Regenerate(mut params) => {
            restore(&engine, &session, &mut params).await?;
            rewrite(&call, &session, *params).await?
        }
        Posted::Answers(said) => answer(&call, &session, said).await?,
    };
    Ok(shown(&call, view, place))
}

/// Says something, in a session that may have to be opened.
async fn say(
    call: &Call,
    session: &SessionId,
    opening: CreateSessionParams,
    params: SendMessageParams,
) -> Result<Place, Error> {
    let engine = call.engine().await?;
    let action = into_action(params).await?;
    if let Err(error) = engine.session(session).await {
        if error.code != Code::UnknownSession {
            return Err(error);
        }
        let (_, open) = opening.into_action();
        call.submit(session, open).await?;
    }
    let Accepted::Posted { turn, after, .. } = call.submit(session, action).await? else {
        return Err(not_taken());
    };
    reading::posted(&engine, session, turn, after).await
}

/// Replaces a stored message and what followed it (UI-14).
async fn rewrite(
    call: &Call,
    session: &SessionId,
    params: SendMessageParams,
) -> Result<Place, Error> {
    let engine = call.engine().await?;
    let Action::Post(post) = into_action(params).await? else {
        return Err(not_taken());
    };
    let rewritten = engine.rewrite(call.by.sender.clone(), session, post);
    let Accepted::Posted { turn, after, .. } = rewritten.await? else {
        return Err(not_taken());
    };
    reading::posted(&engine, session, turn, after).await
}

/// Puts what is stored in place of what a client has of it.
async fn restore(
    engine: &Engine,
    session: &SessionId,
    params: &mut SendMessageParams,
) -> Result<(), Error> {
    let said = engine.said(session, params.message_id.as_ref()).await?;
    params.content = said.text();
    params.attachments.clear();
    for blob in said.blobs() {
        let bytes = engine.blobs().read(blob).await.map_err(|broken| {
            tracing::error!(%broken, "an image cannot be read");
            Error::new(Code::Internal, locale::store::broke())
        })?;
        // One that is gone is missing here, too.
        params
            .attachments
            .extend(bytes.as_deref().map(Attachment::of));
    }
    Ok(())
}

fn not_taken() -> Error {
    Error::new(Code::Internal, locale::message::not_taken())
}

/// The action of a message; images are read on a thread of their own.
async fn into_action(params: SendMessageParams) -> Result<Action, Error> {
    let read = tokio::task::spawn_blocking(|| params.into_action()).await;
    let (_, action) = read.map_err(|_| not_taken())??;
    Ok(action)
}

/// What is open in a session of what a client answers.
struct Answered {
    decisions: Vec<(ApprovalResponse, Answer)>,
    outcomes: Vec<(CallId, Outcome)>,
}

/// Finds what a client may answer, and checks all of it before any of it counts.
async fn answered(
    call: &Call,
    session: &SessionId,
    said: ClientAnswers,
) -> Result<Answered, Error> {
    let open = call.engine().await?.open_calls().await?;
    let mut open = open;
    open.retain(|open| open.session == *session);
    let by = call.by.sender.name();
    let mut found = Answered {
        decisions: Vec::new(),
        outcomes: Vec::new(),
    };
    for said in said.approvals {
        let mut asked = open.iter().filter_map(|open| open.asked.as_ref());
        if asked.any(|asked| asked.id == said.id) {
            check_scope(&call.by, Scope::Approve)?;
            check_words(said.reason.as_deref())?;
            let answer = said.answer(by);
            found.decisions.push((said, answer));
        }
    }
    for said in said.outputs {
        let mut open = open.iter().filter(|open| open.asked.is_none());
        if open.any(|open| open.call.id == said.call) {
            check_scope(&call.by, Scope::Use)?;
            let outcome = said.outcome()?;
            check_result(&outcome)?;
            found.outcomes.push((said.call, outcome));
        }
    }
    Ok(found)
}

/// Takes what a client answers to calls that wait for it. The first answer counts.
async fn answer(call: &Call, session: &SessionId, said: ClientAnswers) -> Result<Place, Error> {
    let engine = call.engine().await?;
    let last = said.approvals.last().map(|said| said.id.clone());
    let last_output = said.outputs.last().map(|said| said.call.clone());
    let Answered {
        decisions,
        outcomes,
    } = answered(call, session, said).await?;
    if decisions.is_empty() && outcomes.is_empty() {
        // It says who was first, where that is known.
        return Err(match (last, last_output) {
            (Some(approval), _) => engine.decided(&approval),
            (None, last) => late(&engine, session, last).await?,
        });
    }
    let by = &call.by.sender;
    let before = reading::latest(&engine, session).await?;
    let mut refused = None;
    let mut taken = 0;
    for (said, answer) in decisions {
        match engine.decide(by.clone(), said.id, answer).await {
            Ok(_) => taken += 1,
            Err(error) => refused = Some(error),
        }
    }
    for (id, outcome) in outcomes {
        match engine.settle(by.clone(), id, outcome).await {
            Ok(()) => taken += 1,
            Err(error) => refused = Some(error),
        }
    }
    if let (0, Some(error)) = (taken, refused) {
        return Err(error);
    }
    let gone = || Error::new(Code::UnknownTurn, locale::turn::events_gone());
    let before = before.ok_or_else(gone)?;
    let now = reading::latest(&engine, session).await?.ok_or_else(gone)?;
    Ok(now.behind(before.settled()))
}

/// Why nothing waits for an output: what became of its call.
async fn late(engine: &Engine, session: &SessionId, last: Option<CallId>) -> Result<Error, Error> {
    let unknown = |why| Error::new(Code::UnknownCall, why);
    let Some(call) = last else {
        return Ok(unknown(locale::ui::nothing_open().to_owned()));
    };
    let shown = locale::quoted(call.as_str());
    Ok(unknown(match engine.outcome(session, &call).await? {
        Some(outcome) => {
            let said: String = outcome.text.chars().take(MAX_SAID_CHARS).collect();
            let status = json!(outcome.status);
            let status = status.as_str().unwrap_or_default();
            locale::ui::call_answered(shown, status, locale::quoted(&said))
        }
        None => locale::ui::no_such_call(shown),
    }))
}

async fn resume(call: Call, params: UiResumeParams) -> Result<Response<Body>, Error> {
    let view = UiView::new(params.view(), call.view.as_deref())?;
    let engine = call.engine().await?;
    let place = running(&engine, &params.id, view).await?;
    Ok(place.map_or_else(stream::nothing_more, |place| shown(&call, view, place)))
}

/// The turn that runs and does not wait for the client.
async fn running(
    engine: &Engine,
    session: &SessionId,
    view: UiView,
) -> Result<Option<Place>, Error> {
    let place = match reading::latest(engine, session).await {
        Err(error) if error.code == Code::UnknownSession => return Ok(None),
        place => place?,
    };
    let Some(place) = place.filter(Place::is_running) else {
        return Ok(None);
    };
    if place.waits_for_client(view).await? {
        return Ok(None);
    }
    // What was read is read again, for the client.
    reading::latest(engine, session).await
}

fn shown(call: &Call, view: UiView, place: Place) -> Response<Body> {
    let (encoder, reader) = place.encoder(view);
    let mut response = stream::response(encoder, reader, Liveliness::of(call));
    let (name, value) = STREAM_HEADER;
    let (name, value) = (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    );
    response.headers_mut().insert(name, value);
    response
}

async fn stop(call: Call, _params: Value) -> Result<CancelResult, Error> {
    let id = json!({"sessionId": call.segment("id")});
    let params: CancelParams = params::from_body(id.to_string().as_bytes())?;
    let (session, action) = params.into_action();
    let accepted = call.submit(&session, action).await?;
    Ok(CancelResult {
        cancelled: accepted == Accepted::Cancelled { stopped: true },
    })
}

/// An answer that runs is left out: the resume brings it (UI-12).
async fn messages(call: Call, params: UiMessagesParams) -> Result<Vec<Value>, Error> {
    let engine = call.engine().await?;
    let session = params.id.clone();
    let limit = MessageQuery::from(params.clone()).limit;
    let asked_view = UiStreamParams {
        protocol: params.protocol,
        subagents: None,
    };
    let view = UiView::new(asked_view, call.view.as_deref())?;
    let running = running(&engine, &session, view).await?;
    let rows = match stored(&engine, params).await {
        Err(error) if error.code == Code::UnknownSession => return Ok(Vec::new()),
        rows => rows?,
    };
    let rows = whole_turns(rows, limit);
    let among: BTreeSet<_> = rows.iter().filter_map(|row| row.turn.clone()).collect();
    let turns = TurnQuery {
        session: Some(session.clone()),
        limit: u32::MAX,
        unfinished: false,
        among: among.into_iter().collect(),
    };
    let asked = engine.open_calls().await?.into_iter();
    let asked = asked.filter(|open| open.session == session);
    let asked = asked.filter_map(|open| Some((open.call.id, open.asked?.id.clone())));
    let state = UiState {
        running: running.as_ref().map(Place::turn),
        asked: asked.collect(),
        turns: if turns.among.is_empty() {
            Vec::new()
        } else {
            engine.turns(turns).await?
        },
    };
    let mut messages = ui_messages(&rows, state, view.protocol);
    messages.reverse();
    let mut messages = fitting(messages.into_iter());
    messages.reverse();
    Ok(messages)
}

/// The messages that were asked for. The message of a turn, which has the turn's id, stands where its
/// answer begins.
async fn stored(engine: &Engine, params: UiMessagesParams) -> Result<Vec<MessageRow>, Error> {
    let mut query = MessageQuery::from(params);
    let turn = query.before.as_ref();
    let turn = turn.and_then(|before| TurnId::new(before.as_str()).ok());
    if let Some(turn) = turn
        && let Some(begins) = engine.answer_begins(&query.session, turn).await?
    {
        query.before = Some(begins);
    }
    engine.messages(query).await
}

/// A page that may begin inside a turn begins with what a person said, if it has that.
fn whole_turns(mut rows: Vec<MessageRow>, limit: u32) -> Vec<MessageRow> {
    let is_said = |row: &MessageRow| row.message.role == Role::User && row.agent.depth() == 0;
    if rows.len() >= limit as usize
        && let Some(first) = rows.iter().position(is_said)
    {
        rows.drain(..first);
    }
    rows
}
