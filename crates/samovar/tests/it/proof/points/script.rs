//! The model's answers to what clients send before a kill.

use samovar_model_server::{self as model, Gate, Rule, call, say};
use serde_json::json;

/// Deltas of the long answer.
pub(super) const DELTAS: usize = 48;

pub(super) fn script() -> Vec<Rule> {
    // What was said last may stand behind the message of a turn that the kill cut off, or that had
    // no answer.
    let last = model::When::Not(Box::new(model::When::user("the last")));
    let file = || model::When::user("file").and(last.clone());
    let write = json!({"path": "out.txt", "content": "x"});
    vec![
        call("write_file", write)
            .and_call("list_dir", json!({"path": "."}))
            .when(file().and(model::When::ToolResultsSinceUser(0)))
            .forever(),
        say("it is written").when(file()).forever(),
        call("ask_user", json!({"question": "which one?"}))
            .when(
                model::When::user("the person")
                    .and(last.clone())
                    .and(model::When::ToolResultsSinceUser(0)),
            )
            .forever(),
        say("it is answered")
            .when(model::When::user("the person").and(last.clone()))
            .forever(),
        call("count", json!({"up": 1}))
            .and_call("note", json!({"up": 1}))
            .when(
                model::When::user("webhook")
                    .and(last.clone())
                    .and(model::When::ToolResultsSinceUser(0)),
            )
            .forever(),
        say("it is counted")
            .when(model::When::user("webhook").and(last.clone()))
            .forever(),
        call("subAgent", json!({"name": "browser", "task": "look"}))
            .when(
                model::When::user("the agent")
                    .and(last.clone())
                    .and(model::When::ToolResultsSinceUser(0)),
            )
            .forever(),
        call("list_dir", json!({"path": "."}))
            .hold_after(1, &held())
            .when(
                model::When::user("held")
                    .and(last.clone())
                    .and(model::When::ToolResultsSinceUser(0)),
            )
            .forever(),
        say("a slow answer")
            .deltas_of(4)
            .hold_after(1, &waits())
            .when(model::When::user("slowly").and(last.clone()))
            .forever(),
        // More than memory holds of what the journal lacks.
        say("x".repeat(DELTAS << 13))
            .deltas_of(1 << 13)
            .hold_after(DELTAS - 1, &more())
            .when(model::When::user("at length").and(last.clone()))
            .forever(),
        say("")
            .when(model::When::user("nothing").and(last.clone()))
            .forever(),
        say("a spoken answer").deltas_of(4).forever(),
    ]
}

/// Where the answer waits whose turn is stopped.
pub(super) fn waits() -> Gate {
    Gate::new("waits")
}

/// Where a call waits until a message is there that is to join its turn.
pub(super) fn held() -> Gate {
    Gate::new("held")
}

/// Where the long answer waits until all that came before is read.
pub(super) fn more() -> Gate {
    Gate::new("more")
}
