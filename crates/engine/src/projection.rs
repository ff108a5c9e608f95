//! What an event changes in the history. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use samovar_core::event::{Entry, Group};
use samovar_core::history::{Change, MessageRow, Opened, Projection, SessionRow, WAITING};
use samovar_core::{
    Approval, ContextLimit, Event, Kind, Message, Millis, Seq, SessionChange, SessionId, Title,
    Usage,
};
use serde_json::Map;

use crate::log::MASTER;

#[cfg(test)]
mod tests;

/// The model of a session of which nothing says who answered in it.
const UNKNOWN_MODEL: &str = "demo";

/// The changes that a session's events make, in order.
pub(crate) fn project(session: &SessionId, events: &[Arc<Event>]) -> Option<Projection> {
    let up_to = events.last()?.seq;
    let changes = events
        .iter()
        .filter_map(|event| Some((event.seq, change(event)?)))
        .collect();
    Some(Projection {
        session: session.clone(),
        up_to,
        changes,
    })
}

/// Whether a log's events begin with the session.
pub(crate) fn is_opened(events: &[Arc<Event>]) -> bool {
    let first = events.first().map(|event| &event.kind);
    matches!(first, Some(Kind::SessionOpened { .. }))
}

/// The opening of a session that a new history does not know, made of what is left of its log: the
/// model of its last turn, and nothing of what its client had said of it.
pub(crate) fn reopening(events: &[Arc<Event>]) -> (Seq, Change) {
    let first = events.first();
    let model = events.iter().rev().find_map(|event| {
        let Kind::TurnStarted { model, .. } = &event.kind else {
            return None;
        };
        Some(model.clone())
    });
    let open = Change::Open(Opened {
        model: model.unwrap_or_else(|| UNKNOWN_MODEL.to_owned()),
        route: None,
        agent: first
            .and_then(|event| event.agent.names().next())
            .unwrap_or(MASTER)
            .to_owned(),
        system_prompt: None,
        approval: None,
        begun_by: None,
        metadata: Map::from_iter([("recovered".to_owned(), true.into())]),
        at: first.map(|event| event.at).unwrap_or_default(),
    });
    (first.map(|event| event.seq).unwrap_or_default(), open)
}

fn change(event: &Event) -> Option<Change> {
    let (at, agent) = (event.at, event.agent.clone());
    match &event.kind {
        Kind::SessionOpened { .. } | Kind::SessionChanged(_) => of_session(event),
        Kind::SessionClosed => Some(Change::Close),
        Kind::TurnStarted { .. } | Kind::TurnFinished { .. } => of_turn(event),
        Kind::StepReset { usage, context, .. } => Some(spent(*usage, context.as_ref(), event)),
        Kind::MessageFinished {
            message,
            entry: Entry::Joined,
            ..
        } => Some(Change::Move {
            message: message.id.clone(),
            turn: event.turn.clone(),
            at,
        }),
        Kind::MessageFinished { .. } | Kind::CallClosed { .. } => {
            let message = Arc::new(message_of(event)?);
            Some(Change::Put {
                message,
                turn: event.turn.clone(),
                agent,
            })
        }
        Kind::TurnUndone { below, .. } => {
            let turns = event.turn.iter().chain(below).cloned().collect();
            Some(Change::Forget { turns, at })
        }
        other => match other.group() {
            Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => None,
        },
    }
}

/// What the opening of a session or a change of it changes.
fn of_session(event: &Event) -> Option<Change> {
    let (at, agent) = (event.at, &event.agent);
    match &event.kind {
        Kind::SessionOpened {
            model,
            route,
            metadata,
            system_prompt,
            approval,
            begun_by,
        } => Some(Change::Open(Opened {
            model: model.clone(),
            route: route.clone(),
            agent: agent.name().to_owned(),
            system_prompt: system_prompt.clone(),
            approval: *approval,
            begun_by: begun_by.clone(),
            metadata: metadata.clone(),
            at,
        })),
        Kind::SessionChanged(SessionChange { context, usage, .. })
            if context.is_some() || !usage.is_zero() =>
        {
            Some(spent(*usage, context.as_ref(), event))
        }
        Kind::SessionChanged(SessionChange {
            model,
            route,
            title,
            approval,
            tainted,
            ..
        }) => Some(Change::Set {
            model: model.clone(),
            route: route.clone(),
            title: title.clone(),
            approval: *approval,
            tainted: *tainted,
            at,
        }),
        _ => None,
    }
}

