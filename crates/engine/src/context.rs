//! The window: the part of a session that the model sees. It is a function of the log alone, the same
//! before and after a restart or an eviction (AS-15, AS-25). Pure.

use std::sync::Arc;

use samovar_core::provider::ContextNumbers;
use samovar_core::{
    ContextLimit, Event, Kind, LimitSource, Message, MessageId, Part, Prompt, Role, Seq, ToolCall,
};

use crate::log::weight;
use crate::projection;

mod compared;
mod estimate;
mod images;
mod moving;
mod results;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use images::Images;

/// Tokens that a message or a tool takes besides its text.
const FRAME: u64 = 8;
/// What is left of an old result that is shortened, in tokens.
const SHORT: u64 = 160;
/// What is left of the newest results at least, in tokens each.
const SHORTEST: u64 = 64;
/// Growth of a conversation that no estimate can be wrong about, in bytes.
const SURE_GROWTH: usize = 2048;
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
    /// The answer that says most about the window.
    read: Option<Reading>,
}

/// What an answer says about how much of a prompt its model's server reads.
#[derive(Clone, Debug)]
struct Reading {
    model: String,
    /// Tokens of the prompt, as the server counts them.
    input: u64,
    /// Where the window began, and how many bytes of conversation the prompt had.
    before: usize,
    bytes: usize,
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
            read: None,
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
        if let Some(limit) = projection::limit_in(&event.kind) {
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
        let is_known =
            |limit: &&ContextLimit| limit.model == model && limit.source != LimitSource::Nothing;
        self.limit.as_ref().filter(is_known)
    }

    /// Whether a prompt is longer than every one that this model has answered here.
    pub(crate) fn is_longest(&self, model: &str) -> bool {
        let read = self.read.as_ref().filter(|read| read.model == model);
        read.is_none_or(|read| read.bytes < self.bytes)
    }

    /// Takes in how many tokens of the prompt a server counted that has just answered. Returns the limit
    /// of one that reads only a part: it counted fewer tokens of a prompt that only grew.
    pub(crate) fn has_read(&mut self, model: &str, input: u64) -> Option<ContextLimit> {
        let reading = Reading {
            model: model.to_owned(),
            input,
            before: self.before,
            bytes: self.bytes,
        };
        let last = self.read.replace(reading)?;
        let is_same = last.model == model && last.before == self.before;
        let has_grown = self.bytes >= last.bytes + last.bytes / 4 + SURE_GROWTH;
        // Some servers count only what was not in their cache, which may be anything.
        let is_cap =
            input <= last.input && input >= last.input / 4 * 3 && input >= SURE_GROWTH as u64 / 4;
        (is_same && has_grown && is_cap).then(|| ContextLimit {
            source: LimitSource::SilentCut,
            ..ContextLimit::new(model, last.input)
        })
    }

    /// Moves the window before a new turn, and adds the message that begins it.
    pub(crate) fn begin_turn(&mut self, message: Arc<Message>, max: usize) {
        let place = self.before + self.messages.len();
        self.make_room(max);
        self.turns.push(place);
        self.push(message);
    }

    /// Adds a message that no turn made, and moves the window as the next turn would.
    pub(crate) fn append(&mut self, message: Arc<Message>, max: usize) {
        let place = self.before + self.messages.len();
        if message.is_input() {
            self.turns.push(place);
        }
        self.push(message);
        self.make_room(max);
    }

    /// The calls at the end of the conversation that no result has closed.
    pub(crate) fn open_calls(&self) -> Vec<&ToolCall> {
        let is_result = |message: &&Arc<Message>| message.role == Role::Tool;
        let mut rest = self.messages.iter().rev();
        let results: Vec<_> = rest.by_ref().take_while(is_result).collect();
        let asked = self.messages.iter().rev().nth(results.len());
        let calls = asked.into_iter().flat_map(|message| message.calls());
        calls
            .filter(|call| !results.iter().any(|result| result.closes(&call.id)))
            .collect()
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
        results::closed([opening.as_slice(), rest].concat())
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
        images: Images,
    ) -> Prompt {
        let mut window = self.window();
        match images {
            Images::Described => images::described(&mut window),
            Images::Shown => images::leave_out_oldest(&mut window),
        }
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
                let room = estimated(limit.tokens - answer, limit.per_mille);
                fit(window, turn, room.saturating_sub(size_of_frame(&prompt)))
            }
            None => window,
        };
        prompt
    }
}

