//! The window: the part of a session that the model sees. It is a function of the log alone, the same
//! before and after a restart or an eviction (AS-15, AS-25). Pure.

use std::sync::Arc;

use samovar_core::provider::ContextNumbers;
use samovar_core::{ContextLimit, Event, Kind, Message, MessageId, Part, Prompt, Role, Seq};
use serde_json::Value;

use crate::log::weight;
use crate::projection;

#[cfg(test)]
mod tests;

/// Bytes of text in one token, about: English has more, digits and other scripts have less.
const BYTES_PER_TOKEN: u64 = 3;
/// Tokens that a message or a tool takes besides its text.
const FRAME: u64 = 8;
/// What is left of an old result that is shortened, in tokens.
const SHORT: u64 = 160;
/// What is left of the newest results at least, in tokens each.
const SHORTEST: u64 = 64;
/// The note in place of an omitted part.
const LEFT_OUT: &str = "bytes are left out here to save room; read again what you need of them";

/// The most that a window holds before a turn, in bytes: more text than any model can read.
const MAX_BYTES: usize = 8 << 20;

/// The place where the window begins in a conversation of `count` messages, before a turn. It holds
/// at most `max` messages, and moves a quarter of that at a time, so that the beginning, which
/// providers cache, stays the same for many turns.
pub(crate) fn start(count: usize, max: usize) -> usize {
    let step = (max / 4).max(1);
    count.saturating_sub(max).div_ceil(step) * step
}

/// The same where the messages from the place `before` on are known: from `from` on it moves until
/// what is in it is no longer than a window may be.
pub(crate) fn shortened(from: usize, before: usize, known: &[Arc<Message>], max: usize) -> usize {
    let mut from = from;
    while let Some(held) = from.checked_sub(before).and_then(|at| known.get(at..)) {
        if held.iter().map(weight::of_message).sum::<usize>() <= MAX_BYTES {
            break;
        }
        from += (max / 4).max(1);
    }
    from.min(before + known.len())
}

/// The end of a session's conversation, and what is known about the room for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    /// How many messages stand before these.
    before: usize,
    messages: Vec<Arc<Message>>,
    /// How much memory the messages take, in bytes.
    bytes: usize,
    /// The places of the messages that began a turn; others of the user's joined one.
    turns: Vec<usize>,
    /// The message that began the turn which the window cuts.
    opening: Option<Arc<Message>>,
    limit: Option<ContextLimit>,
    /// Where the log names the limit; 0 for one out of the history.
    limit_at: Seq,
}

impl Transcript {
    /// The messages of a conversation from the place `before` on, and the places where turns begin.
    pub(crate) fn new(
        before: usize,
        messages: Vec<Arc<Message>>,
        turns: Vec<usize>,
        limit: Option<ContextLimit>,
    ) -> Self {
        Self {
            before,
            bytes: messages.iter().map(weight::of_message).sum(),
            messages,
            turns,
            opening: None,
            limit,
            limit_at: Seq::default(),
        }
    }

    /// The same of a conversation that no turn is known of: each input may have begun one.
    pub(crate) fn beginning_with(
        before: usize,
        messages: Vec<Arc<Message>>,
        limit: Option<ContextLimit>,
        max: usize,
    ) -> Self {
        let is_input = |(_, message): &(usize, &Arc<Message>)| message.is_input();
        let inputs = messages.iter().enumerate().filter(is_input);
        let turns = inputs.map(|(at, _)| before + at).collect();
        let from = start(before + messages.len(), max).max(before);
        let from = shortened(from, before, &messages, max);
        let mut transcript = Self::new(before, messages, turns, limit);
        transcript.begin_at(from);
        transcript
    }

    /// Takes in what an event adds to the conversation, or reveals about the room for it.
    pub(crate) fn take(&mut self, event: &Event) {
        if let Some(message) = projection::message_of(event) {
            self.push(Arc::new(message));
        }
        if let Kind::StepReset {
            context: Some(limit),
            ..
        } = &event.kind
        {
            (self.limit, self.limit_at) = (Some(limit.clone()), event.seq);
        }
    }

    /// Forgets a limit that the log named before this position.
    pub(crate) fn forget_limit(&mut self, before: Seq) {
        if self.limit_at < before {
            self.limit = None;
        }
    }

    /// What is known about the window of a model.
    pub(crate) fn limit(&self, model: &str) -> Option<&ContextLimit> {
        self.limit.as_ref().filter(|limit| limit.model == model)
    }

    /// Moves the window before a new turn, and adds the message that begins it.
    pub(crate) fn begin_turn(&mut self, message: Arc<Message>, max: usize) {
        let place = self.before + self.messages.len();
        let from = start(place, max).max(self.before);
        self.begin_at(if self.bytes <= MAX_BYTES {
            from
        } else {
            shortened(from, self.before, &self.messages, max)
        });
        self.turns.push(place);
        self.push(message);
    }

