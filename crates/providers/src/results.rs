//! What came of the calls of a conversation.

use std::collections::HashMap;
use std::sync::Arc;

use samovar_core::{Message, Outcome, Part, ToolCall};

/// What stands for a result that is not there: its turn was stopped, or its server.
pub(crate) const NO_RESULT: &str =
    "there is no result: the call was stopped, or what came of it was lost";

/// What came of each call: the result between it and the next call with the same id. Clients may use an
/// id again.
pub(crate) struct Outcomes<'a>(HashMap<usize, &'a Outcome>);

impl<'a> Outcomes<'a> {
    pub(crate) fn of(messages: &'a [Arc<Message>]) -> Self {
        let (mut asked, mut outcomes) = (HashMap::new(), HashMap::new());
        for part in messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::Call(call) => drop(asked.insert(&call.id, place(call))),
                Part::Outcome { call, outcome, .. } => {
                    let place = asked.get(call);
                    outcomes.extend(place.map(|place| (*place, outcome)));
                }
                Part::Text { .. }
                | Part::Reasoning { .. }
                | Part::Data { .. }
                | Part::Image { .. } => {}
            }
        }
        Self(outcomes)
    }

    /// The result of a call of these messages.
    pub(crate) fn get(&self, call: &ToolCall) -> Option<&'a Outcome> {
        self.0.get(&place(call)).copied()
    }
}

fn place(call: &ToolCall) -> usize {
    std::ptr::from_ref(call).addr()
}
