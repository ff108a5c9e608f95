//! A reply as one completion.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    CREATED, SERVICE_TIER, SYSTEM_FINGERPRINT, call_ids, failure, finish_reason, id, tokens, usage,
};
use crate::{
    delta,
    dialect::Naming,
    script::{Part, Said},
};

pub(in crate::dialect) fn whole(said: &Said, naming: &Naming) -> Bytes {
    let failed = said.parts.iter().find_map(|part| match part {
        Part::Failure(broken) => Some(failure(broken)),
        _ => None,
    });
    failed
        .unwrap_or_else(|| completion(said, naming))
        .to_string()
        .into()
}

fn completion(said: &Said, naming: &Naming) -> Value {
    let text = joined(said, |part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    });
    let reasoning = joined(said, |part| match part {
        Part::Reasoning(text) => Some(text),
        _ => None,
    });
    let calls = delta::calls(said, call_ids(naming.number));
    let mut message = json!({"role": "assistant", "content": text, "refusal": null});
    if let Some(reasoning) = reasoning {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        let calls = calls.into_iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            let mut spelled = json!({"type": "function", "function": function});
            if let Some(id) = call.id {
                spelled["id"] = id.into();
            }
            spelled
        });
        message["tool_calls"] = calls.collect();
    }
    let mut completion = json!({
        "id": id(naming.number),
        "object": "chat.completion",
        "created": CREATED,
        "model": naming.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_reason(said),
        }],
        "service_tier": SERVICE_TIER,
        "system_fingerprint": SYSTEM_FINGERPRINT,
    });
    if let Some(counts) = usage(said, naming) {
        completion["usage"] = tokens(counts);
    }
    completion
}

/// The texts that `of` finds, joined; none when there are none.
fn joined<'a>(said: &'a Said, of: impl Fn(&'a Part) -> Option<&'a String>) -> Option<String> {
    let texts: Vec<_> = said
        .parts
        .iter()
        .filter_map(of)
        .map(String::as_str)
        .collect();
    (!texts.is_empty()).then(|| texts.concat())
}
