//! Replies: what a person was told to have answered is its question's outcome, for ever, and nothing
//! else is one.

use std::collections::BTreeMap;

use super::{AGENT, Case, ChatCall, PERSON, chat_of};
use crate::observed::{AnswerRoute, AnswerStatus, ChatMessage, Reply};
use crate::scene::POST;
use crate::turn_record::{Closing, TurnEnd};
use crate::verdict::Verdict;
use crate::violation::Broken;

pub(super) fn judge(case: &Case<'_>, verdict: &mut Verdict) {
    let replies = case.observed.chat.replies.iter();
    let case = Judge {
        case,
        replies: replies.map(|reply| (reply.text.as_str(), reply)).collect(),
    };
    case.outcomes(verdict);
    case.heard(verdict);
    case.told_so(verdict);
    case.posts(verdict);
}

struct Judge<'j, 'c> {
    case: &'j Case<'c>,
    /// What persons said, by its text.
    replies: BTreeMap<&'c str, &'c Reply>,
}

impl<'c> Judge<'_, 'c> {
    /// Every outcome of a question was given by somebody, each word closes one, and what is closed is
    /// not asked in a later life.
    fn outcomes(&self, verdict: &mut Verdict) {
        let mut used: BTreeMap<&str, &str> = BTreeMap::new();
        let questions = self.case.known.values().filter(|said| said.is_question());
        for said in questions {
            let Some(closing) = said.closing() else {
                continue;
            };
            match self.giver(*said, closing) {
                Giver::Nobody => {
                    let found = format!("{}: {closing:?}", said.call.id);
                    verdict.find(Broken::ReplyInvented, said.message, found);
                }
                Giver::End => {}
                Giver::Person(reply) => {
                    verdict.counts.chat.answers_kept += 1;
                    if let Some(other) = used.insert(&reply.text, &said.call.id) {
                        let found = format!("{} and {other}: {}", said.call.id, reply.text);
                        verdict.find(Broken::ReplyTwice, said.message, found);
                    }
                    self.case.not_before(*said, reply, verdict);
                    self.asked_later(*said, reply, verdict);
                }
            }
        }
    }

    /// Who closed a question so.
    fn giver(&self, said: ChatCall<'_>, closing: &Closing) -> Giver<'c> {
        let reply = self.replies.get(closing.text.as_str()).copied();
        let reply = reply.filter(|reply| reply.fate != AnswerStatus::Refused);
        let call = &said.call.id;
        match (closing.status.as_str(), reply) {
            ("done", Some(reply)) if reply.way == AnswerRoute::Chat => Giver::Person(reply),
            ("done", Some(reply)) if reply.way == AnswerRoute::Result(call.clone()) => {
                Giver::Person(reply)
            }
            ("failed", Some(reply)) if reply.way == AnswerRoute::Error(call.clone()) => {
                Giver::Person(reply)
            }
            // Whoever ends a turn by force closes what is open in it.
            ("cancelled", None) if !matches!(said.told.ends.first(), Some(TurnEnd::Model(_))) => {
                Giver::End
            }
            _ => Giver::Nobody,
        }
    }

    fn asked_later(&self, said: ChatCall<'_>, reply: &Reply, verdict: &mut Verdict) {
        let mut asked = self.case.by_agents();
        let text = said.call.args["question"].as_str();
        let later =
            asked.find(|(life, asked)| Some(asked.text.as_str()) == text && *life > reply.life);
        if let Some((life, _)) = later {
            let found = format!("{}: {}", chat_of(life), reply.text);
            verdict.find(Broken::AskedWhenAnswered, said.message, found);
        }
    }

    /// Every answer that the chat has shown is the outcome of the one question that it names, and was
    /// said by a person.
    fn heard(&self, verdict: &mut Verdict) {
        let mut answered: BTreeMap<&str, &str> = BTreeMap::new();
        for (life, answer) in self.case.logs.all().filter(|(_, said)| said.role == PERSON) {
            let reply = self.replies.get(answer.text.as_str());
            let is_said =
                reply.is_some_and(|reply| reply.way == AnswerRoute::Chat && reply.life == life);
            if !is_said || answer.author != PERSON {
                verdict.find(Broken::ReplyInvented, &chat_of(life), format!("{answer:?}"));
            }
            if reply.is_some_and(|reply| reply.fate == AnswerStatus::Refused) {
                verdict.find(Broken::RejectedKept, &chat_of(life), &answer.text);
            }
            let Some(question) = answer.reply_to else {
                verdict.counts.chat.strays += u64::from(answer.author == PERSON);
                continue;
            };
            let Some(question) = self.case.logs.get(life, question) else {
                verdict.find(Broken::ReplyInvented, &chat_of(life), format!("{answer:?}"));
                continue;
            };
            if let Some(first) = answered.insert(&question.text, &answer.text) {
                let found = format!("{first} / {}", answer.text);
                verdict.find(Broken::ReplyTwice, &question.text, found);
            }
            self.kept(question, answer, verdict);
        }
    }

    /// What answered a question is its outcome.
    fn kept(&self, question: &ChatMessage, answer: &ChatMessage, verdict: &mut Verdict) {
        let Some(said) = self.case.known.get(question.text.as_str()) else {
            if question.role != AGENT {
                verdict.find(Broken::ReplyInvented, &question.text, &answer.text);
            }
            // Of a session that was deleted nothing is known.
            return;
        };
        verdict.counts.chat.answers += 1;
        let outcome = said.closing();
        let is_kept =
            outcome.is_some_and(|closing| closing.status == "done" && closing.text == answer.text);
        if !is_kept {
            let found = format!("{} / {outcome:?}", answer.text);
            lost(said.message, found, verdict);
        }
    }

    /// Whoever was told that their word is taken finds it.
    fn told_so(&self, verdict: &mut Verdict) {
        for reply in &self.case.observed.chat.replies {
            let AnswerStatus::Taken(id) = reply.fate else {
                continue;
            };
            match &reply.way {
                AnswerRoute::Chat => self.in_the_chat(reply, id, verdict),
                AnswerRoute::Result(call) => self.settled(reply, call, "done", verdict),
                AnswerRoute::Error(call) => self.settled(reply, call, "failed", verdict),
            }
        }
    }

    fn in_the_chat(&self, reply: &Reply, id: Option<u64>, verdict: &mut Verdict) {
        let id = id.unwrap_or_default();
        let found = self.case.logs.get(reply.life, id);
        let is_there = match found {
            Some(message) => message.text == reply.text,
            None => id > 0 && self.case.logs.is_open_at(reply.life, id),
        };
        if !is_there {
            lost(
                &chat_of(reply.life),
                format!("{reply:?} / {found:?}"),
                verdict,
            );
        }
    }

    fn settled(&self, reply: &Reply, call: &str, status: &str, verdict: &mut Verdict) {
        let mut known = self.case.known.values();
        let Some(said) = known.find(|said| said.call.id == call) else {
            return;
        };
        verdict.counts.chat.answers += 1;
        let outcome = said.closing();
        let is_kept =
            outcome.is_some_and(|closing| closing.status == status && closing.text == reply.text);
        if !is_kept {
            lost(
                said.message,
                format!("{} / {outcome:?}", reply.text),
                verdict,
            );
        }
    }

    /// What was said in the chat has the id that the chat shows it under.
    fn posts(&self, verdict: &mut Verdict) {
        let posts = self.case.known.iter();
        for (text, said) in posts.filter(|(_, said)| said.call.name == POST) {
            let done = said.closing().filter(|closing| closing.status == "done");
            let Some(closing) = done else { continue };
            let id = closing.text.rsplit(' ').next();
            let id = id.and_then(|id| id.parse().ok()).unwrap_or(0);
            let mut lives = self.case.logs.lives();
            let is_there = lives.any(|(life, log)| match log.get(&id) {
                Some(message) => message.text == *text,
                None => id > 0 && self.case.logs.is_open_at(life, id),
            });
            if !is_there {
                let found = format!("{}: {closing:?}", said.call.id);
                verdict.find(Broken::ResultInvented, said.message, found);
            }
        }
    }
}

/// Who closed a question.
enum Giver<'c> {
    Person(&'c Reply),
    /// Whoever has ended its turn.
    End,
    Nobody,
}

fn lost(place: &str, found: String, verdict: &mut Verdict) {
    verdict.counts.chat.answers_lost += 1;
    verdict.find(Broken::ReplyLost, place, found);
}
