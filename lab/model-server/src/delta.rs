//! What a reply says, cut into the pieces that are sent one by one.

use crate::{
    cache::CacheUse,
    script::{CallIdRule, Delivery, Failure, Finish, Index, Part, Said, TokenCounts, ToolCall},
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
    },
    CallArguments {
        place: usize,
        index: Index,
        fragment: String,
    },
    Failure(Failure),
    Comment(String),
    Raw(String),
}

/// The ids that the server makes for the calls of one reply: `PREFIX_REPLY_PLACE`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallIds {
    pub(crate) prefix: &'static str,
    pub(crate) reply: u64,
}

/// A call as it is sent: its id made, its place among the reply's calls counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentCall {
    pub(crate) place: usize,
    pub(crate) index: Index,
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// Everything that a reply sends in a stream.
pub(crate) fn deltas(said: &Said, delivery: &Delivery, ids: CallIds) -> Vec<Delta> {
    let mut cutter = Cutter {
        chars: delivery.delta_chars.map(usize::from),
        numbering: Numbering::new(ids),
        deltas: Vec::new(),
    };
    for part in &said.parts {
        cutter.part(part);
    }
    cutter.deltas
}

/// The calls of a reply, in order, for a body that is not a stream.
pub(crate) fn calls(said: &Said, ids: CallIds) -> Vec<SentCall> {
    let mut numbering = Numbering::new(ids);
    tool_calls(said)
        .map(|call| numbering.number(call))
        .collect()
}

/// The reply's reason for finishing, the natural one spelled out.
pub(crate) fn finish(said: &Said) -> Finish {
    match &said.finish {
        Finish::Natural if tool_calls(said).next().is_some() => Finish::ToolCalls,
        Finish::Natural => Finish::Stop,
        other => other.clone(),
    }
}

fn tool_calls(said: &Said) -> impl Iterator<Item = &ToolCall> {
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
    numbering: Numbering,
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
            let sent = self.numbering.number(call);
            let fragments = self.pieces(&sent.arguments).into_iter();
            open.push((sent.place, sent.index, fragments));
            self.deltas.push(Delta::CallOpened {
                place: sent.place,
                index: sent.index,
                id: sent.id,
                name: sent.name,
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
                });
                true
            });
        }
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        let Some(chars) = self.chars else {
            return Some(text.to_owned())
                .filter(|text| !text.is_empty())
                .into_iter()
                .collect();
        };
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest
                .char_indices()
                .nth(chars)
                .map_or(rest.len(), |(end, _)| end);
            let (piece, after) = rest.split_at(end);
            pieces.push(piece.to_owned());
            rest = after;
        }
        pieces
    }
}

struct Numbering {
    ids: CallIds,
    next: usize,
}

impl Numbering {
    fn new(ids: CallIds) -> Numbering {
        Numbering { ids, next: 0 }
    }

    fn number(&mut self, call: &ToolCall) -> SentCall {
        let place = self.next;
        self.next += 1;
        SentCall {
            place,
            index: call.index,
            id: match &call.id {
                CallIdRule::Made => {
                    let CallIds { prefix, reply } = self.ids;
                    Some(format!("{prefix}_{reply}_{place}"))
                }
                CallIdRule::Given(id) => Some(id.clone()),
                CallIdRule::Missing => None,
            },
            name: call.name.clone(),
            arguments: call.arguments.text(),
        }
    }
}

/// The tokens of a reply by length: `prompt_bytes` of prompt, four bytes a token.
pub(crate) fn counted(said: &Said, prompt_bytes: usize, cache: CacheUse) -> TokenCounts {
    const BYTES_A_TOKEN: usize = 4;
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u64::MAX);
    let bytes_of = |of: fn(&Part) -> usize| said.parts.iter().map(of).sum::<usize>();
    let reasoning = bytes_of(|part| match part {
        Part::Reasoning(text) | Part::RedactedReasoning(text) => text.len(),
        _ => 0,
    });
    let text = bytes_of(|part| match part {
        Part::Text(text) => text.len(),
        _ => 0,
    });
    let arguments: usize = tool_calls(said)
        .map(|call| call.arguments.text().len())
        .sum();
    TokenCounts {
        input: tokens(prompt_bytes),
        output: tokens(reasoning + text + arguments),
        cached: tokens(cache.read_bytes),
        cache_written: tokens(cache.written_bytes),
        reasoning: tokens(reasoning),
    }
}