    /// Adds what was said last.
    pub(crate) fn push(&mut self, message: Arc<Message>) {
        self.bytes += weight::of_message(&message);
        self.messages.push(message);
    }

    /// The messages in memory, oldest first.
    pub(crate) fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.iter().map(AsRef::as_ref)
    }

    /// The message that the first one belongs to: for a child, the one with its call.
    pub(crate) fn parent(&self) -> Option<&MessageId> {
        self.messages.first()?.parent.as_ref()
    }

    /// The conversation of a child, from its turn's events.
    pub(crate) fn of_turn<'a>(events: impl Iterator<Item = &'a Arc<Event>>, max: usize) -> Self {
        let mut transcript = Self::default();
        for event in events {
            match &event.kind {
                Kind::MessageFinished { message, .. } if message.is_input() => {
                    transcript.begin_turn(Arc::new(message.clone()), max);
                }
                _ => transcript.take(event),
            }
        }
        transcript
    }

    /// How much memory it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.opening.as_ref().map_or(0, weight::of_message)
    }

    /// Drops the messages before the place `start`.
    pub(crate) fn begin_at(&mut self, start: usize) {
        let cut = start.saturating_sub(self.before).min(self.messages.len());
        let kept = self.before + cut;
        if let Some(turn) = self.turns.iter().rfind(|turn| **turn < kept) {
            self.opening = self.messages.get(turn - self.before).cloned();
        }
        self.turns.retain(|turn| *turn >= kept);
        let dropped = self.messages.drain(..cut);
        self.bytes -= dropped
            .map(|message| weight::of_message(&message))
            .sum::<usize>();
        self.before = kept;
    }

    /// The messages in the window, from a turn's first message on; no result is without its call.
    fn window(&self) -> Vec<Arc<Message>> {
        let is_result = |message: &&Arc<Message>| message.role == Role::Tool;
        let cut_results = self.messages.iter().take_while(is_result).count();
        let mut rest = &self.messages[cut_results..];
        let begins_a_turn = rest.is_empty() || self.turns.contains(&(self.before + cut_results));
        let opening = self.opening.iter().filter(|_| !begins_a_turn);
        let opening: Vec<_> = opening.cloned().collect();
        if opening.is_empty() {
            let is_other = |message: &&Arc<Message>| !message.is_input();
            rest = &rest[rest.iter().take_while(is_other).count()..];
        }
        [opening.as_slice(), rest].concat()
    }

    /// Adds the conversation to a prompt, as much of it as a limit has room for. A quarter of that is
    /// the answer's, at most: many servers count what is reserved for it.
    ///
    /// What stands beside the message that began the turn, in this turn alone, comes before it.
    pub(crate) fn show_in(
        &self,
        mut prompt: Prompt,
        limit: Option<&ContextLimit>,
        aside: Option<String>,
    ) -> Prompt {
        let mut window = self.window();
        let of_turn = self.turns.last().map_or(window.len(), |turn| {
            self.before + self.messages.len() - turn
        });
        let turn = window.len().saturating_sub(of_turn);
        if let Some(aside) = aside
            && let Some(first) = window.get_mut(turn)
        {
            Arc::make_mut(first).parts.insert(0, Part::text(aside));
        }
        prompt.messages = match limit {
            Some(limit) => {
                let answer = (limit.tokens / 4).max(1).min(u64::from(prompt.max_tokens));
                prompt.max_tokens = u32::try_from(answer).unwrap_or(u32::MAX);
                let taken = size_of_frame(&prompt) + answer;
                fit(window, turn, limit.tokens.saturating_sub(taken))
            }
            None => window,
        };
        prompt
    }
}

/// The limit that a refused prompt reveals: the provider's own, in our estimate's tokens. At least an
/// eighth less than what was asked for, so that each refusal makes the next request smaller. Numbers
/// that are far from the estimate are not about this prompt.
pub(crate) fn revealed(prompt: &Prompt, numbers: ContextNumbers) -> u64 {
    let asked = size(prompt) + u64::from(prompt.max_tokens);
    let counted = if numbers.has_answer {
        asked
    } else {
        size(prompt)
    };
    let unnamed = asked / 4 * 3;
    let (named, counted) = match (numbers.limit, numbers.used) {
        (Some(limit), Some(used)) if (counted / 4..=counted.saturating_mul(4)).contains(&used) => {
            let scaled = u128::from(counted) * u128::from(limit) / u128::from(used.max(1));
            (u64::try_from(scaled).unwrap_or(u64::MAX), counted)
        }
        (Some(limit), None) => (limit.min(unnamed), asked),
        (_, _) => (unnamed, asked),
    };
    named.min(counted - counted / 8)
}

/// Whether a request is smaller than another, with what it reserves for the answer.
pub(crate) fn is_smaller(one: &Prompt, other: &Prompt) -> bool {
    let total = |prompt: &Prompt| size(prompt) + u64::from(prompt.max_tokens);
    total(one) < total(other)
}

