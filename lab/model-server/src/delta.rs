//! What a reply says, cut into the pieces that are sent one by one.

use serde_json::{Map, Value};

use crate::{
    matcher::Matched,
    script::{
        CallIdRule, Delivery, Failure, Finish, Index, ModelOutput, Part, TokenCounts, ToolCall,
        Usage,
    },
};

/// A piece of a reply, in no dialect yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Delta {
    Reasoning(String),
    RedactedReasoning(String),
    Text(String),
    CallOpened {
        place: usize,
        index: Index,
        id: Option<String>,
        name: String,
        /// Whether no arguments follow.
        is_last: bool,
    },
    CallArguments {
        place: usize,
        index: Index,
        fragment: String,
        is_last: bool,
    },
    Failure(Failure),
    Comment(String),
    Raw(String),
}

/// Everything that a reply sends in a stream, up to its first error; the ids that the server makes for its calls are
/// `PREFIX_PLACE`.
pub(crate) fn deltas(said: &ModelOutput, delivery: &Delivery, id_prefix: String) -> Vec<Delta> {
    let mut cutter = Cutter {
        chars: delivery.delta_chars.map(usize::from),
        id_prefix,
        calls: 0,
        deltas: Vec::new(),
    };
    for part in &said.parts {
        cutter.part(part);
        if let Part::Failure(_) = part {
            break;
        }
    }
    cutter.deltas
}

/// A block of a reply that is not streamed.
pub(crate) enum Block {
    Reasoning(String),
    RedactedReasoning(String),
    Text(String),
    Call {
        id: Option<String>,
        name: String,
        arguments: String,
    },
}

/// The blocks of a reply that is not streamed, or the error in its place; parts of one kind that
/// follow one another are one block.
pub(crate) fn blocks(said: &ModelOutput, id_prefix: String) -> Result<Vec<Block>, Failure> {
    let whole = Delivery {
        delta_chars: None,
        ..Delivery::default()
    };
    let mut blocks: Vec<Block> = Vec::new();
    let mut calls = Vec::new();
    for delta in deltas(said, &whole, id_prefix) {
        match (delta, blocks.last_mut()) {
            (Delta::Failure(failure), _) => return Err(failure),
            (Delta::Reasoning(more), Some(Block::Reasoning(text)))
            | (Delta::Text(more), Some(Block::Text(text))) => text.push_str(&more),
            (Delta::Reasoning(text), _) => blocks.push(Block::Reasoning(text)),
            (Delta::RedactedReasoning(text), _) => blocks.push(Block::RedactedReasoning(text)),
            (Delta::Text(text), _) => blocks.push(Block::Text(text)),
            (Delta::CallOpened { id, name, .. }, _) => {
                calls.push(blocks.len());
                let arguments = String::new();
                blocks.push(Block::Call {
                    id,
                    name,
                    arguments,
                });
            }
            (
                Delta::CallArguments {
                    place, fragment, ..
                },
                _,
            ) => {
                if let Block::Call { arguments, .. } = &mut blocks[calls[place]] {
                    *arguments = fragment;
                }
            }
            (Delta::Comment(_) | Delta::Raw(_), _) => {}
        }
    }
    Ok(blocks)
}

/// The reply's reason to finish, in a dialect's words: for a stop, for tool calls, for the limit
/// on tokens, for a filter.
pub(crate) fn finish(said: &ModelOutput, words: [&str; 4]) -> Option<String> {
    let [stop, tool_calls, length, content_filter] = words;
    let word = match &said.finish {
        Finish::Absent => return None,
        Finish::Natural if self::tool_calls(said).next().is_some() => tool_calls,
        Finish::Natural | Finish::Stop => stop,
        Finish::ToolCalls => tool_calls,
        Finish::Length => length,
        Finish::ContentFilter => content_filter,
        Finish::Other(word) => word,
    };
    Some(word.to_owned())
}

/// The tokens that a reply reports.
pub(crate) fn usage(said: &ModelOutput, matched: &Matched) -> Option<TokenCounts> {
    match said.usage {
        Usage::Absent => None,
        Usage::Given(counts) => Some(counts),
        Usage::Counted => Some(counted(said, matched)),
    }
}

/// An object of this field, then those of `rest`: JSON without order, but bytes with one.
pub(crate) fn with_first(name: &str, value: impl Into<Value>, rest: Value) -> Value {
    let mut fields = Map::new();
    fields.insert(name.to_owned(), value.into());
    if let Value::Object(rest) = rest {
        fields.extend(rest);
    }
    fields.into()
}

