//! What the members of a room say: requests to the host, and what it answers (RL-6, RL-7).

use std::sync::Arc;

use samovar_core::planted;
use samovar_core::relay::{Envelope, MessageGroup, MessageKind, Payload, RelayCode, RelayRole};
use serde_json::Value;

use super::pending::Request;
use super::shape::{self, Strictness};
use super::step::{
    Change, Delivery, Key, Move, Refusal, RoomTime, Source, Step, Subject, answers, cost, payload,
};
use super::{Room, Starting, Study};
use crate::backend_data::strip_backend_data;
use crate::row::{CheckedPayload, Direction, note};

/// What a host said, free of what must not leave it.
struct HostMessage {
    who: Subject,
    envelope: Envelope,
    told: Arc<CheckedPayload>,
}

impl Room {
    /// A member says something that is no join.
    pub(crate) fn said(&self, key: Key, envelope: Envelope, now: RoomTime) -> Step {
        let id = envelope.id.clone();
        let mut step = Step::new(now.wall, Some(Source { key, id }));
        match self.who(key) {
            Some(who) => match who.role {
                RelayRole::Agent => self.agent_said(&mut step, who, envelope, now),
                RelayRole::Host => self.host_said(&mut step, who, envelope),
            },
            None => step.error_unkept(key, &not_joined(), envelope.id),
        }
        step
    }

    fn agent_said(&self, step: &mut Step, who: Subject, envelope: Envelope, now: RoomTime) {
        let told = Arc::new(CheckedPayload::of(&envelope.payload));
        if let Err(refusal) = shape::payload_kept(&envelope.payload, told.bytes()) {
            return step.refuse_unread(who, &refusal, (&envelope, told.bytes()));
        }
        let judged = shape::of_agent(&envelope, self.rules.strictness)
            .and_then(|()| self.judge_state(envelope.kind))
            .and_then(|()| self.judge_room(who));
        let host = match judged {
            Ok(host) => host,
            Err(refusal) => {
                step.received(who, &envelope, &told);
                return step.refuse(who, &refusal, envelope.id);
            }
        };
        self.forward(step, (who, host), (envelope, told), now);
    }

    /// Whether the study session lets this pass.
    fn judge_state(&self, kind: MessageKind) -> Result<(), Refusal> {
        let needs_study = match kind {
            MessageKind::SessionStart if self.starting.is_some() => {
                return Err(Refusal::inactive("another session.start is under way"));
            }
            MessageKind::SessionStart | MessageKind::SessionEnd if self.ending.is_some() => {
                return Err(Refusal::inactive("the session is ending already"));
            }
            MessageKind::SessionEnd if self.starting.is_some() => {
                return Err(Refusal::inactive("a session.start is under way"));
            }
            MessageKind::SessionEnd => true,
            MessageKind::ToolCall | MessageKind::AgentMessage => {
                self.rules.strictness == Strictness::Strict
            }
            other => match other.group() {
                MessageGroup::Relay | MessageGroup::ToHost | MessageGroup::ToAgents => {
                    return Ok(());
                }
            },
        };
        match &self.study {
            Study::Stopped(why) => Err(Refusal::inactive(format!(
                "the study session was stopped, because its log cannot be written: {why}; \
                 send session.start for a new one"
            ))),
            Study::None if needs_study => {
                let why = "there is no study session; send session.start first";
                Err(Refusal::inactive(why))
            }
            Study::None | Study::Open(_) => Ok(()),
        }
    }

    /// Whether there is a host, and room for one more request of this agent.
    fn judge_room(&self, who: Subject) -> Result<Subject, Refusal> {
        let Some((key, _)) = self.host else {
            let why = "no host is in this room; wait until one has joined";
            return Err(Refusal::inactive(why));
        };
        let open = self.agents.get(&who.key).map_or(0, |agent| agent.open);
        if open >= self.rules.max_open {
            let why = format!("{open} requests are open; wait until some are answered");
            return Err(Refusal::new(RelayCode::ToolExecutionFailed, why));
        }
        Ok(Subject {
            key,
            role: RelayRole::Host,
            member: None,
        })
    }

