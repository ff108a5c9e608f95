//! The chat over a WebSocket (CH-7). The reader pulls, so a slow client delays no other; a client that
//! disconnects drops its reader.

use samovar_core::Code;
use samovar_wire::chat::Item;

use super::feed::Feed;
use crate::upgrade::{Channel, ClientMessage, CloseReason};

/// Shows it until one of the two ends. Each message is one of the socket; the reader has nothing to say
/// there, for the person's words come to `user_message`.
pub(super) async fn show(mut line: Channel, mut feed: Feed) {
    let why = shown(&mut line, &mut feed).await;
    line.end(why).await;
}

async fn shown(line: &mut Channel, feed: &mut Feed) -> CloseReason {
    loop {
        // Both are safe to drop halfway: neither moves unless it has something.
        let items = tokio::select! {
            items = feed.next() => items,
            heard = line.hear() => return match heard {
                Ok(ClientMessage::Text(_) | ClientMessage::Binary(_)) => CloseReason::Refused(Code::InvalidParams),
                Err(end) => end,
            },
        };
        let Some(items) = items else {
            return CloseReason::Stopping;
        };
        if let Err(end) = line.say(items.iter().map(Item::text)).await {
            return end;
        }
    }
}
