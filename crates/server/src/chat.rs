//! The global chat's methods (CH-4 to CH-8): the person's door to it, and what shows it.

mod feed;
mod history;
mod socket;
mod stream;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response};
use samovar_chat::Chat;
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::chat::{
    BASE_PATH, BOOT_HEADER, ChatMessage, ChatStateInfo, HistoryParams, LAST_EVENT_ID, NEWEST,
    PostedMessage, StreamParams, Streamed, TRUNCATED_HEADER, UserMessageParams,
};
use serde_json::json;

use crate::endpoint::{Call, Route, Scope, Verb};
use crate::home::Shared;
use feed::Feed;

/// Bytes that a reader over a WebSocket may say at once, who has nothing to say.
const MAX_HEARD_BYTES: usize = 4 * 1024;

pub(crate) fn routes() -> Vec<Route> {
    let at = |method: &str| format!("{BASE_PATH}/{method}");
    let routes = [
        Route::answering(
            &[Verb::Get],
            Scope::Read,
            at("state"),
            "Returns the question of the global chat that waits for the person.",
            state,
        ),
        Route::following::<_, Vec<ChatMessage<'_>>, _>(
            at("history"),
            "Returns messages of the global chat, oldest first.",
            read,
        ),
        Route::changing(
            at("user_message"),
            "Sends a message to the global chat, as the person.",
            user_message,
        ),
        Route::following::<_, Streamed<'_>, _>(
            at("stream"),
            "Streams the messages of the global chat, also over a WebSocket.",
            follow,
        )
        .with_tickets(),
    ];
    routes.map(|route| route.answered_with(name_boot)).into()
}

/// Which run of the chat has answered (CH-5).
fn name_boot(shared: &Shared, response: &mut Response<Body>) {
    if let Ok(boot) = HeaderValue::from_str(shared.chatting.chat.boot()) {
        let name = HeaderName::from_static(BOOT_HEADER);
        response.headers_mut().insert(name, boot);
    }
}

fn chat(call: &Call) -> Chat {
    call.shared.chatting.chat.clone()
}

async fn state(call: Call, _params: NoParams) -> Result<ChatStateInfo, Error> {
    let chat = chat(&call);
    let state = chat.state();
    Ok(ChatStateInfo {
        pending_input: state.pending_input.map(Into::into),
        waiting: state.waiting as u64,
        boot_id: chat.boot().to_owned(),
    })
}

async fn user_message(call: Call, params: UserMessageParams) -> Result<PostedMessage, Error> {
    // What a turn of an earlier run has asked is asked again once the engine is there.
    call.engine().await?;
    let id = chat(&call).post_user(&params.text).await?;
    Ok(PostedMessage { id })
}

async fn read(call: Call, params: HistoryParams) -> Result<Response<Body>, Error> {
    let chat = chat(&call);
    check_boot(&chat, params.boot.as_deref())?;
    let limit = params.limit.map(|limit| limit.get() as usize);
    let page = match params.after {
        Some(after) => chat.read(after, limit.unwrap_or(usize::MAX)),
        None => chat.last(limit.unwrap_or(NEWEST as usize)),
    };
    let first = page.is_truncated.then_some(page.first);
    let mut response = history::array(page.messages);
    if let Some(first) = first {
        let name = HeaderName::from_static(TRUNCATED_HEADER);
        response.headers_mut().insert(name, first.into());
    }
    Ok(response)
}

async fn follow(call: Call, params: StreamParams) -> Result<Response<Body>, Error> {
    let chat = chat(&call);
    let boot = params.boot.as_deref();
    check_boot(&chat, boot)?;
    let header = call.last_event_id.as_deref();
    let position = params.position(header)?;
    let feed = match position {
        None => Feed::newest(&chat),
        Some(after) if after <= head(&chat) => Feed::behind(&chat, after),
        // It was read in an earlier run, by a reader that does not say so.
        Some(_) if boot.is_none() => Feed::anew(&chat),
        Some(after) => {
            let parameter = header.map_or("after", |_| LAST_EVENT_ID);
            return Err(not_said_yet(parameter, after, head(&chat)));
        }
    };
    match call.upgrade {
        Some(upgrade) => upgrade.accept(MAX_HEARD_BYTES, |line| socket::show(line, feed)),
        None => Ok(stream::show(feed, call.shared.ping_every, call.stalled)),
    }
}

fn head(chat: &Chat) -> u64 {
    chat.last(0).head
}

/// Refuses who speaks of another run (CH-5): its ids mean nothing here, and who waits for what follows
/// them would wait in vain.
fn check_boot(chat: &Chat, given: Option<&str>) -> Result<(), Error> {
    let ours = chat.boot();
    match given {
        Some(boot) if boot != ours => {
            let why = locale::global_chat::restarted(locale::quoted(boot), ours);
            let details = json!({ "boot_id": ours });
            Err(Error::new(Code::ChatRestarted, why).with_details(details))
        }
        Some(_) | None => Ok(()),
    }
}

fn not_said_yet(parameter: &str, after: u64, head: u64) -> Error {
    let why = locale::global_chat::not_said_yet(after, head);
    Error::new(Code::InvalidParams, why).with_details(json!({ "parameter": parameter }))
}