/// What the start or the end of a turn changes.
fn of_turn(event: &Event) -> Option<Change> {
    let (at, agent) = (event.at, event.agent.clone());
    match &event.kind {
        Kind::TurnStarted {
            parent_call,
            background,
            limits,
            ..
        } => Some(Change::TurnStarted {
            turn: event.turn.clone()?,
            agent,
            parent_call: parent_call.clone(),
            background: *background,
            budget: limits.budget,
            at,
        }),
        Kind::TurnFinished {
            reason,
            fault,
            usage,
            iterations,
            bill,
        } => Some(Change::TurnFinished {
            turn: event.turn.clone()?,
            reason: reason.clone(),
            fault: fault.clone(),
            usage: *usage,
            iterations: *iterations,
            bill: *bill,
            at,
        }),
        _ => None,
    }
}

/// What a call used, and what was learned about the window of the session's own agent; a called
/// agent's conversation is another.
fn spent(usage: Usage, context: Option<&ContextLimit>, event: &Event) -> Change {
    let context = context.filter(|_| event.agent.depth() == 0).cloned();
    Change::Spent { usage, context }
}

/// What an event says about the room for a conversation.
pub(crate) fn limit_in(kind: &Kind) -> Option<&ContextLimit> {
    match kind {
        Kind::StepReset { context, .. } | Kind::SessionChanged(SessionChange { context, .. }) => {
            context.as_ref()
        }
        _ => None,
    }
}

/// What the model calls used that these facts tell of.
pub(crate) fn spent_in<'a>(kinds: impl Iterator<Item = &'a Kind>) -> Usage {
    let used = kinds.filter_map(|kind| match kind {
        Kind::StepReset { usage, .. } => Some(*usage),
        Kind::MessageFinished { message, .. } => message.usage,
        Kind::SessionChanged(change) => Some(change.usage),
        _ => None,
    });
    used.fold(Usage::default(), Usage::plus)
}

/// The message that an event brings into the conversation.
pub(crate) fn message_of(event: &Event) -> Option<Message> {
    if let Kind::MessageFinished { message, .. } = &event.kind {
        return Some(message.clone());
    }
    result_message(event)
}

/// The message of role `tool` that holds a call's result.
fn result_message(event: &Event) -> Option<Message> {
    let Kind::CallClosed {
        call,
        name,
        outcome,
    } = &event.kind
    else {
        return None;
    };
    Some(Message::of_outcome(call, name, outcome, event.at))
}

/// A session's row with what the history lacks still (DU-2).
pub(crate) fn overlay_session(
    mut row: Option<SessionRow>,
    session: &SessionId,
    events: &[Arc<Event>],
) -> Option<SessionRow> {
    for event in events {
        let is_known = row.as_ref().is_some_and(|row| event.seq <= row.projected);
        let Some(change) = change(event).filter(|_| !is_known) else {
            continue;
        };
        match change {
            Change::Open(opened) => row = Some(opened.into_row(session.clone(), event.seq)),
            Change::Set {
                model,
                route,
                title,
                approval,
                tainted,
                at,
            } => {
                let model = model.map(|it| (it, route));
                set(row.as_mut(), model, (title, approval, tainted), at);
            }
            Change::Close => row = None,
            Change::Put { message, .. } => count(row.as_mut(), &message, event.at),
            Change::Forget { at, .. } => {
                if let (Some(row), Kind::TurnUndone { messages, .. }) = (&mut row, &event.kind) {
                    row.message_count = row.message_count.saturating_sub(*messages);
                    row.updated_at = row.updated_at.max(at);
                }
            }
            Change::Spent { usage, context } => spend(row.as_mut(), usage, context),
            Change::Move { at, .. } => seen(row.as_mut(), at),
            Change::TurnStarted { .. } | Change::TurnFinished { .. } => {}
        }
    }
    row
}

fn set(
    row: Option<&mut SessionRow>,
    model: Option<(String, Option<String>)>,
    (title, approval, tainted): (Option<Title>, Option<Approval>, bool),
    at: Millis,
) {
    let Some(row) = row else { return };
    row.approval = approval.or(row.approval);
    row.tainted |= tainted;
    if let Some((model, route)) = model {
        (row.model, row.route, row.context) = (model, route, None);
    }
    let title = title.or_else(|| row.title.take());
    row.title = title.filter(|title| !title.is_empty());
    row.updated_at = row.updated_at.max(at);
}

