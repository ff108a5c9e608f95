//! The chat over a WebSocket (CH-7): each message of it is one of the socket. Whoever reads it there
//! has nothing to say; the person's words come to `user_message`.

use samovar_core::Code;
use samovar_wire::chat;

use super::feed::{Batch, Feed};
use crate::upgrade::{End, Heard, Line};

/// Shows it until one of the two ends.
pub(super) async fn show(mut line: Line, mut feed: Feed) {
    let why = shown(&mut line, &mut feed).await;
    line.end(why).await;
}

async fn shown(line: &mut Line, feed: &mut Feed) -> End {
    loop {
        // Both are safe to drop halfway: neither moves unless it has something.
        let batch = tokio::select! {
            batch = feed.next() => batch,
            heard = line.hear() => return match heard {
                Ok(Heard::Text(_) | Heard::Binary(_)) => End::Refused(Code::InvalidParams),
                Err(end) => end,
            },
        };
        let Some(Batch { marker, messages }) = batch else {
            return End::Stopping;
        };
        let marker = marker.map(|marker| chat::marker_text(&marker));
        let messages = messages.into_iter();
        let messages = messages.map(|message| chat::text(&message));
        if let Err(end) = line.say(marker.into_iter().chain(messages)).await {
            return end;
        }
    }
}
