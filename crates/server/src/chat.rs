//! The global chat's methods (CH-4 to CH-8): the person's door to it, and what shows it.

mod feed;
mod socket;

use std::convert::Infallible;
use std::sync::Arc;
use std::vec::IntoIter;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, header};
use bytes::Bytes;
use samovar_chat::{Chat, Voice};
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::chat::{
    BASE_PATH, BOOT_HEADER, ChatMessage, ChatStateInfo, ChatStream, HistoryParams, LAST_EVENT_ID,
    NEWEST, PostedMessage, StreamParams, Streamed, TRUNCATED_HEADER, UserMessageParams,
};
use serde_json::json;

use crate::endpoint;
use crate::stream::{self, Liveliness};
use crate::tokens::Scope;
use feed::Feed;

type Call = endpoint::Call<Chat>;
type Endpoint = endpoint::Endpoint<Chat>;

/// Bytes that are written at once, about.
const ARRAY_BYTES: usize = 64 * 1024;

/// Bytes that a reader over a WebSocket may say at once, who has nothing to say.
const MAX_HEARD_BYTES: usize = 4 * 1024;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = |method: &str| format!("{BASE_PATH}/{method}");
    let routes = [
        Endpoint::showing(
            at("state"),
            "Returns the question of the global chat that waits for the person.",
            state,
        ),
        Endpoint::following::<_, Vec<ChatMessage<'_>>, _>(
            at("history"),
            "Returns messages of the global chat, oldest first.",
            read,
        ),
        Endpoint::changing(
            at("user_message"),
            "Sends a message to the global chat, as the person.",
            user_message,
        ),
        Endpoint::following::<_, Streamed<'_>, _>(
            at("stream"),
            "Streams the messages of the global chat, also over a WebSocket.",
            follow,
        )
        .with_tickets(),
    ];
    routes.map(|route| route.answered_with(name_boot)).into()
}

/// Which run of the chat has answered (CH-5).
fn name_boot(chat: &Chat, response: &mut Response<Body>) {
    if let Ok(boot) = HeaderValue::from_str(chat.boot()) {
        let name = HeaderName::from_static(BOOT_HEADER);
        response.headers_mut().insert(name, boot);
    }
}

async fn state(call: Call, _params: NoParams) -> Result<ChatStateInfo, Error> {
    let chat = &call.state;
    let state = chat.state();
    Ok(ChatStateInfo {
        pending_input: state.pending_input,
        waiting: state.waiting as u64,
        boot_id: chat.boot().to_owned(),
    })
}

async fn user_message(call: Call, params: UserMessageParams) -> Result<PostedMessage, Error> {
    // What a turn of an earlier run has asked is asked again once the engine is there.
    call.engine().await?;
    let voice = Voice {
        name: call.by.sender.name().to_owned(),
        approves: call.by.scope.covers(Scope::Approve),
    };
    check_boot(&call.state, params.boot.as_deref())?;
    let said = call
        .state
        .post_user_as(&params.text, &voice, params.reply_to);
    let id = said.await?;
    Ok(PostedMessage { id })
}

async fn read(call: Call, params: HistoryParams) -> Result<Response<Body>, Error> {
    let chat = &call.state;
    check_boot(chat, params.boot.as_deref())?;
    let limit = params.limit.map(|limit| limit.get() as usize);
    let page = match params.after {
        Some(after) => chat.read(after, limit.unwrap_or(usize::MAX)),
        None => chat.last(limit.unwrap_or(NEWEST as usize)),
    };
    let first = page.is_truncated.then_some(page.first);
    let mut response = array(page.messages);
    if let Some(first) = first {
        let name = HeaderName::from_static(TRUNCATED_HEADER);
        response.headers_mut().insert(name, first.into());
    }
    Ok(response)
}

async fn follow(call: Call, params: StreamParams) -> Result<Response<Body>, Error> {
    let chat = &call.state;
    let boot = params.boot.as_deref();
    check_boot(chat, boot)?;
    let header = call.last_event_id.as_deref();
    let position = params.position(header)?;
    let feed = match position {
        None => Feed::newest(chat),
        Some(after) if after <= head(chat) => Feed::behind(chat, after),
        // It was read in an earlier run, by a reader that does not say so.
        Some(_) if boot.is_none() => Feed::anew(chat),
        Some(after) => {
            let parameter = header.map_or("after", |_| LAST_EVENT_ID);
            return Err(not_said_yet(parameter, after, head(chat)));
        }
    };
    let liveliness = Liveliness::of(&call);
    match call.upgrade {
        Some(upgrade) => upgrade.accept(MAX_HEARD_BYTES, |line| socket::show(line, feed)),
        None => Ok(stream::response(ChatStream::default(), feed, liveliness)),
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

/// Messages as one array, which is written piece by piece: all of a chat can be longer than what may
/// be held for a client that takes nothing (DU-8).
fn array(messages: Vec<Arc<samovar_core::ChatMessage>>) -> Response<Body> {
    let mut array = Array {
        left: messages.into_iter(),
        before: b"[",
        is_over: false,
    };
    let chunks = std::iter::from_fn(move || array.chunk());
    let chunks = futures_util::stream::iter(chunks.map(Ok::<_, Infallible>));
    let mut response = Response::new(Body::from_stream(chunks));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

struct Array {
    left: IntoIter<Arc<samovar_core::ChatMessage>>,
    /// What stands before the next message.
    before: &'static [u8],
    is_over: bool,
}

impl Array {
    fn chunk(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let mut out = Vec::new();
        while out.len() < ARRAY_BYTES {
            let Some(message) = self.left.next() else {
                let opened = if self.before == b"[" {
                    b"[]".as_slice()
                } else {
                    b"]"
                };
                out.extend_from_slice(opened);
                self.is_over = true;
                break;
            };
            out.extend_from_slice(self.before);
            self.before = b",";
            samovar_wire::chat::json(&message, &mut out);
        }
        Some(Bytes::from(out))
    }
}