    fn forward(
        &self,
        step: &mut Step,
        (who, host): (Subject, Subject),
        (envelope, told): (Envelope, Arc<CheckedPayload>),
        now: RoomTime,
    ) {
        let kind = envelope.kind;
        let (id, made) = self.pending.id_for(envelope.id.as_deref());
        let request = Request {
            agent: who.key,
            kind,
            asked_as: envelope.id.clone(),
            deadline: now.since + self.rules.reply_timeout,
        };
        let received = step.row(Direction::In, who, &envelope, &told);
        let lacks_reason = shape::lacks_reason(&envelope);
        let (forwarded, told) = with_params(envelope, told);
        let forwarded = forwarded.with_id(id.clone());
        if kind == MessageKind::SessionStart {
            let out = step.row(Direction::Out, host, &forwarded, &told);
            step.changes.push(Change::Starting(Starting {
                request: id.clone(),
                rows: vec![received, out],
                about: about(&forwarded.payload),
            }));
            step.deliveries.push(Delivery {
                to: host.key,
                bytes: cost(&forwarded, told.bytes()),
                envelope: Arc::new(forwarded),
                row: None,
            });
        } else {
            step.rows.push(received);
            if lacks_reason {
                step.note(note::NO_REASON, Some(who), &payload([]));
            }
            planted!("relay-request-twice", {
                step.deliver(host, Arc::new(forwarded.clone()), &told);
            });
            step.deliver(host, Arc::new(forwarded), &told);
        }
        if kind == MessageKind::SessionEnd {
            step.changes.push(Change::Ending(id.clone()));
        }
        step.changes.push(Change::Remember(id, request, made));
    }

    fn host_said(&self, step: &mut Step, who: Subject, mut envelope: Envelope) {
        strip_backend_data(&mut envelope.payload);
        let told = Arc::new(CheckedPayload::of(&envelope.payload));
        let judged = shape::payload_kept(&envelope.payload, told.bytes())
            .and_then(|()| shape::of_host(&envelope));
        if let Err(refusal) = judged {
            return step.refuse_unread(who, &refusal, (&envelope, told.bytes()));
        }
        let heard = HostMessage {
            who,
            envelope,
            told,
        };
        let kind = heard.envelope.kind;
        if kind == MessageKind::StateUpdated || kind == MessageKind::UserMessage {
            return send(step, heard, &self.all_agents(), None);
        }
        self.replied(step, heard);
    }

    /// A reply goes to who asked for it, and to nobody else.
    fn replied(&self, step: &mut Step, heard: HostMessage) {
        let Some(id) = heard.envelope.reply_to.clone() else {
            return self.told_all(step, heard);
        };
        let Some(request) = self.pending.get(&id) else {
            let HostMessage {
                who,
                envelope,
                told,
            } = heard;
            step.received(who, &envelope, &told);
            let noted = [
                ("type", envelope.kind.as_str().into()),
                ("replyTo", id.into()),
            ];
            return step.note(note::DROPPED, Some(who), &payload(noted));
        };
        if !answers(heard.envelope.kind, request.kind) {
            let (reply, asked) = (heard.envelope.kind.as_str(), request.kind.as_str());
            let why = format!("{reply} is no answer to a {asked}; {id:?} is still open");
            let given = (&heard.envelope, heard.told.bytes());
            return step.refuse_unread(heard.who, &Refusal::message(why), given);
        }
        let to: Vec<Subject> = self.agent(request.agent).into_iter().collect();
        let asked_as = request.asked_as.clone();
        planted!("relay-reply-to-all", {
            step.changes.push(Change::Answered(id.clone()));
            return self.settle(step, heard, &self.all_agents(), (Some(id), asked_as));
        });
        planted!("relay-reply-again", {
            return self.settle(step, heard, &to, (Some(id), asked_as));
        });
        step.changes.push(Change::Answered(id.clone()));
        self.settle(step, heard, &to, (Some(id), asked_as));
    }