/// Tokens as a server counts them in estimated ones, where it counts `per_mille` for a thousand.
fn estimated(tokens: u64, per_mille: u32) -> u64 {
    let tokens = u128::from(tokens) * 1000 / u128::from(per_mille.max(1));
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// The other way round.
fn counted(tokens: u64, per_mille: u64) -> u64 {
    let tokens = u128::from(tokens) * u128::from(per_mille) / 1000;
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// The limit that a refused prompt reveals, with the ratio of the server's count to the estimate. At
/// least an eighth less than what was asked for, so that each refusal makes the next request smaller.
/// Numbers that are far from the estimate are not about this prompt.
pub(crate) fn revealed(
    model: &str,
    prompt: &Prompt,
    numbers: ContextNumbers,
    known: Option<&ContextLimit>,
) -> ContextLimit {
    let own = size(prompt);
    let asked = own + u64::from(prompt.max_tokens);
    let said_of = if numbers.has_answer { asked } else { own };
    let known = known.map_or(1000, |limit| limit.per_mille.into());
    let is_near = |used: &u64| (said_of / 4..=said_of.saturating_mul(8)).contains(used);
    let unnamed = counted(asked / 4 * 3, known);
    let (tokens, per_mille, base) = match (numbers.limit, numbers.used.filter(is_near)) {
        (Some(limit), Some(used)) => (limit, used * 1000 / said_of.max(1), said_of),
        (Some(limit), None) if numbers.used.is_none() => (limit.min(unnamed), known, asked),
        (_, _) => match numbers.excess {
            Some(excess) => (counted(asked, known).saturating_sub(excess), known, asked),
            None => (unnamed, known, asked),
        },
    };
    let most = counted(base - base / 8, per_mille);
    ContextLimit {
        per_mille: u32::try_from(per_mille.max(1)).unwrap_or(u32::MAX),
        ..ContextLimit::new(model, tokens.min(most))
    }
}

/// The limit to try after a refusal that does not say why: half of what was asked for.
pub(crate) fn guessed(model: &str, prompt: &Prompt, known: Option<&ContextLimit>) -> ContextLimit {
    let per_mille = known.map_or(1000, |limit| limit.per_mille);
    let asked = size(prompt) + u64::from(prompt.max_tokens);
    ContextLimit {
        per_mille,
        source: LimitSource::Guess,
        ..ContextLimit::new(model, counted(asked / 2, per_mille.into()))
    }
}

/// The most tokens of a system prompt where this is known of the model's window: half of it, as they
/// are estimated.
pub(crate) fn room_for_layers(limit: &ContextLimit) -> u64 {
    estimated(limit.tokens / 2, limit.per_mille)
}

/// Whether a prompt is too long for the window even without the conversation.
pub(crate) fn has_no_room(prompt: &Prompt, limit: &ContextLimit) -> bool {
    size_of_frame(prompt) >= estimated(limit.tokens, limit.per_mille)
}

/// How many tokens a text has, about.
pub(crate) fn tokens_of(text: &str) -> u64 {
    in_tokens(estimate::of_text(text))
}

/// The beginning of a text that has about so many tokens, in whole characters.
pub(crate) fn beginning_of(text: &str, tokens: u64) -> &str {
    estimate::beginning(text, tokens.saturating_sub(FRAME) * 100)
}

/// The ratio of a server's count of a prompt to the estimate of it, where the known one is so wrong
/// that a prompt may become too long, or uses too little of the window. It changes seldom: each change
/// may move the beginning of the window.
pub(crate) fn learned(limit: &ContextLimit, estimated: u64, input: u64) -> Option<u32> {
    let ratio = u128::from(input) * 1000 / u128::from(estimated.max(1));
    let ratio = u32::try_from(ratio).ok()?;
    // A server that counts only what was not in its cache says nothing.
    if !(250..=8000).contains(&ratio) {
        return None;
    }
    let known = limit.per_mille;
    let is_too_low = ratio > known + known / 16;
    let is_too_high = ratio < known / 10 * 7;
    (is_too_low || is_too_high).then(|| ratio + ratio / 16)
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
    let layers = prompt.layers.iter().map(|layer| tokens_of(&layer.text));
    layers.sum::<u64>() + size_of_tools(prompt)
}

/// The estimated size of a prompt's tools, in tokens.
pub(crate) fn size_of_tools(prompt: &Prompt) -> u64 {
    let tools = prompt.tools.iter().map(|tool| {
        let words = estimate::of_text(&tool.name) + estimate::of_text(&tool.description);
        words + estimate::of_value(&tool.parameters)
    });
    tools.map(in_tokens).sum()
}

/// The estimated size of a message, in tokens.
pub(crate) fn tokens(message: &Message) -> u64 {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text { text } => estimate::of_text(text),
        Part::Reasoning {
            text,
            provider_state,
        } => estimate::of_text(text) + provider_state.as_ref().map_or(0, estimate::of_value),
        Part::Call(call) => estimate::of_text(&call.name) + estimate::of_value(&call.args),
        Part::Outcome { outcome, .. } => estimate::of_text(&outcome.text),
        Part::Data { .. } => 0,
        Part::Image { width, height, .. } => images::tokens(*width, *height) * 100,
    });
    in_tokens(parts.sum())
}

