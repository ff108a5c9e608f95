//! The relay over a WebSocket: each text is an envelope, both ways (RL-1, RL-2).

use futures_util::FutureExt;
use samovar_relay::{Disconnected, Member};
use samovar_wire::relay::{MalformedEnvelope, decode, encode};

use crate::upgrade::{Channel, CloseReason};

/// Bytes that are written at once, about: what lies ready behind that waits for the next time.
const BATCH_BYTES: usize = 64 * 1024;

/// Carries what is said to the relay and from it, until one of the two ends.
pub(super) async fn serve(mut line: Channel, mut member: Member) {
    let why = carried(&mut line, &mut member).await;
    // Before the goodbye, which takes its time: who waits for this one is told now.
    drop(member);
    line.end(why).await;
}

async fn carried(line: &mut Channel, member: &mut Member) -> CloseReason {
    loop {
        // Both are safe to drop halfway: neither moves unless it has something.
        let carried = tokio::select! {
            next = member.next() => match next {
                Ok(first) => deliver(line, member, encode(&first)).await,
                Err(gone) => Err(end(gone)),
            },
            heard = line.hear() => match heard {
                Ok(heard) => {
                    hear(member, heard.as_bytes()).await;
                    Ok(())
                }
                Err(end) => Err(end),
            },
        };
        if let Err(end) = carried {
            return end;
        }
    }
}

async fn hear(member: &Member, message: &[u8]) {
    match decode(message) {
        Ok(envelope) => member.say(envelope).await,
        Err(MalformedEnvelope { reply_to, why }) => member.malformed(reply_to, why),
    }
}

/// Writes what comes first, and with it what lies ready behind it.
async fn deliver(
    line: &mut Channel,
    member: &mut Member,
    first: String,
) -> Result<(), CloseReason> {
    let mut bytes = first.len();
    let mut texts = vec![first];
    let mut gone = None;
    while bytes < BATCH_BYTES && gone.is_none() {
        match member.next().now_or_never() {
            Some(Ok(envelope)) => {
                let text = encode(&envelope);
                bytes += text.len();
                texts.push(text);
            }
            Some(Err(why)) => gone = Some(end(why)),
            None => break,
        }
    }
    line.say(texts).await.map_err(|end| match end {
        // Whatever held it up, it did not drain.
        CloseReason::Stalled => CloseReason::Overrun,
        other => other,
    })?;
    gone.map_or(Ok(()), Err)
}

fn end(gone: Disconnected) -> CloseReason {
    match gone {
        Disconnected::Replaced => CloseReason::Replaced,
        Disconnected::Overrun => CloseReason::Overrun,
        Disconnected::Closed => CloseReason::Stopping,
    }
}