    /// A reply that names no request goes to all agents.
    fn told_all(&self, step: &mut Step, heard: HostMessage) {
        let kind = heard.envelope.kind;
        let request = if kind == MessageKind::SessionStarted {
            self.starting.as_ref().map(|start| start.request.clone())
        } else {
            self.ending
                .clone()
                .filter(|_| kind == MessageKind::SessionEnded)
        };
        if let Some(id) = request.clone() {
            step.changes.push(Change::Answered(id));
        }
        self.settle(step, heard, &self.all_agents(), (request, None));
    }

    /// Delivers a reply, with what it does to the study session: it answers the first id, which was
    /// asked for under the second.
    fn settle(
        &self,
        step: &mut Step,
        heard: HostMessage,
        to: &[Subject],
        (request, reply_to): (Option<String>, Option<String>),
    ) {
        let starting = self.starting.as_ref();
        let starting = starting.filter(|start| request.as_ref() == Some(&start.request));
        step.rows
            .extend(starting.iter().flat_map(|start| start.rows.iter().cloned()));
        let kind = heard.envelope.kind;
        if let Some(starting) = starting.filter(|_| kind == MessageKind::SessionStarted) {
            let announced = heard.envelope.payload.get("sessionId");
            let announced = announced.and_then(Value::as_str).map(str::to_owned);
            step.log = Move::Begins(announced);
            send(step, heard, to, reply_to);
            let mut noted = starting.about.clone();
            if let Some((_, kind)) = self.host {
                noted.insert("host".to_owned(), kind.as_str().into());
            }
            step.note(note::STARTED, None, &noted);
        } else if kind == MessageKind::SessionEnded && matches!(self.study, Study::Open(_)) {
            step.log = Move::Ends;
            self.end(step, heard, to, reply_to);
        } else {
            send(step, heard, to, reply_to);
        }
    }

    fn end(&self, step: &mut Step, heard: HostMessage, to: &[Subject], reply_to: Option<String>) {
        let HostMessage {
            who,
            envelope,
            told,
        } = heard;
        step.received(who, &envelope, &told);
        let mut fields = envelope.payload;
        if let Study::Open(study) = &self.study {
            let session = fields.entry("sessionId");
            session.or_insert_with(|| study.as_str().into());
            let file = format!("logs/study/{study}.jsonl");
            fields.insert("logFile".to_owned(), file.into());
            fields.insert("stateReset".to_owned(), true.into());
            planted!("relay-log-misnamed", {
                fields.insert("logFile".to_owned(), "logs/study".into());
            });
        }
        let told = Arc::new(CheckedPayload::of(&fields));
        let ended = Envelope {
            payload: fields,
            reply_to,
            ..envelope
        };
        let ended = Arc::new(ended);
        for agent in to {
            step.deliver(*agent, ended.clone(), &told);
        }
        step.note(note::ENDED, None, &payload([]));
    }
}

/// Notes what was received, and delivers it.
fn send(step: &mut Step, heard: HostMessage, to: &[Subject], reply_to: Option<String>) {
    let HostMessage {
        who,
        envelope,
        told,
    } = heard;
    step.received(who, &envelope, &told);
    let envelope = Arc::new(envelope.replying_to(reply_to));
    for agent in to {
        step.deliver(*agent, envelope.clone(), &told);
    }
}

/// Whose study session an agent starts.
fn about(payload: &Payload) -> Payload {
    let is_about = |key: &str| key == "studyId" || key == "participantId";
    let fields = payload.iter().filter(|(key, _)| is_about(key));
    fields
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// A call without `params` is one with none.
fn with_params(
    mut envelope: Envelope,
    told: Arc<CheckedPayload>,
) -> (Envelope, Arc<CheckedPayload>) {
    if envelope.kind != MessageKind::ToolCall || envelope.payload.contains_key("params") {
        return (envelope, told);
    }
    let params = Value::Object(Payload::new());
    envelope.payload.insert("params".to_owned(), params);
    let told = Arc::new(CheckedPayload::of(&envelope.payload));
    (envelope, told)
}

/// Why nothing but a join is heard.
pub(crate) fn not_joined() -> Refusal {
    Refusal::inactive("you are in no room; send relay.join first")
}