fn count(row: Option<&mut SessionRow>, message: &Message, at: Millis) {
    if let Some(row) = row {
        row.message_count += 1;
        row.usage = row.usage.plus(message.usage.unwrap_or_default());
        row.updated_at = at;
    }
}

fn spend(row: Option<&mut SessionRow>, usage: Usage, context: Option<ContextLimit>) {
    if let Some(row) = row {
        row.usage = row.usage.plus(usage);
        row.context = context.or(row.context.take());
    }
}

fn seen(row: Option<&mut SessionRow>, at: Millis) {
    if let Some(row) = row {
        row.updated_at = row.updated_at.max(at);
    }
}

/// A session's messages with what the history lacks still, in the history's order: turn by turn as
/// they began, each with the turns that it waits for, then what waits (DU-2, AS-17).
pub(crate) fn overlay_messages(
    mut rows: Vec<MessageRow>,
    session: &SessionId,
    events: &[Arc<Event>],
) -> Vec<MessageRow> {
    let mut begun = HashMap::new();
    for event in events {
        match &event.kind {
            Kind::TurnStarted {
                parent_call,
                background,
                ..
            } => {
                let is_waited_for = parent_call.is_some() && !background;
                begun.insert(&event.turn, begin(&mut rows, event, is_waited_for));
            }
            Kind::TurnUndone { below, .. } => rows.retain(|row| {
                let is_below = row.turn.as_ref().is_some_and(|turn| below.contains(turn));
                row.turn != event.turn && !is_below
            }),
            Kind::MessageFinished { .. } | Kind::CallClosed { .. } => {
                if let Some(message) = message_of(event) {
                    let begun = begun.get(&event.turn).copied();
                    put(&mut rows, session, (event, begun), message);
                }
            }
            // What the history has is of a session that was deleted.
            Kind::SessionOpened { .. } | Kind::SessionClosed => rows.clear(),
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {}
            },
        }
    }
    // What was put later stands after what has the same place.
    rows.sort_by_key(|row| row.place);
    rows
}

/// Gives what waited for a turn the place of the turn, which is its caller's if that waits for it.
fn begin(rows: &mut [MessageRow], event: &Event, is_waited_for: bool) -> Seq {
    let mut of_turn = rows.iter().filter(|row| row.turn == event.turn);
    let caller = of_turn.find_map(|row| row.message.parent.as_ref());
    let caller = rows.iter().find(|row| Some(&row.message.id) == caller);
    let place = caller.filter(|row| is_waited_for && row.place != WAITING);
    let place = place.map_or(event.seq, |row| row.place);
    for row in rows.iter_mut().filter(|row| row.turn == event.turn) {
        row.has_begun = true;
        if row.place == WAITING {
            row.place = place;
        }
    }
    place
}

/// `begun` is where the event's turn began, if that is known.
fn put(
    rows: &mut Vec<MessageRow>,
    session: &SessionId,
    (event, begun): (&Event, Option<Seq>),
    message: Message,
) {
    let has_joined = matches!(
        event.kind,
        Kind::MessageFinished {
            entry: Entry::Joined,
            ..
        }
    );
    if has_joined {
        rows.retain(|row| row.message.id != message.id);
    }
    let of_turn = rows.iter().filter(|row| row.turn == event.turn);
    // What a user says is all that comes before its turn begins.
    let has_begun = event.turn.is_none()
        || !message.is_input()
        || has_joined
        || begun.is_some()
        || of_turn.clone().any(|row| row.has_begun);
    let known = rows.iter().find(|row| row.message.id == message.id);
    let place = match (known.or_else(|| of_turn.clone().next_back()), &event.turn) {
        (Some(known), _) if known.message.id == message.id => known.place,
        (_, None) => event.seq,
        (Some(other), Some(_)) => other.place,
        (None, Some(_)) if !has_begun => WAITING,
        // If the rest of the turn is in no row here, it is the youngest that has begun.
        (None, Some(_)) => begun.unwrap_or_else(|| {
            let places = rows.iter().map(|row| row.place);
            let places = places.filter(|place| *place != WAITING);
            places.max().unwrap_or(event.seq)
        }),
    };
    let row = MessageRow {
        session: session.clone(),
        turn: event.turn.clone(),
        agent: event.agent.clone(),
        has_begun,
        place,
        message: Arc::new(message),
    };
    match rows
        .iter_mut()
        .find(|known| known.message.id == row.message.id)
    {
        Some(known) => *known = row,
        None => rows.push(row),
    }
}
