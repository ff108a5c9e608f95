//! `samovar chat-global tail`: shows messages as they come, across server restarts.

use std::time::Duration;

use futures_util::StreamExt;
use samovar_core::Code;
use samovar_locale as text;
use samovar_wire::chat::{BASE_PATH, BOOT_HEADER, Truncated};
use tokio::time::Instant;

use super::display::Display;
use super::{server, state};
use crate::access::running;
use crate::client::{Client, Frame, Frames, cut, segment};
use crate::config::Setup;
use crate::exit::{Exit, Failure, ServerLoss};
use crate::output::Format;
use crate::screen::{Reader, put, say};
use crate::stop::Stop;

/// How often a server is looked for that went away.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How long nothing may be said before it is looked who waits for the person.
const CALM: Duration = Duration::from_millis(150);

/// Where the chat is read.
struct Tail {
    shown: Display,
    /// The last message that was shown.
    at: Option<u64>,
    /// The run of the chat that it is of.
    boot: Option<String>,
    /// When to look who waits for the person.
    look_at: Option<Instant>,
}

/// Shows the newest messages and then what is said, until somebody stops it or nobody reads it.
pub(super) async fn tail(
    found: &Setup,
    after: Option<u64>,
    format: Format,
) -> Result<Exit, Failure> {
    let mut stop = Stop::listen()?;
    let mut tail = Tail {
        shown: Display::new(format),
        at: after,
        boot: None,
        look_at: None,
    };
    tokio::select! {
        end = tail.read_on(found) => end.map(|()| Exit::Ok),
        () = stop.asked() => Ok(Exit::Interrupted),
    }
}

impl Tail {
    /// Reads one server after the other.
    async fn read_on(&mut self, found: &Setup) -> Result<(), Failure> {
        let mut client = server(found).await?;
        let mut is_lost = false;
        loop {
            let lost = match self.open(&client).await {
                Ok(frames) => {
                    is_lost = false;
                    match self.read(&client, frames).await {
                        Ok(()) => return Ok(()),
                        Err(lost) => lost,
                    }
                }
                Err(failure) if failure.code == Code::ChatRestarted.as_str() => {
                    self.begin_anew();
                    continue;
                }
                Err(failure) => failure,
            };
            if lost.gone == ServerLoss::No {
                return Err(lost);
            }
            if !std::mem::replace(&mut is_lost, true) {
                say(text::global_chat::lost());
            }
            client = loop {
                tokio::time::sleep(LOOK_AGAIN).await;
                if let Some(client) = running(&found.config).await {
                    break client;
                }
            };
        }
    }

    async fn open(&mut self, client: &Client) -> Result<Frames, Failure> {
        let mut query = Vec::new();
        query.extend(self.at.map(|at| format!("after={at}")));
        let boot = self.boot.as_ref();
        query.extend(boot.map(|boot| format!("boot={}", segment(boot))));
        let path = format!("{BASE_PATH}/stream?{}", query.join("&"));
        let (headers, frames) = client.stream(&path).await?;
        let boot = headers.get(BOOT_HEADER).and_then(|boot| boot.to_str().ok());
        self.boot = boot.map(str::to_owned);
        self.look();
        Ok(frames)
    }

    /// Shows what comes. It ends well when nobody reads it any more.
    async fn read(&mut self, client: &Client, mut frames: Frames) -> Result<(), Failure> {
        loop {
            tokio::select! {
                frame = frames.next() => {
                    let frame = frame.unwrap_or_else(|| Err(cut()))?;
                    if self.take(&frame)? == Reader::Gone {
                        return Ok(());
                    }
                }
                () = calm(self.look_at) => {
                    self.look_at = None;
                    // Who cannot know says nothing.
                    if let Ok(state) = state(client).await {
                        self.shown.take_state(&state);
                        self.shown.say_question();
                    }
                }
            }
        }
    }

    fn take(&mut self, frame: &Frame) -> Result<Reader, Failure> {
        let broken = |error| Failure::broken(&error);
        match (frame.event.as_deref(), &frame.id) {
            (None | Some("message"), Some(id)) => {
                self.at = id.parse().ok().or(self.at);
                self.look();
                let message = serde_json::from_str(&frame.data).map_err(broken)?;
                put(&self.shown.line(&message)?)
            }
            (Some("truncated"), _) => {
                let gone: Truncated = serde_json::from_str(&frame.data).map_err(broken)?;
                say(&text::global_chat::truncated(gone.first));
                Ok(Reader::There)
            }
            (Some("restarted"), _) => {
                self.begin_anew();
                Ok(Reader::There)
            }
            _ => {
                tracing::debug!(data = frame.data, "what is not known is passed over");
                Ok(Reader::There)
            }
        }
    }

    /// Another run of the chat: it is shown from its start.
    fn begin_anew(&mut self) {
        say(text::global_chat::began_anew());
        self.shown.forget();
        self.at = Some(0);
        self.boot = None;
    }

    fn look(&mut self) {
        self.look_at = Some(Instant::now() + CALM);
    }
}

/// Waits until it is time; forever where there is none.
async fn calm(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}
