//! What must hold when all has come to its end, whatever happened before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::error::FaultCode;
use samovar_core::history::{MessageQuery, Speakers};
use samovar_core::{
    CallId, Effect, Event, FinishReason, Kind, Message, MessageId, Resume, Role, Seq, TurnId,
};

use super::{Machine, Post, SESSIONS, named};

pub(super) fn judge(machine: &Machine) {
    let mut begun = HashSet::new();
    for session in 0..SESSIONS {
        let log = log_of(machine, session);
        check_log(machine, session, &log);
        check_calls(&log);
        check_tree(&log);
        check_history(machine, session);
        begun.extend(log.iter().filter_map(|event| match &event.kind {
            Kind::CallStarted { call, .. } => Some(call.clone()),
            _ => None,
        }));
    }
    check_effects(machine, &begun);
}

/// Everything that a session's log has.
fn log_of(machine: &Machine, session: usize) -> Vec<Arc<Event>> {
    let alive = machine.alive();
    let posts = || of_session(machine, session);
    let mut open: HashSet<TurnId> = posts().filter_map(|post| post.turn.clone()).collect();
    let (mut over, mut owing) = (HashSet::new(), HashSet::new());
    let read = async {
        let mut reader = alive.engine.follow(&named(session), Seq(0)).await.unwrap();
        let mut log = Vec::new();
        // What a turn in the background leaves follows its end, and may come with a later page.
        while log.is_empty() || !open.is_empty() || !owing.is_empty() {
            for event in reader.next().await.unwrap() {
                match (&event.kind, &event.turn) {
                    (
                        Kind::TurnStarted {
                            background: true, ..
                        },
                        Some(turn),
                    ) => drop(owing.insert(turn.as_str().to_owned())),
                    (Kind::MessageFinished { message, .. }, _) => {
                        left_by(message).map(|turn| owing.remove(turn));
                    }
                    _ => {}
                }
                match (&event.kind, &event.turn) {
                    (Kind::TurnFinished { .. }, Some(turn)) => {
                        open.remove(turn);
                        over.insert(turn.clone());
                    }
                    (_, Some(turn)) if !over.contains(turn) => drop(open.insert(turn.clone())),
                    _ => {}
                }
                log.push(event);
            }
        }
        log
    };
    let read = async {
        tokio::select! {
            log = read => log,
            () = alive.answer_all() => unreachable!("it answers for ever"),
        }
    };
    alive.until_death(read).unwrap()
}

/// The turn in the background that left this message.
fn left_by(message: &Message) -> Option<&str> {
    message.metadata.get("background")?["turnId"].as_str()
}

fn of_session(machine: &Machine, session: usize) -> impl Iterator<Item = &Post> {
    let posts = machine.posts.iter();
    posts.filter(move |post| post.session == session)
}

fn check_log(machine: &Machine, session: usize, log: &[Arc<Event>]) {
    let seen = machine.seen.lock().unwrap();
    assert!(
        !seen.contains_key(&(session, 0)),
        "a reader saw two events at one position"
    );
    for (at, event) in (1..).zip(log) {
        assert_eq!(event.seq.0, at, "the log has a gap or a repeat");
        if let Some(before) = seen.get(&(session, at)) {
            assert_eq!(before, event, "what a reader saw was taken back");
        }
    }
    let said = |event: &Arc<Event>| match &event.kind {
        Kind::MessageFinished { message, .. }
            if message.role == Role::User && event.agent.depth() == 0 =>
        {
            Some((message.id.clone(), event.turn.clone()))
        }
        _ => None,
    };
    let said: Vec<(MessageId, Option<TurnId>)> = log.iter().filter_map(said).collect();
    for post in of_session(machine, session) {
        let mut turns = said.iter().filter(|(id, _)| *id == post.id);
        match &post.turn {
            Some(turn) => {
                let (_, of) = turns.next().unwrap_or_else(|| panic!("{post:?} is lost"));
                assert_eq!(of.as_ref(), Some(turn));
                check_end(machine, post, turn, log);
            }
            None => assert!(!post.is_unheard, "{post:?} was said until it was accepted"),
        }
        assert!(
            turns.next().is_none(),
            "{post:?} is kept twice, or refused and kept"
        );
    }
}

