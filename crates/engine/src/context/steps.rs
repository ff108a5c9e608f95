//! What a model is told of the steps of a running turn that its prompt leaves out.

use std::sync::Arc;

use samovar_core::{Message, ToolCall};

use super::{estimate, in_tokens};

/// Tokens of such a note, at most.
const MAX_TOKENS: u64 = 300;
/// Bytes of a call in it, at most.
const MAX_CALL_BYTES: usize = 120;

/// Tokens that the note may have where a conversation has `room`.
pub(super) fn reserve(room: u64) -> u64 {
    MAX_TOKENS.min(room / 8)
}

/// Names the calls of steps that were left out, the newest that fit into so many tokens. `None` if
/// not even their number fits.
pub(super) fn note<'a>(
    left_out: impl Iterator<Item = &'a Arc<Message>>,
    tokens: u64,
) -> Option<String> {
    let calls: Vec<_> = left_out.flat_map(|message| message.calls()).collect();
    let mut distinct: Vec<String> = Vec::new();
    for call in calls.iter().rev().map(|call| line(call)) {
        if !distinct.contains(&call) {
            distinct.push(call);
        }
    }
    let fits = |named: &usize| {
        let text = text(calls.len(), &distinct[..*named], distinct.len() - named);
        Some(text).filter(|text| in_tokens(estimate::of_text(text)) <= tokens)
    };
    (0..=distinct.len()).map_while(|named| fits(&named)).last()
}

/// The note, with the calls that it names newest first.
fn text(count: usize, named: &[String], unnamed: usize) -> String {
    let named = named.iter().rev().flat_map(|call| ["\n", call]);
    let named: String = named.collect();
    let unnamed = match unnamed {
        0 => String::new(),
        unnamed => format!(" ({unnamed} more are not named)"),
    };
    format!(
        "[Earlier steps of this turn are left out here to save room. Their {count} calls were made \
         and answered; do not make them again, unless you need a result once more{unnamed}:{named}]"
    )
}

fn line(call: &ToolCall) -> String {
    let line = format!("{} {}", call.name, call.args);
    match line.floor_char_boundary(MAX_CALL_BYTES) {
        end if end < line.len() => format!("{}…", &line[..end]),
        _ => line,
    }
}