/// The estimated size of a prompt, in tokens.
pub(crate) fn size(prompt: &Prompt) -> u64 {
    size_of_frame(prompt)
        + prompt
            .messages
            .iter()
            .map(|message| tokens(message))
            .sum::<u64>()
}

/// The estimated size of a prompt without the conversation.
fn size_of_frame(prompt: &Prompt) -> u64 {
    let layers = prompt.layers.iter().map(|layer| layer.text.len());
    let tools = prompt
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + length(&tool.parameters));
    layers.chain(tools).map(in_tokens).sum()
}

/// The estimated size of a message, in tokens.
pub(crate) fn tokens(message: &Message) -> u64 {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text { text } => text.len(),
        Part::Reasoning {
            text,
            provider_state,
        } => text.len() + provider_state.as_ref().map_or(0, length),
        Part::Call(call) => call.name.len() + length(&call.args),
        Part::Outcome { outcome, .. } => outcome.text.len(),
        Part::Data { .. } => 0,
    });
    in_tokens(parts.sum())
}

fn in_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN) + FRAME
}

/// The length of a value as JSON text, about.
fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 6,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| length(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| key.len() + 4 + length(value));
            fields.sum::<usize>() + 2
        }
    }
}

/// Makes a conversation, whose last turn begins at `turn`, fit into `room` tokens: old large results
/// become short, oldest first; then the oldest turns leave, then the oldest calls of the last turn,
/// which keeps its first message; then its newest results become short.
/// What leaves is rounded up to a quarter of the room, so that the beginning stays the same for many
/// steps. A conversation of one long user's message stays too long.
fn fit(mut messages: Vec<Arc<Message>>, turn: usize, room: u64) -> Vec<Arc<Message>> {
    let mut over = excess(&messages, room);
    let newest = last(&messages, |message| message.role != Role::Tool);
    for message in &mut messages[..newest] {
        if over == 0 {
            return messages;
        }
        over = over.saturating_sub(shorten(message, SHORT));
    }
    let over = excess(&messages, room);
    let (from, over) = skip(&messages[..turn], Role::User, over);
    messages.drain(..from);
    if over > 0 && messages.len() > 1 {
        let newest = last(&messages, |message| message.role != Role::Tool);
        let (calls, _) = skip(&messages[1..newest.max(1)], Role::Assistant, over);
        messages.drain(1..=calls);
    }
    shorten_newest(&mut messages, room);
    messages
}

/// How many tokens a conversation has too many, rounded up to a quarter of the room.
fn excess(messages: &[Arc<Message>], room: u64) -> u64 {
    let step = (room / 4).max(1);
    sum(messages).saturating_sub(room).div_ceil(step) * step
}

/// How many messages must go from the front to save `over` tokens, in groups that begin with a role;
/// and what is still to be saved.
fn skip(messages: &[Arc<Message>], role: Role, mut over: u64) -> (usize, u64) {
    let mut from = 0;
    while over > 0 && from < messages.len() {
        let rest = messages[from + 1..].iter();
        let next = from + 1 + rest.take_while(|message| message.role != role).count();
        over = over.saturating_sub(sum(&messages[from..next]));
        from = next;
    }
    (from, over)
}

/// Shares what room the other messages leave among the newest results.
fn shorten_newest(messages: &mut [Arc<Message>], room: u64) {
    let newest = last(messages, |message| message.role != Role::Tool) + 1;
    let (others, results) = messages.split_at_mut(newest.min(messages.len()));
    if results.is_empty() || sum(others) + sum(results) <= room {
        return;
    }
    let share = room.saturating_sub(sum(others)) / results.len() as u64;
    for result in results {
        shorten(result, share.max(SHORTEST));
    }
}

fn last(messages: &[Arc<Message>], is: impl Fn(&Arc<Message>) -> bool) -> usize {
    messages.iter().rposition(is).unwrap_or_default()
}

fn sum(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| tokens(message)).sum()
}

/// Shortens a result to at most so many tokens; answers how many that saves.
fn shorten(message: &mut Arc<Message>, to: u64) -> u64 {
    let before = tokens(message);
    if message.role != Role::Tool || before <= to {
        return 0;
    }
    for part in &mut Arc::make_mut(message).parts {
        if let Part::Outcome { outcome, .. } = part {
            outcome.text = ends(&outcome.text, to.saturating_sub(FRAME) * BYTES_PER_TOKEN);
        }
    }
    before.saturating_sub(tokens(message))
}

/// The beginning and the end of a text in at most so many bytes, with a note between them.
fn ends(text: &str, bytes: u64) -> String {
    let kept = usize::try_from(bytes).unwrap_or(usize::MAX);
    let kept = kept.saturating_sub(LEFT_OUT.len() + 24);
    let head = text.floor_char_boundary(kept / 3 * 2);
    let tail = text.ceil_char_boundary(text.len().saturating_sub(kept / 3).max(head));
    let (left_out, head, tail) = (tail - head, &text[..head], &text[tail..]);
    format!("{head}\n[{left_out} {LEFT_OUT}]\n{tail}")
}
