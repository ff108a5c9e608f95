//! A reply as a stream of chunks, and as one completion.

use serde_json::{Value, json};

use super::{CREATED, failure};
use crate::{
    delta::{self, Block, Delta},
    dialect::Events,
    matcher::Matched,
    script::{Delivery, ModelOutput, Part, Terminal, TokenCounts},
    sse::Event,
};

const SERVICE_TIER: &str = "default";
const SYSTEM_FINGERPRINT: &str = "fp_scripted";

const FINISH_WORDS: [&str; 4] = ["stop", "tool_calls", "length", "content_filter"];

/// A piece of a stream before it is spelled.
enum Piece {
    Delta(Delta),
    Choice(Value, Option<String>),
    Usage(TokenCounts),
    Done,
}

pub(super) fn events(said: &ModelOutput, delivery: &Delivery, matched: &Matched) -> Events {
    let deltas = delta::deltas(said, delivery, id_prefix(matched));
    let failed = matches!(deltas.last(), Some(Delta::Failure(_)));
    let has = |kind: fn(&Delta) -> bool| deltas.iter().any(kind);
    let has_text = has(|delta| matches!(delta, Delta::Text(_)))
        || !has(|delta| matches!(delta, Delta::CallOpened { .. }));
    let content = if has_text { json!("") } else { Value::Null };
    let role = json!({"role": "assistant", "content": content, "refusal": null});

    let wants_usage = matched.prompt.wants_usage;
    let mut pieces = vec![Piece::Choice(role, None)];
    pieces.extend(deltas.into_iter().map(Piece::Delta));
    if !failed {
        let finish = delta::finish(said, FINISH_WORDS);
        pieces.extend(finish.map(|word| Piece::Choice(json!({}), Some(word))));
        let usage = delta::usage(said, matched).filter(|_| wants_usage);
        pieces.extend(usage.map(Piece::Usage));
    }
    if delivery.terminal == Terminal::Sent {
        pieces.push(Piece::Done);
    }

    let (id, model) = (id(matched), matched.prompt.model.clone());
    let chunk = move |choices: Value, usage: Option<TokenCounts>| {
        let mut chunk = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": model,
            "service_tier": SERVICE_TIER,
            "system_fingerprint": SYSTEM_FINGERPRINT,
            "choices": choices,
        });
        // Asked for, every chunk has the field, and all but the last are null.
        if wants_usage {
            chunk["usage"] = usage.map_or(Value::Null, tokens);
        }
        Event::data(None, chunk.to_string())
    };
    let choice = |delta: Value, finish: Option<String>| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
    Box::new(pieces.into_iter().filter_map(move |piece| {
        Some(match piece {
            Piece::Delta(Delta::Failure(broken)) => Event::data(None, failure(&broken).to_string()),
            Piece::Delta(Delta::Comment(text)) => Event::comment(text),
            Piece::Delta(Delta::Raw(raw)) => Event::data(None, raw),
            Piece::Delta(delta) => chunk(choice(spelled(delta)?, None), None).delta(),
            Piece::Choice(delta, finish) => chunk(choice(delta, finish), None),
            Piece::Usage(counts) => chunk(json!([]), Some(counts)),
            Piece::Done => Event::data(None, "[DONE]".to_owned()),
        })
    }))
}

/// The `delta` of a chunk; `None` if the format has no word for it.
fn spelled(delta: Delta) -> Option<Value> {
    let call = |index: Option<usize>, rest: Value| {
        let call = delta::indexed(index, rest);
        Some(json!({"tool_calls": [call]}))
    };
    match delta {
        Delta::Reasoning(text) => Some(json!({"reasoning_content": text})),
        Delta::Text(text) => Some(json!({"content": text})),
        Delta::CallOpened {
            place,
            index,
            id,
            name,
            ..
        } => {
            let mut fields = json!({});
            if let Some(id) = id {
                fields["id"] = id.into();
            }
            fields["type"] = "function".into();
            fields["function"] = json!({"name": name, "arguments": ""});
            call(index.sent(place), fields)
        }
        Delta::CallArguments {
            place,
            index,
            fragment,
            ..
        } => call(
            index.sent(place),
            json!({"function": {"arguments": fragment}}),
        ),
        Delta::RedactedReasoning(_) | Delta::Failure(_) | Delta::Comment(_) | Delta::Raw(_) => None,
    }
}

pub(super) fn whole(said: &ModelOutput, matched: &Matched) -> Value {
    let blocks = match delta::blocks(said, id_prefix(matched)) {
        Ok(blocks) => blocks,
        Err(broken) => return failure(&broken),
    };
    let has_text = said.parts.iter().any(|part| matches!(part, Part::Text(_)));
    let content = if has_text { json!("") } else { Value::Null };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    for block in blocks {
        let (field, more) = match block {
            Block::Text(text) => ("content", text),
            Block::Reasoning(text) => ("reasoning_content", text),
            Block::RedactedReasoning(_) => continue,
            Block::Call {
                id,
                name,
                arguments,
            } => {
                let function = json!({"name": name, "arguments": arguments});
                let mut call = json!({"type": "function", "function": function});
                if let Some(id) = id {
                    call["id"] = id.into();
                }
                match &mut message["tool_calls"] {
                    Value::Array(calls) => calls.push(call),
                    none => *none = json!([call]),
                }
                continue;
            }
        };
        message[field] = (message[field].as_str().unwrap_or_default().to_owned() + &more).into();
    }
    let mut completion = json!({
        "id": id(matched),
        "object": "chat.completion",
        "created": CREATED,
        "model": matched.prompt.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": delta::finish(said, FINISH_WORDS),
        }],
        "service_tier": SERVICE_TIER,
        "system_fingerprint": SYSTEM_FINGERPRINT,
    });
    if let Some(counts) = delta::usage(said, matched) {
        completion["usage"] = tokens(counts);
    }
    completion
}

fn id(matched: &Matched) -> String {
    format!("chatcmpl-{}", matched.number)
}

fn id_prefix(matched: &Matched) -> String {
    format!("call_{}", matched.number)
}

fn tokens(counts: TokenCounts) -> Value {
    json!({
        "prompt_tokens": counts.input,
        "completion_tokens": counts.output,
        "total_tokens": counts.input.saturating_add(counts.output),
        "prompt_tokens_details": {"cached_tokens": counts.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": counts.reasoning, "audio_tokens": 0},
    })
}
