//! What the model of a turn was told, built again from the log (MD-8). No prompt is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::history::{MessageQuery, Speakers, TurnQuery};
use samovar_core::journal::LogEntry;
use samovar_core::{
    AgentPath, Broken, Code, Error, Event, Kind, Prompt, PromptHashes, Role, SessionId, TurnId,
    redact,
};
use samovar_locale as locale;

use super::Engine;
use crate::context::{self, Images, Transcript};
use crate::layers;
use crate::projector;
use crate::told::{OfSession, Told, ToldPart, ToldPrompt};
use crate::turn::Turn;

impl Engine {
    /// The prompt of the last model call of a turn, by default of the session's last one. `None` if no
    /// model was called yet.
    ///
    /// # Errors
    /// [`Code::UnknownSession`], [`Code::UnknownTurn`], or that the stores cannot be read.
    pub async fn told(
        &self,
        session: &SessionId,
        turn: Option<TurnId>,
    ) -> Result<Option<ToldPrompt>, Error> {
        let row = self.session(session).await?;
        let lacks = self.lacks(session).await?.unwrap_or_default();
        let Some((turn, path)) = self.asked_turn(session, turn, &lacks).await? else {
            return Ok(None);
        };
        let entry = self.entry_of(session).await;
        let log = entry
            .as_ref()
            .ok()
            .and_then(|entry| Some(entry.as_ref()?.log));
        let events = self.events_of(session, (&turn, &lacks), entry).await?;
        let (state, is_known) = as_asked(&events);
        let definition = match &state.place().definition {
            Some(definition) => definition.clone(),
            None if is_known => self.parts.master.clone(),
            None => self
                .parts
                .agents
                .find(path.name())
                .map_or_else(|| self.parts.master.clone(), |entry| entry.agent),
        };
        let (prompt, begun_by) = (row.system_prompt.as_ref(), row.begun_by.as_ref());
        let of_session = OfSession::new(prompt, begun_by, log);
        let mut said = events.iter().filter_map(|event| match &event.kind {
            Kind::MessageFinished { message, .. } => Some(message),
            _ => None,
        });
        let of_session = of_session
            .for_agent(&path)
            .asked(said.find(|message| message.is_input()));
        let situation = state.place().situation.clone();
        let told = self
            .parts
            .tell(&definition, &path, of_session, situation.as_deref());
        let told = told.await;
        let tools = self.parts.offered(&definition, &state, &told);
        let now = told.hashes(&tools);
        let model = if is_known {
            state.asked_model()
        } else {
            &row.model
        };
        let limit = row.context.as_ref().filter(|limit| limit.model == *model);
        let (layout, mut aside) = (self.parts.settings.layout, told.aside(&state, &path));
        let frame = Prompt {
            model: model.to_owned(),
            layers: told.layers_within(limit, layout, &mut aside),
            tools,
            messages: Vec::new(),
            max_tokens: state.limits().max_output_tokens,
            temperature: state.limits().temperature,
            images: BTreeMap::new(),
        };
        let transcript = self.conversation(session, &path, &turn, &events).await?;
        let prompt = transcript.show_in(frame, limit, aside, Images::Shown);
        let window = limit.map(|limit| limit.named.unwrap_or(limit.tokens));
        let model = model.to_owned();
        Ok(Some(shown(
            turn,
            model,
            (&prompt, window),
            &told,
            (state.told(), &now),
        )))
    }

    /// Where the journal has a session.
    async fn entry_of(&self, session: &SessionId) -> Result<Option<LogEntry>, Error> {
        let (journal, id) = (self.parts.journal.clone(), session.clone());
        let read = tokio::task::spawn_blocking(move || journal.entry(&id)).await;
        let read = read.unwrap_or_else(|error| Err(Broken::Io(error.to_string())));
        let entry = read.map_err(|broken| self.broke_in(session, &broken))?;
        Ok(entry.filter(|entry| !entry.deleted))
    }

    /// What the journal still has of a turn, oldest first.
    async fn events_of(
        &self,
        session: &SessionId,
        (turn, lacks): (&TurnId, &[Arc<Event>]),
        entry: Result<Option<LogEntry>, Error>,
    ) -> Result<Vec<Arc<Event>>, Error> {
        let first = self.parts.history.turn_from(session, turn).await;
        let first = first.map_err(|broken| self.broke_in(session, &broken))?;
        let new = || lacks.iter().find(|it| it.turn.as_ref() == Some(turn));
        let Some(first) = first.or_else(|| new().map(|event| event.seq)) else {
            return Ok(Vec::new());
        };
        let Some(entry) = entry? else {
            return Ok(Vec::new());
        };
        let (journal, turn) = (self.parts.journal.clone(), turn.clone());
        let log = (entry.log, entry.head);
        let read = move || projector::read_turn(journal.as_ref(), log, (&turn, first));
        let read = tokio::task::spawn_blocking(read).await;
        let read = read.unwrap_or_else(|error| Err(Broken::Io(error.to_string())));
        read.map_err(|broken| self.broke_in(session, &broken))
    }

