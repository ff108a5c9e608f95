//! Results that a client did not give for the calls that it appended (AS-17).

use std::sync::Arc;

use samovar_core::{CallId, Message, Millis, Outcome, Role};
use samovar_locale as locale;

/// The messages, with an unknown outcome for each call that has none: a client may have appended calls
/// without their results, and no provider takes them so.
pub(super) fn closed(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let mut shown = Vec::with_capacity(messages.len());
    let mut open: Vec<(CallId, String)> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            open.retain(|(call, _)| !message.closes(call));
        } else {
            shown.extend(open.drain(..).map(lost));
            let calls = message.calls();
            open.extend(calls.map(|call| (call.id.clone(), call.name.clone())));
        }
        shown.push(message);
    }
    shown.extend(open.into_iter().map(lost));
    shown
}

fn lost((call, name): (CallId, String)) -> Arc<Message> {
    let outcome = Outcome::unknown(locale::turn::result_missing());
    Arc::new(Message::of_outcome(
        &call,
        &name,
        &outcome,
        Millis::default(),
    ))
}