fn check_end(machine: &Machine, post: &Post, turn: &TurnId, log: &[Arc<Event>]) {
    let of_turn = log.iter().filter(|event| event.turn.as_ref() == Some(turn));
    let ends: Vec<_> = of_turn
        .filter_map(|event| match &event.kind {
            Kind::TurnFinished { reason, fault, .. } => Some((reason, fault)),
            _ => None,
        })
        .collect();
    let [(reason, fault)] = ends[..] else {
        panic!("{post:?} ended {} times", ends.len());
    };
    let is_cancelled = *reason == FinishReason::Cancelled;
    assert!(
        is_cancelled || !post.is_stopped,
        "{post:?} was stopped: {reason:?}"
    );
    assert!(
        !is_cancelled || post.is_stopped || post.may_be_stopped,
        "{post:?}"
    );
    let may_end = match machine.resume {
        Resume::Off => FaultCode::Interrupted,
        Resume::Auto | Resume::Ask => FaultCode::RecoveryExhausted,
    };
    let exhausted = fault.as_ref().map(|fault| fault.code) == Some(may_end);
    let is_well = *reason == FinishReason::Model("stop".to_owned());
    assert!(
        is_well || is_cancelled || exhausted,
        "{post:?}: {reason:?} {fault:?}"
    );
}

/// Every call that the model asked for is closed once.
fn check_calls(log: &[Arc<Event>]) {
    let mut open: HashMap<CallId, u32> = HashMap::new();
    for event in log {
        match &event.kind {
            Kind::MessageFinished { message, .. } => {
                open.extend(message.calls().map(|call| (call.id.clone(), 0)));
            }
            Kind::CallClosed { call, .. } => *open.entry(call.clone()).or_default() += 1,
            _ => {}
        }
    }
    for (call, closed) in open {
        assert_eq!(closed, 1, "{call} was closed so often");
    }
}

/// Every turn that began ended once, the turns that it waited for before it; and no call began two.
fn check_tree(log: &[Arc<Event>]) {
    let mut calls: HashMap<&CallId, &TurnId> = HashMap::new();
    let mut live: HashMap<&TurnId, Option<&TurnId>> = HashMap::new();
    let (mut answered, mut spawned) = (HashSet::new(), HashSet::new());
    for event in log {
        let Some(turn) = &event.turn else { continue };
        match &event.kind {
            Kind::TurnStarted {
                parent_call,
                background,
                ..
            } => {
                let parent = parent_call.as_ref().map(|call| calls[call]);
                let is_first = parent_call
                    .as_ref()
                    .is_none_or(|call| answered.insert(call));
                assert!(is_first, "a call began two children");
                assert!(parent.is_none_or(|parent| live.contains_key(parent)));
                let awaited = parent.filter(|_| !background);
                if *background {
                    spawned.insert(turn.as_str());
                }
                assert!(live.insert(turn, awaited).is_none(), "{turn} began twice");
            }
            Kind::CallStarted { call, .. } => drop(calls.insert(call, turn)),
            Kind::TurnFinished { .. } => {
                let below = live.values().filter(|parent| **parent == Some(turn));
                assert_eq!(
                    below.count(),
                    0,
                    "{turn} ended before those that it waited for"
                );
                live.remove(turn);
            }
            Kind::MessageFinished { message, .. } => {
                if let Some(of) = left_by(message) {
                    assert!(spawned.remove(of), "{of} left something twice");
                }
            }
            _ => {}
        }
    }
    assert!(live.is_empty(), "{live:?} never ended");
    assert!(spawned.is_empty(), "{spawned:?} left nothing");
}

/// What must not happen twice has not, and nothing happened that was not announced.
fn check_effects(machine: &Machine, begun: &HashSet<CallId>) {
    for (call, (effect, times)) in machine.world.ran.lock().unwrap().iter() {
        match effect {
            Effect::Read => continue,
            Effect::Idempotent => {}
            Effect::Verifiable | Effect::Unsafe => {
                assert_eq!(*times, 1, "{call} of class {effect:?} was run so often");
            }
        }
        assert!(begun.contains(call), "{call} was run and never announced");
    }
}

fn check_history(machine: &Machine, session: usize) {
    let query = MessageQuery {
        session: named(session),
        limit: 1000,
        before: None,
        of: Speakers::All,
    };
    let alive = machine.alive();
    let rows = alive
        .until_death(alive.engine.messages(query))
        .unwrap()
        .unwrap();
    let of_user = rows.iter().filter(|row| row.message.role == Role::User);
    let of_user = of_user.filter(|row| row.agent.depth() == 0);
    let mut stored: Vec<_> = of_user.map(|row| row.message.id.clone()).collect();
    let accepted = of_session(machine, session).filter(|post| post.turn.is_some());
    let mut accepted: Vec<_> = accepted.map(|post| post.id.clone()).collect();
    stored.sort_unstable();
    accepted.sort_unstable();
    assert_eq!(stored, accepted);
}