    /// The turn that is meant, with its agent.
    async fn asked_turn(
        &self,
        session: &SessionId,
        turn: Option<TurnId>,
        lacks: &[Arc<Event>],
    ) -> Result<Option<(TurnId, AgentPath)>, Error> {
        let is_step = |event: &&Arc<Event>| {
            let is_it = match &turn {
                Some(turn) => event.turn.as_ref() == Some(turn),
                None => event.agent.depth() == 0,
            };
            is_it && matches!(event.kind, Kind::StepStarted { .. })
        };
        if let Some(event) = lacks.iter().rfind(is_step)
            && let Some(turn) = &event.turn
        {
            return Ok(Some((turn.clone(), event.agent.clone())));
        }
        let query = TurnQuery {
            session: Some(session.clone()),
            among: turn.iter().cloned().collect(),
            unfinished: false,
            limit: MAX_TURNS,
        };
        let mut rows = self.turns(query).await?.into_iter().rev();
        let found = rows.find(|found| match &turn {
            Some(turn) => found.turn == *turn,
            None => found.agent.depth() == 0 && found.started_at.is_some(),
        });
        match (found, turn) {
            (Some(found), _) => Ok(found.started_at.map(|_| (found.turn, found.agent))),
            (None, None) => Ok(None),
            (None, Some(turn)) => Err(Error::new(
                Code::UnknownTurn,
                locale::turn::unknown(locale::quoted(turn.as_str())),
            )),
        }
    }

    /// What a turn's model was shown of the conversation when it was asked last.
    async fn conversation(
        &self,
        session: &SessionId,
        path: &AgentPath,
        turn: &TurnId,
        events: &[Arc<Event>],
    ) -> Result<Transcript, Error> {
        let max = self.parts.settings.max_history_messages;
        if path.depth() > 0 {
            let last = events.iter().rposition(|event| is_answer(&event.kind));
            let before = events.iter().take(last.unwrap_or(events.len()));
            return Ok(Transcript::of_turn(before, max));
        }
        let query = MessageQuery {
            session: session.clone(),
            limit: u32::try_from(max * 4).unwrap_or(u32::MAX),
            before: None,
            of: Speakers::Master,
        };
        let mut rows = self.messages(query).await?;
        let is_of_turn = |row: &&samovar_core::history::MessageRow| row.turn.as_ref() == Some(turn);
        // What came after the turn, and its last answer, its model was not shown.
        if let Some(last) = rows.iter().rposition(|row| is_of_turn(&row)) {
            rows.truncate(last + 1);
        }
        if rows
            .last()
            .is_some_and(|row| row.message.role == Role::Assistant)
        {
            rows.pop();
        }
        let place = match rows.first() {
            Some(row) => self.parts.history.place(session, &row.message.id).await,
            None => Ok(0),
        };
        let place = place.map_err(|broken| self.broke_in(session, &broken))?;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let messages = rows.into_iter().map(|row| row.message).collect();
        Ok(Transcript::beginning_with(place, messages, None, max))
    }
}

/// How many turns are looked through for the last one of the session's own agent.
const MAX_TURNS: u32 = 200;

fn is_answer(kind: &Kind) -> bool {
    matches!(kind, Kind::MessageFinished { message, .. } if message.role == Role::Assistant)
}

/// A turn as it was when its model was asked last, and whether the log has that.
fn as_asked(events: &[Arc<Event>]) -> (Turn, bool) {
    let is_step = |event: &Arc<Event>| matches!(event.kind, Kind::StepStarted { .. });
    let last = events.iter().rposition(is_step);
    let mut turn = Turn::new();
    let until = last.map_or(0, |last| last + 1);
    events[..until]
        .iter()
        .for_each(|event| turn.apply(&event.kind));
    (turn, last.is_some())
}

/// The prompt for people, without keys, with what has changed since the log noted its hashes.
fn shown(
    turn: TurnId,
    model: String,
    (prompt, window): (&Prompt, Option<u64>),
    told: &Told,
    (then, now): (Option<&PromptHashes>, &PromptHashes),
) -> ToldPrompt {
    let changed = |name: &str| then.map(|then| then.layers.get(name) != now.layers.get(name));
    let mut all: Vec<_> = prompt
        .layers
        .iter()
        .map(|layer| ToldPart {
            name: layer.name.to_owned(),
            text: redact::own().redact(&layer.text).into_owned(),
            tokens: layers::size(layer),
            changed: if told.layers.iter().any(|of| of.name == layer.name) {
                changed(layer.name)
            } else {
                Some(false)
            },
        })
        .collect();
    // A layer that was there and is gone.
    let gone = then.iter().flat_map(|then| then.layers.keys());
    let gone = gone.filter(|name| !now.layers.contains_key(*name));
    all.extend(gone.map(|name| ToldPart {
        name: name.clone(),
        text: String::new(),
        tokens: 0,
        changed: Some(true),
    }));
    let names: Vec<_> = prompt.tools.iter().map(|tool| tool.name.as_str()).collect();
    ToldPrompt {
        turn,
        model,
        layers: all,
        tools: ToldPart {
            name: "tools".to_owned(),
            text: names.join(" "),
            tokens: context::size_of_tools(prompt),
            changed: then.map(|then| then.tools != now.tools),
        },
        tool_count: prompt.tools.len(),
        messages: prompt.messages.len(),
        message_tokens: prompt
            .messages
            .iter()
            .map(|message| context::tokens(message))
            .sum(),
        window,
    }
}