/// An object whose first field is the `index`, if one is sent.
pub(crate) fn indexed(index: Option<usize>, rest: Value) -> Value {
    match index {
        Some(index) => with_first("index", index, rest),
        None => rest,
    }
}

fn tool_calls(said: &ModelOutput) -> impl Iterator<Item = &ToolCall> {
    said.parts.iter().flat_map(|part| match part {
        Part::Call(call) => std::slice::from_ref(call),
        Part::Interleaved(calls) => calls,
        Part::Reasoning(_)
        | Part::RedactedReasoning(_)
        | Part::Text(_)
        | Part::Failure(_)
        | Part::Comment(_)
        | Part::Raw(_) => &[],
    })
}

struct Cutter {
    chars: Option<usize>,
    id_prefix: String,
    calls: usize,
    deltas: Vec<Delta>,
}

impl Cutter {
    fn part(&mut self, part: &Part) {
        match part {
            Part::Reasoning(text) => {
                let pieces = self.pieces(text).into_iter().map(Delta::Reasoning);
                self.deltas.extend(pieces);
            }
            Part::RedactedReasoning(text) => {
                self.deltas.push(Delta::RedactedReasoning(text.clone()));
            }
            Part::Text(text) => {
                let pieces = self.pieces(text).into_iter().map(Delta::Text);
                self.deltas.extend(pieces);
            }
            Part::Call(call) => self.calls(std::slice::from_ref(call)),
            Part::Interleaved(calls) => self.calls(calls),
            Part::Failure(failure) => self.deltas.push(Delta::Failure(failure.clone())),
            Part::Comment(text) => self.deltas.push(Delta::Comment(text.clone())),
            Part::Raw(data) => self.deltas.push(Delta::Raw(data.clone())),
        }
    }

    fn calls(&mut self, calls: &[ToolCall]) {
        let mut open = Vec::new();
        for call in calls {
            let (place, index) = (self.calls, call.index);
            self.calls += 1;
            let fragments = self.pieces(&call.arguments.text()).into_iter();
            let is_last = fragments.len() == 0;
            open.push((place, index, fragments));
            self.deltas.push(Delta::CallOpened {
                place,
                index,
                id: match &call.id {
                    CallIdRule::Made => Some(format!("{}_{place}", self.id_prefix)),
                    CallIdRule::Given(id) => Some(id.clone()),
                    CallIdRule::Missing => None,
                },
                name: call.name.clone(),
                is_last,
            });
        }
        while !open.is_empty() {
            open.retain_mut(|(place, index, fragments)| {
                let Some(fragment) = fragments.next() else {
                    return false;
                };
                self.deltas.push(Delta::CallArguments {
                    place: *place,
                    index: *index,
                    fragment,
                    is_last: fragments.len() == 0,
                });
                true
            });
        }
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = self.chars.and_then(|chars| rest.char_indices().nth(chars));
            let (piece, after) = rest.split_at(end.map_or(rest.len(), |(end, _)| end));
            pieces.push(piece.to_owned());
            rest = after;
        }
        pieces
    }
}

/// The tokens of a reply by length, four bytes a token.
fn counted(said: &ModelOutput, matched: &Matched) -> TokenCounts {
    const BYTES_A_TOKEN: usize = 4;
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u64::MAX);
    let (mut reasoning, mut spoken) = (0, 0);
    for part in &said.parts {
        match part {
            Part::Reasoning(text) | Part::RedactedReasoning(text) => reasoning += text.len(),
            Part::Text(text) => spoken += text.len(),
            Part::Call(_)
            | Part::Interleaved(_)
            | Part::Failure(_)
            | Part::Comment(_)
            | Part::Raw(_) => {}
        }
    }
    let cached = tokens(matched.cache.read_bytes);
    let arguments = tool_calls(said).map(|call| call.arguments.text().len());
    TokenCounts {
        input: tokens(matched.prompt.bytes),
        output: tokens(reasoning + spoken + arguments.sum::<usize>()),
        cached,
        // So that what the next prompt reads is exactly the sum of both.
        cache_written: tokens(matched.cache.read_bytes + matched.cache.written_bytes) - cached,
        reasoning: tokens(reasoning),
    }
}
