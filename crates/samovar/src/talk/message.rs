//! What the person says, as it is posted.

use samovar_core::command::Text;
use samovar_server::Home;
use samovar_wire::agent::Dollars;
use serde_json::{Value, json};

use super::{Talk, without_nulls};
use crate::answer::Person;
use crate::args::Delivery;
use crate::images;

/// A message as it is posted.
pub(crate) struct MessageBody(pub(super) Value);

/// A message with its attachments, under a fresh id: however often it is posted, it is said
/// once.
pub(crate) fn message(talk: &mut Talk, text: &Text, delivery: Delivery) -> MessageBody {
    let images = std::mem::take(&mut talk.attached);
    let mut said = json!({
        "sessionId": talk.session.id,
        "content": text.as_str(),
        "messageId": Home::fresh_message(),
    });
    if !images.is_empty() {
        said["attachments"] = json!(images::attachments(&images));
    }
    // What may join another turn sets nothing for its own.
    if delivery != Delivery::Steer {
        said["approval"] = json!(talk.approval());
        said["maxIterations"] = json!(talk.bounds.max_iterations);
        let budget = talk.bounds.budget;
        said["budgetTokens"] = json!(budget.tokens);
        said["budgetSteps"] = json!(budget.steps);
        said["budgetUsd"] = json!(budget.cost.map(Dollars));
        said["budgetWallSeconds"] = json!(budget.wall_ms.map(|wall| wall / 1000));
        said["noInput"] = json!(talk.person == Person::Absent);
        // Where this process serves, it has it already.
        let environment = talk.environment.as_deref();
        said["environment"] = json!(environment.filter(|_| !talk.way.is_here()));
    }
    said["delivery"] = delivery.as_str().into();
    MessageBody(without_nulls(said))
}
