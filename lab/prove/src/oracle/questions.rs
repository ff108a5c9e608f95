//! Questions: each is asked once in a life until it is answered, under one call, and nothing else of
//! its turn continues meanwhile.

mod replies;

use std::collections::{BTreeMap, BTreeSet};

use super::chat::{self, Logs, chat_of};
use super::{Streams, count};
use crate::observed::{ChatAgent, ChatMessage, Observed, Profile, Reply};
use crate::scene::{self, ASK, POST};
use crate::turn_record::{Call, Closing, TurnRecord};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// Who asks: the agent of the sessions that are talked to.
const ASKER: &str = "master";

/// The chat's own agent.
const CHAT_AGENT: &str = "AdaptiveAgent";

/// The role of what agents say.
const AGENT: &str = "agent";

/// The role and the author of what persons say.
const PERSON: &str = "user";

pub(super) fn judge(observed: &Observed, streams: &Streams<'_>, verdict: &mut Verdict) {
    let logs = chat::judge(&observed.chat, verdict);
    let case = Case {
        observed,
        streams,
        logs,
        known: known(streams),
    };
    for (message, whole) in streams.turns() {
        if let Some(what) = &whole.told.beside {
            verdict.find(Broken::RanBeside, message, what);
        }
        case.in_its_place(message, &whole.told, verdict);
    }
    case.asked(verdict);
    case.said_by_nobody(verdict);
    case.said_unwoken(verdict);
    case.one_call_each(verdict);
    replies::judge(&case, verdict);
}

/// Something that a turn says in the chat.
#[derive(Clone, Copy)]
struct ChatCall<'c> {
    /// The message whose turn it is.
    message: &'c str,
    told: &'c TurnRecord,
    /// Its place among the turn's calls.
    place: usize,
    call: &'c Call,
}

impl<'c> ChatCall<'c> {
    fn is_question(self) -> bool {
        self.call.name == ASK
    }

    fn closing(self) -> Option<&'c Closing> {
        self.call.closings.first()
    }

    /// Whether a call of its turn stands behind it.
    fn is_before(self, call: &str) -> bool {
        let mut behind = self.told.calls.iter().skip(self.place + 1);
        behind.any(|other| other.id == call)
    }
}

/// All that is known.
struct Case<'c> {
    observed: &'c Observed,
    streams: &'c Streams<'c>,
    logs: Logs<'c>,
    /// What turns say that are known whole, by its text.
    known: BTreeMap<&'c str, ChatCall<'c>>,
}

fn known<'c>(streams: &'c Streams<'_>) -> BTreeMap<&'c str, ChatCall<'c>> {
    let mut known = BTreeMap::new();
    for (message, whole) in streams.turns().filter(|(_, whole)| whole.reading.is_done) {
        let told = &whole.told;
        for (place, call) in told.calls.iter().enumerate() {
            if let Some(text) = text_of(call) {
                let said = ChatCall {
                    message,
                    told,
                    place,
                    call,
                };
                known.insert(text, said);
            }
        }
    }
    known
}

/// What a call says in the chat.
fn text_of(call: &Call) -> Option<&str> {
    match call.name.as_str() {
        ASK => call.args["question"].as_str(),
        POST => call.args["text"].as_str(),
        _ => None,
    }
}

impl<'c> Case<'c> {
    /// What agents have said, with the life in whose chat it was.
    fn by_agents(&self) -> impl Iterator<Item = (u64, &'c ChatMessage)> {
        self.logs.all().filter(|(_, said)| said.role == AGENT)
    }