fn in_tokens(hundredths: u64) -> u64 {
    hundredths.div_ceil(100) + FRAME
}

/// Makes a conversation, whose last turn begins at `turn`, fit into `room` tokens: images leave, oldest
/// first; old large results become short, oldest first; then the oldest turns leave, then the oldest calls of the last turn,
/// which keeps its first message, with a note of what left; then its newest results become short.
/// What leaves is rounded up to a quarter of the room, so that the beginning stays the same for many
/// steps. A conversation of one long user's message stays too long.
fn fit(messages: Vec<Arc<Message>>, turn: usize, room: u64) -> Vec<Arc<Message>> {
    // Each is read once, however often it is looked at.
    let mut messages: Vec<_> = messages.into_iter().map(Sized::new).collect();
    let over = excess(&messages, room);
    let mut over = images::leave_out(&mut messages, over);
    let newest = last(&messages, |message| message.role != Role::Tool);
    for message in &mut messages[..newest] {
        if over == 0 {
            return whole(messages);
        }
        over = over.saturating_sub(message.shorten(SHORT));
    }
    let over = excess(&messages, room);
    let reserve = steps::reserve(room);
    let over_with_note = excess(&messages, room - reserve);
    let (from, over) = skip(&messages[..turn], Role::User, over);
    let (_, over_with_note) = skip(&messages[..turn], Role::User, over_with_note);
    messages.drain(..from);
    if over > 0 && messages.len() > 1 {
        let newest = last(&messages, |message| message.role != Role::Tool);
        let steps = &messages[1..newest.max(1)];
        let (calls, _) = skip(steps, Role::Assistant, over_with_note);
        let left_out: Vec<_> = messages.drain(1..=calls).collect();
        let left_out = left_out.iter().map(|sized| &sized.message);
        if let Some(note) = steps::note(left_out, reserve).filter(|_| calls > 0) {
            messages[0].add(note);
        }
    }
    shorten_newest(&mut messages, room);
    whole(messages)
}

/// A message with its estimated size.
struct Sized {
    message: Arc<Message>,
    tokens: u64,
}

fn whole(messages: Vec<Sized>) -> Vec<Arc<Message>> {
    messages.into_iter().map(|sized| sized.message).collect()
}

/// How many tokens a conversation has too many, rounded up to a quarter of the room.
fn excess(messages: &[Sized], room: u64) -> u64 {
    let step = (room / 4).max(1);
    sum(messages).saturating_sub(room).div_ceil(step) * step
}

/// How many messages must go from the front to save `over` tokens, in groups that begin with a role;
/// and what is still to be saved.
fn skip(messages: &[Sized], role: Role, mut over: u64) -> (usize, u64) {
    let mut from = 0;
    while over > 0 && from < messages.len() {
        let rest = messages[from + 1..].iter();
        let next = from + 1 + rest.take_while(|sized| sized.message.role != role).count();
        over = over.saturating_sub(sum(&messages[from..next]));
        from = next;
    }
    (from, over)
}

/// Shares what room the other messages leave among the newest results.
fn shorten_newest(messages: &mut [Sized], room: u64) {
    let newest = last(messages, |message| message.role != Role::Tool) + 1;
    let (others, results) = messages.split_at_mut(newest.min(messages.len()));
    if results.is_empty() || sum(others) + sum(results) <= room {
        return;
    }
    let share = room.saturating_sub(sum(others)) / results.len() as u64;
    for result in results {
        result.shorten(share.max(SHORTEST));
    }
}

fn last(messages: &[Sized], is: impl Fn(&Message) -> bool) -> usize {
    let last = messages.iter().rposition(|sized| is(&sized.message));
    last.unwrap_or_default()
}

fn sum(messages: &[Sized]) -> u64 {
    messages.iter().map(|sized| sized.tokens).sum()
}

impl Sized {
    fn new(message: Arc<Message>) -> Self {
        let tokens = tokens(&message);
        Self { message, tokens }
    }

    /// Adds a text after what the message says.
    fn add(&mut self, text: String) {
        Arc::make_mut(&mut self.message)
            .parts
            .push(Part::text(text));
        self.tokens = tokens(&self.message);
    }

    /// Shortens a result to at most so many tokens, about; answers how many that saves.
    fn shorten(&mut self, to: u64) -> u64 {
        let before = self.tokens;
        if self.message.role != Role::Tool || before <= to {
            return 0;
        }
        for part in &mut Arc::make_mut(&mut self.message).parts {
            if let Part::Outcome { outcome, .. } = part {
                let length = outcome.text.len() as u64;
                // As dense as the whole: a table of numbers has three times the tokens of prose.
                let bytes = length * to.saturating_sub(FRAME) / (before - FRAME).max(1);
                outcome.text = ends(&outcome.text, bytes);
            }
        }
        self.tokens = tokens(&self.message);
        before.saturating_sub(self.tokens)
    }
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
