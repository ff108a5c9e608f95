//! A reply as a stream of chunks.

use serde::Serialize;
use serde_json::Value;

use super::{
    CREATED, SERVICE_TIER, SYSTEM_FINGERPRINT, call_ids, failure, finish_reason, id, tokens, usage,
};
use crate::{
    delta::{self, Delta},
    dialect::Naming,
    script::{Delivery, Said, Terminal, TokenCounts},
    sse::{Data, Event},
};

pub(in crate::dialect) fn events(
    said: &Said,
    delivery: &Delivery,
    naming: Naming,
) -> impl Iterator<Item = Event> + Send + use<> {
    let mut deltas = delta::deltas(said, delivery, call_ids(naming.number));
    let failed = deltas
        .iter()
        .position(|delta| matches!(delta, Delta::Failure(_)));
    if let Some(failed) = failed {
        deltas.truncate(failed + 1);
    }
    let has = |kind: fn(&Delta) -> bool| deltas.iter().any(kind);
    let has_text = has(|delta| matches!(delta, Delta::Text(_)))
        || !has(|delta| matches!(delta, Delta::CallOpened { .. }));

    let mut steps = vec![Step::Role { has_text }];
    steps.extend(deltas.into_iter().map(Step::Delta));
    if failed.is_none() {
        steps.extend(finish_reason(said).map(Step::Finish));
        let usage = usage(said, &naming).filter(|_| naming.wants_usage);
        steps.extend(usage.map(Step::Usage));
    }
    if delivery.terminal == Terminal::Sent {
        steps.push(Step::Done);
    }
    let speller = Speller {
        id: id(naming.number),
        model: naming.model,
        has_usage: naming.wants_usage,
    };
    steps
        .into_iter()
        .filter_map(move |step| speller.spell(step))
}

/// One event of a stream, before it is spelled.
enum Step {
    Role { has_text: bool },
    Delta(Delta),
    Finish(String),
    Usage(TokenCounts),
    Done,
}

/// Spells the events of one reply.
struct Speller {
    id: String,
    model: String,
    /// Whether chunks have a `usage` field: asked for, every one has it, and all but the last
    /// are null.
    has_usage: bool,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    service_tier: &'static str,
    system_fingerprint: &'static str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    delta: ChoiceDelta<'a>,
    logprobs: (),
    finish_reason: Option<&'a str>,
}

#[derive(Default, Serialize)]
struct ChoiceDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallDelta<'a>; 1]>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Null,
    Text(&'a str),
}

#[derive(Default, Serialize)]
struct CallDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: FunctionDelta<'a>,
}

#[derive(Default, Serialize)]
struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl Speller {
    /// The event of a step, unless the format has no word for it.
    fn spell(&self, step: Step) -> Option<Event> {
        Some(match step {
            Step::Role { has_text } => data(self.choice(ChoiceDelta {
                role: Some("assistant"),
                content: Some(if has_text {
                    Content::Text("")
                } else {
                    Content::Null
                }),
                refusal: Some(()),
                ..ChoiceDelta::default()
            })),
            Step::Delta(delta) => return self.delta(&delta),
            Step::Finish(reason) => {
                data(self.chunk(&[choice(ChoiceDelta::default(), Some(&reason))], None))
            }
            Step::Usage(counts) => data(self.chunk(&[], Some(tokens(counts)))),
            Step::Done => data("[DONE]".to_owned()),
        })
    }

    fn delta(&self, delta: &Delta) -> Option<Event> {
        let delta = match delta {
            Delta::Failure(broken) => return Some(data(failure(broken).to_string())),
            Delta::Comment(text) => return Some(Event::Comment(text.clone())),
            Delta::Raw(raw) => return Some(data(raw.clone())),
            Delta::RedactedReasoning(_) => return None,
            Delta::Reasoning(text) => ChoiceDelta {
                reasoning_content: Some(text),
                ..ChoiceDelta::default()
            },
            Delta::Text(text) => ChoiceDelta {
                content: Some(Content::Text(text)),
                ..ChoiceDelta::default()
            },
            Delta::CallOpened {
                place,
                index,
                id,
                name,
            } => call(CallDelta {
                index: index.sent(*place),
                id: id.as_deref(),
                kind: Some("function"),
                function: FunctionDelta {
                    name: Some(name),
                    arguments: "",
                },
            }),
            Delta::CallArguments {
                place,
                index,
                fragment,
            } => call(CallDelta {
                index: index.sent(*place),
                function: FunctionDelta {
                    name: None,
                    arguments: fragment,
                },
                ..CallDelta::default()
            }),
        };
        Some(Event::Delta(Data::of(self.choice(delta))))
    }

    fn choice(&self, delta: ChoiceDelta<'_>) -> String {
        self.chunk(&[choice(delta, None)], None)
    }

    fn chunk(&self, choices: &[Choice<'_>], usage: Option<Value>) -> String {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: CREATED,
            model: &self.model,
            service_tier: SERVICE_TIER,
            system_fingerprint: SYSTEM_FINGERPRINT,
            choices,
            usage: self.has_usage.then(|| usage.unwrap_or(Value::Null)),
        };
        serde_json::to_string(&chunk).expect("strings, numbers and JSON values are always JSON")
    }
}

fn data(text: String) -> Event {
    Event::Data(Data::of(text))
}

fn choice<'a>(delta: ChoiceDelta<'a>, finish_reason: Option<&'a str>) -> Choice<'a> {
    Choice {
        index: 0,
        delta,
        logprobs: (),
        finish_reason,
    }
}

fn call(call: CallDelta<'_>) -> ChoiceDelta<'_> {
    ChoiceDelta {
        tool_calls: Some([call]),
        ..ChoiceDelta::default()
    }
}