    /// The question that a message of the chat asks, if its turn is known whole.
    fn question(&self, text: &str) -> Option<ChatCall<'c>> {
        let said = self.known.get(text).copied();
        said.filter(|said| said.is_question())
    }

    /// What a turn says behind a question comes in the chat behind its answer.
    fn in_its_place(&self, message: &str, told: &TurnRecord, verdict: &mut Verdict) {
        let texts: Vec<_> = told.calls.iter().filter_map(text_of).collect();
        for (life, log) in self.logs.lives().filter(|_| !texts.is_empty()) {
            let mut places = Vec::new();
            for text in &texts {
                let said = log.values().find(|said| said.text == *text);
                let Some(said) = said else { continue };
                places.push(said.id);
                // A note that it is withdrawn may come any time.
                let mut answers = log.values().filter(|other| other.role == PERSON);
                let answer = answers.find(|answer| answer.reply_to == Some(said.id));
                places.extend(answer.map(|answer| answer.id));
            }
            if !places.is_sorted() {
                let found = format!("{}: {places:?}", chat_of(life));
                verdict.find(Broken::RanBeside, message, found);
            }
        }
    }

    /// Each text is said once in a life, by who says it, and a question as long as it is open.
    fn asked(&self, verdict: &mut Verdict) {
        let mut lives: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for (life, said) in self.by_agents() {
            let Some(known) = self.known.get(said.text.as_str()) else {
                continue;
            };
            if said.author != ASKER || said.reply_to.is_some() {
                verdict.find(Broken::SaidByNobody, known.message, format!("{said:?}"));
            }
            if !lives.entry(&said.text).or_default().insert(life) {
                let found = format!("{}: {}", chat_of(life), said.text);
                verdict.find(Broken::QuestionTwice, known.message, found);
            }
        }
        for (text, lives) in lives {
            if self.question(text).is_some() {
                verdict.counts.chat.questions += 1;
                verdict.counts.chat.asked_again += count(lives.len() - 1);
            } else {
                verdict.counts.chat.posted += 1;
            }
        }
        for question in &self.observed.chat.unasked {
            verdict.find(Broken::QuestionUnasked, question, "");
        }
        for state in &self.observed.chat.left {
            verdict.find(Broken::QuestionLeft, state, "");
        }
    }

    /// What agents say in the chat is what their turns say: no attempt that was void, and no call
    /// that was never kept.
    fn said_by_nobody(&self, verdict: &mut Verdict) {
        for (life, said) in self.by_agents() {
            let mut posts = self.observed.posts.iter();
            let post = posts.find(|post| said.text.contains(&format!(" {} ", post.message)));
            let is_known = self.known.contains_key(said.text.as_str());
            let is_whole =
                post.is_some_and(|post| self.streams.over(&post.message, Profile::Full).is_some());
            if is_whole && !is_known {
                verdict.find(Broken::SaidByNobody, &chat_of(life), &said.text);
            }
        }
    }

    /// The chat's own agent speaks where there is one, and somebody has woken it: a person whom
    /// nobody waited for, or a signal.
    fn said_unwoken(&self, verdict: &mut Verdict) {
        for (life, log) in self.logs.lives() {
            let mut own = log.values().filter(|said| said.author == CHAT_AGENT);
            let Some(said) = own.next() else { continue };
            verdict.counts.chat.own_words += 1 + count(own.count());
            let mut before = log.values().take_while(|other| other.id < said.id);
            let is_woken = before.any(|other| match other.role.as_str() {
                PERSON => other.reply_to.is_none(),
                AGENT => scene::is_signal(&other.text),
                _ => false,
            });
            if !is_woken || self.observed.chat.agent == ChatAgent::Nobody {
                verdict.find(Broken::SaidByNobody, &chat_of(life), &said.text);
            }
        }
    }

    /// A question has the same call in all lives, and that is the one of its turn.
    fn one_call_each(&self, verdict: &mut Verdict) {
        let mut calls: BTreeMap<&str, &str> = BTreeMap::new();
        for open in &self.observed.chat.open {
            let told = self.question(&open.question);
            let own = told.map_or(open.call.as_str(), |said| &said.call.id);
            let known = *calls.entry(&open.question).or_insert(own);
            if known != open.call {
                let found = format!("{} / {known}", open.call);
                verdict.find(Broken::QuestionMoved, &open.question, found);
            }
        }
    }

    /// Nothing that waits for a question's answer happened before somebody gave it.
    fn not_before(&self, said: ChatCall<'_>, reply: &Reply, verdict: &mut Verdict) {
        let mut effects = self.observed.effects.iter();
        let effect =
            effects.find(|effect| effect.at < reply.sent_at && said.is_before(&effect.call));
        if let Some(effect) = effect {
            verdict.find(Broken::RanBeside, said.message, &effect.call);
        }
        // Behind what has joined the turn, results are counted again.
        let is_alone = said.told.joined.is_empty();
        let mut prompts = self.observed.asked.iter();
        let prompt = prompts.find(|prompt| {
            let is_own = prompt.message == said.message && prompt.results > said.place;
            is_own && is_alone && prompt.number < reply.prompts
        });
        if let Some(prompt) = prompt {
            let found = format!("prompt {}", prompt.number);
            verdict.find(Broken::RanBeside, said.message, found);
        }
    }
}
