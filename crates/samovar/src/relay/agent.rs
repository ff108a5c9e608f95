//! `samovar relay agent`: an agent of ours in a room, in this very process, which says what it does.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samovar_core::relay::{Envelope, MessageKind, Payload};
use samovar_core::{Future, Models};
use samovar_locale as text;
use samovar_relay::{Connector, Disconnect, Link};
use samovar_server::{Token, memory_engine, models, relay_agent};

use super::socket::{Closed, Endpoint, Socket};
use crate::args::Join;
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::model;
use crate::screen::{beginning, put, say, visible};
use crate::stop::Stop;

/// How long a turn that runs gets to end.
const DRAIN: Duration = Duration::from_secs(5);

/// Bytes of a file with a token, at most.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Characters of a call's parameters, or of what a person says, that are shown.
const SHOWN: usize = 160;

/// Joins a room and works for the person there, until somebody stops it.
pub(super) async fn agent(join: Join) -> Result<Exit, Failure> {
    let found = config::read(&join.places, &join.who, LocalData::UseOnly)?;
    found.say_foreign();
    found.warn();
    let place = place(&join, &found)?;
    if let (Some(name), true) = (found.registry.asked(), found.model_from.is_somebody()) {
        found.registry.find(name).await?;
    }
    let mut stop = Stop::listen()?;
    let room = join.room.name;
    let first = tokio::select! {
        opened = place.open() => opened.map_err(|closed| unwelcome(&place, &closed))?,
        () = stop.asked() => return Ok(Exit::Ok),
    };
    let chosen = models::choice(&found.registry).await?;
    say(&model::line(&chosen, &found));
    let way = AnnouncedLink {
        place,
        first: Mutex::new(Some(first)),
        room: room.clone(),
    };
    let engine = memory_engine(found.registry.clone(), found.config.settings.clone()).await?;
    let agent = relay_agent(room, Box::new(way), None, engine);
    stop.asked().await;
    say(text::relay_cli::leaving());
    tokio::select! {
        () = agent.shutdown(DRAIN) => {}
        () = stop.asked_or_alone() => {}
    }
    Ok(Exit::Ok)
}

/// Where the relay is.
fn place(join: &Join, found: &Setup) -> Result<Endpoint, Failure> {
    let (Some(url), Some(file)) = (&join.url, &join.token_file) else {
        return Ok(Endpoint::Ours(found.config.data_dir.clone()));
    };
    Endpoint::foreign(url, token(file)?).map_err(Failure::usage)
}

/// The token in a file.
fn token(file: &Path) -> Result<Token, Failure> {
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::usage(text::relay_cli::token_file_unusable(file.display(), why))
    };
    let meta = std::fs::metadata(file).map_err(|error| unusable(&error))?;
    if !meta.is_file() || meta.len() > MAX_TOKEN_BYTES {
        return Err(unusable(&text::relay_cli::no_token_file()));
    }
    let read = std::fs::read_to_string(file).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => unusable(&text::relay_cli::no_token_file()),
        _ => unusable(&error),
    })?;
    Token::new(read.trim()).ok_or_else(|| unusable(&text::relay_cli::no_token_file()))
}

/// Why nobody could join at all.
fn unwelcome(place: &Endpoint, closed: &Closed) -> Failure {
    if let (Endpoint::Ours(data_dir), Closed::Unreachable(_)) = (place, closed) {
        let why = text::relay_cli::no_server(data_dir.display());
        return Failure::new(Exit::Busy, "server_unreachable", why);
    }
    let (exit, code) = match closed {
        Closed::Unreachable(_) => (Exit::Busy, "server_unreachable"),
        Closed::Refused(401) => (Exit::Usage, "unauthorized"),
        Closed::Refused(403) => (Exit::Usage, "forbidden"),
        Closed::Refused(_) => (Exit::Busy, "relay_refused"),
    };
    Failure::new(exit, code, text::relay_cli::unwelcome(closed))
}

/// A way to the relay on which is told what is said there.
struct AnnouncedLink {
    place: Endpoint,
    /// The socket that was opened to see whether it is there.
    first: Mutex<Option<Socket>>,
    room: String,
}

impl Connector for AnnouncedLink {
    fn open(&self) -> Future<'static, Result<Box<dyn Link>, String>> {
        let first = self
            .first
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let (place, room) = (self.place.clone(), self.room.clone());
        Box::pin(async move {
            let socket = match first {
                Some(socket) => socket,
                None => place.open().await.map_err(|closed| closed.to_string())?,
            };
            Ok(Box::new(PrintedLink { socket, room }) as Box<dyn Link>)
        })
    }
}

struct PrintedLink {
    socket: Socket,
    room: String,
}

impl Link for PrintedLink {
    fn say(&mut self, envelope: Envelope) -> Future<'_, Result<(), Disconnect>> {
        tell_said(&envelope);
        self.socket.say(envelope)
    }

    fn next(&mut self) -> Future<'_, Result<Arc<Envelope>, Disconnect>> {
        Box::pin(async move {
            let heard = self.socket.next().await;
            match &heard {
                Ok(envelope) => tell_heard(envelope, &self.room),
                Err(why) => say(&text::relay_cli::lost(why)),
            }
            heard
        })
    }
}

/// Says what the agent does. Its own words are what there is on stdout.
fn tell_said(envelope: &Envelope) {
    let payload = &envelope.payload;
    match envelope.kind {
        MessageKind::ToolCall => {
            let params = payload.get("params").map(ToString::to_string);
            let params = beginning(&params.unwrap_or_default(), SHOWN);
            let reason = beginning(word(payload, "reason"), SHOWN);
            say(&text::relay_cli::calls(
                word(payload, "toolName"),
                params,
                reason,
            ));
        }
        MessageKind::AgentMessage => {
            // Who closed the pipe does not read what it says, and the person in the room does.
            let _nobody_reads = put(&(visible(word(payload, "text")) + "\n"));
        }
        MessageKind::RelayJoin
        | MessageKind::SessionStart
        | MessageKind::SnapshotGet
        | MessageKind::SessionEnd
        | MessageKind::RelayJoined
        | MessageKind::SessionStarted
        | MessageKind::SnapshotState
        | MessageKind::ToolResult
        | MessageKind::StateUpdated
        | MessageKind::UserMessage
        | MessageKind::SessionEnded
        | MessageKind::Error => {}
    }
}

/// Says what was heard.
fn tell_heard(envelope: &Envelope, room: &str) {
    let payload = &envelope.payload;
    match envelope.kind {
        MessageKind::RelayJoined => say(&text::relay_cli::joined(room)),
        MessageKind::SessionStarted => {
            say(&text::relay_cli::study_begun(word(payload, "sessionId")));
        }
        MessageKind::SessionEnded => say(&text::relay_cli::study_ended(word(payload, "sessionId"))),
        MessageKind::UserMessage => {
            say(&text::relay_cli::person_says(beginning(
                word(payload, "text"),
                SHOWN,
            )));
        }
        MessageKind::Error => {
            let message = beginning(word(payload, "message"), SHOWN);
            say(&text::relay_cli::told_no(word(payload, "code"), message));
        }
        MessageKind::RelayJoin
        | MessageKind::SessionStart
        | MessageKind::SnapshotGet
        | MessageKind::SnapshotState
        | MessageKind::ToolCall
        | MessageKind::ToolResult
        | MessageKind::StateUpdated
        | MessageKind::AgentMessage
        | MessageKind::SessionEnd => {}
    }
}

fn word<'a>(payload: &'a Payload, name: &str) -> &'a str {
    payload
        .get(name)
        .and_then(|value| value.as_str())
        .unwrap_or_default()
}
