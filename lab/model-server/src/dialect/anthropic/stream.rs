//! A reply as a stream of named events.

mod blocks;

use serde_json::{Map, Value, json};

use self::blocks::Blocks;
use super::{call_ids, failure, frame, stop_reason, tokens, usage};
use crate::{
    delta::{self, Delta},
    dialect::Naming,
    script::{Delivery, Said, Terminal, TokenCounts},
    sse::{Data, Event},
};

pub(in crate::dialect) fn events(
    said: &Said,
    delivery: &Delivery,
    naming: &Naming,
) -> impl Iterator<Item = Event> + Send + use<> {
    let deltas = delta::deltas(said, delivery, call_ids(said, naming));
    let usage = usage(said, naming);
    let mut steps = vec![start(naming, usage), Step::other("ping", json!({}))];
    let mut blocks = Blocks::new(&deltas, &mut steps);
    let failed = deltas.iter().find_map(|delta| match delta {
        Delta::Failure(broken) => Some(failure(broken, naming.number)),
        other => {
            blocks.take(other);
            None
        }
    });
    if let Some(body) = failed {
        // The block that is open stays so: the real one sends nothing behind an error.
        steps.push(Step::Failed(body));
    } else {
        blocks.close();
        steps.push(finish(said, usage));
        if delivery.terminal == Terminal::Sent {
            steps.push(Step::other("message_stop", json!({})));
        }
    }
    steps.into_iter().map(Step::spell)
}

/// One event of a stream, before it is spelled.
enum Step {
    /// A piece of the reply.
    Delta(Body),
    Other(Body),
    Failed(Value),
    Comment(String),
    Raw(String),
}

/// An event's name, and its fields but the type, which is the name again.
struct Body {
    name: &'static str,
    fields: Value,
}

impl Step {
    fn other(name: &'static str, fields: Value) -> Step {
        Step::Other(Body { name, fields })
    }

    fn spell(self) -> Event {
        match self {
            Step::Delta(body) => Event::Delta(body.spell()),
            Step::Other(body) => Event::Data(body.spell()),
            Step::Failed(body) => Event::Data(Data {
                name: Some("error".to_owned()),
                text: body.to_string(),
            }),
            Step::Comment(text) => Event::Comment(text),
            Step::Raw(text) => Event::Data(Data {
                name: type_of(&text),
                text,
            }),
        }
    }
}

impl Body {
    fn spell(self) -> Data {
        let mut event = Map::new();
        event.insert("type".to_owned(), self.name.into());
        if let Value::Object(fields) = self.fields {
            event.extend(fields);
        }
        Data {
            name: Some(self.name.to_owned()),
            text: Value::from(event).to_string(),
        }
    }
}

/// The type that raw data claims, if it can be the name of an event.
fn type_of(data: &str) -> Option<String> {
    let data: Value = serde_json::from_str(data).ok()?;
    let name = data["type"].as_str()?;
    let fits = !name.is_empty() && !name.contains(char::is_control);
    fits.then(|| name.to_owned())
}

fn start(naming: &Naming, usage: Option<TokenCounts>) -> Step {
    let mut message = frame(naming);
    if let Some(counts) = usage {
        // When the message starts, its first token has been made and the others have not.
        let output = counts.output.min(1);
        message["usage"] = tokens(TokenCounts { output, ..counts }).into();
    }
    Step::other("message_start", json!({"message": message}))
}

fn finish(said: &Said, usage: Option<TokenCounts>) -> Step {
    let delta = json!({"stop_reason": stop_reason(said), "stop_sequence": null});
    let mut fields = json!({"delta": delta});
    if let Some(counts) = usage {
        fields["usage"] = tokens(counts).into();
    }
    Step::other("message_delta", fields)
}
