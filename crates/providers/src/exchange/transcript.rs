//! What a decoder made of a body, as text that a test can compare.

use bytes::Bytes;
use samovar_core::error::FaultCode;
use samovar_core::{ProviderEvent, Usage};
use serde_json::Value;

use crate::decoder::Decoder;
use crate::dialect::Progress;
use crate::fault::Fault;

/// How an answer ended: its events, then nothing or a fault.
pub(crate) type AnswerEnd = (Vec<ProviderEvent>, Option<Fault>);

/// Feeds a body in these pieces, and then its end.
pub(crate) fn read(mut decoder: Decoder, pieces: &[&[u8]]) -> AnswerEnd {
    let mut events = Vec::new();
    for piece in pieces {
        if decoder.progress() == Progress::Over {
            break;
        }
        let bytes = Bytes::copy_from_slice(piece);
        if let Err(fault) = decoder.read(bytes, &mut events) {
            return (events, Some(fault));
        }
    }
    let fault = decoder.end(&mut events).err();
    (events, fault)
}

pub(crate) fn code(told: &AnswerEnd) -> Option<FaultCode> {
    told.1.as_ref().map(|fault| fault.code)
}

/// Events as short text: one line each, deltas of the same thing joined. The five numbers of a
/// complete answer are input, output, cache read, cache write and reasoning.
pub(crate) fn told(events: &[ProviderEvent]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for event in events {
        let (head, more) = line(event);
        match lines.last_mut() {
            Some(last) if !head.is_empty() && last.starts_with(&head) => last.push_str(&more),
            Some(_) | None => lines.push(head + &more),
        }
    }
    lines.join("\n")
}

/// What a line begins with that the next may continue, and the rest.
fn line(event: &ProviderEvent) -> (String, String) {
    let state = |state: &Option<Value>| state.as_ref().map_or(String::new(), |s| format!(" {s}"));
    let whole = |line: String| (String::new(), line);
    match event {
        ProviderEvent::TextDelta(text) => ("text ".to_owned(), text.clone()),
        ProviderEvent::ReasoningDelta(text) => ("think ".to_owned(), text.clone()),
        ProviderEvent::ReasoningEnd { provider_state } => {
            whole(format!("thought{}", state(provider_state)))
        }
        ProviderEvent::ToolCallStart { id, name } => whole(format!("start {id} {name}")),
        ProviderEvent::ToolCallDelta { id, args_json } => {
            (format!("args {id} "), args_json.clone())
        }
        ProviderEvent::ToolCallEnd {
            id,
            name,
            args,
            provider_state,
        } => whole(format!("end {id} {name} {args}{}", state(provider_state))),
        ProviderEvent::MessageComplete {
            finish_reason,
            usage,
        } => {
            let Usage {
                input,
                output,
                cache_read,
                cache_write,
                reasoning,
            } = usage;
            let usage = format!("{input} {output} {cache_read} {cache_write} {reasoning}");
            whole(format!("complete {finish_reason} {usage}"))
        }
        ProviderEvent::PromptProgress { read, total } => whole(format!("read {read} of {total}")),
        ProviderEvent::Failed { .. } => panic!("the decoder's failures are errors"),
    }
}
