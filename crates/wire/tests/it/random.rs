//! What holds for the stream of every turn, whatever happened in it.

use std::cmp::Ordering;
use std::collections::HashSet;

use proptest::prelude::*;
use proptest::sample::{Index, SizeRange};
use samovar_core::error::FaultCode;
use samovar_core::event::{Fault, Fragment};
use samovar_core::{
    Epoch, Event, EventId, FinishReason, Kind, Message, Part, Role, Seq, TurnId, Usage,
};
use samovar_wire::agent::{
    AgentStreamEvent, AgentStreamEventType as Type, Collector, Encoder, Profile,
};
use samovar_wire::sse::FrameId;

use crate::log::{
    TURN, added, call_id, call_part, closed, delta, encode, encode_with, event_of, finished,
    frames, message, reset, said, speaks, started, started_for, step, text_part, turn, usage,
};

/// A piece of an answer.
#[derive(Clone, Debug)]
enum Piece {
    Text(Vec<String>),
    Reasoning(String),
    Call,
}

/// An answer, of which the live events may be missing from some point on.
#[derive(Clone, Debug)]
struct Answer {
    pieces: Vec<Piece>,
    live: Index,
}

/// A pass of the loop: attempts that were void, the one that counts, and who was fast.
#[derive(Clone, Debug)]
struct Pass {
    void: Vec<Answer>,
    answer: Answer,
    closing: Vec<Index>,
}

/// A whole log, with other turns before and among the events of ours.
#[derive(Clone, Debug)]
struct Plan {
    passes: Vec<Pass>,
    /// Where the turn fails, instead of being finished by the model.
    cut: Option<Index>,
    /// Where events of other turns stand.
    strangers: Vec<Index>,
    /// Where the server was restarted.
    restart: Index,
}

fn some<T: Strategy>(item: T, size: impl Into<SizeRange>) -> impl Strategy<Value = Vec<T::Value>> {
    prop::collection::vec(item, size)
}

fn answer() -> impl Strategy<Value = Answer> {
    let piece = prop_oneof![
        3 => some("[a-zё\n\"]{0,5}", 0..4).prop_map(Piece::Text),
        1 => "[a-z]{0,5}".prop_map(Piece::Reasoning),
        2 => Just(Piece::Call),
    ];
    (some(piece, 0..6), any::<Index>()).prop_map(|(pieces, live)| Answer { pieces, live })
}

fn pass() -> impl Strategy<Value = Pass> {
    (some(answer(), 0..3), answer(), some(any::<Index>(), 6)).prop_map(|(void, answer, closing)| {
        Pass {
            void,
            answer,
            closing,
        }
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let cut = prop::option::of(any::<Index>());
    (
        some(pass(), 1..4),
        cut,
        some(any::<Index>(), 0..4),
        any::<Index>(),
    )
        .prop_map(|(passes, cut, strangers, restart)| Plan {
            passes,
            cut,
            strangers,
            restart,
        })
}

impl Answer {
    /// The whole message, and the live events that are not missing.
    fn play(&self, name: &str) -> (Message, Vec<Kind>) {
        let mut parts = Vec::new();
        let mut live = vec![speaks(name)];
        for (index, piece) in (0..).zip(&self.pieces) {
            match piece {
                Piece::Text(texts) => {
                    let fragments = texts.iter().cloned().map(Fragment::Text);
                    live.extend(fragments.map(|fragment| delta(name, index, fragment)));
                    parts.push(text_part(&texts.concat()));
                }
                Piece::Reasoning(text) => {
                    live.push(delta(name, index, Fragment::Reasoning(text.clone())));
                    parts.push(Part::Reasoning {
                        text: text.clone(),
                        provider_state: None,
                    });
                }
                Piece::Call => {
                    let call = call_part(&format!("{name}-{index}"));
                    live.push(added(name, index, call.clone()));
                    parts.push(call);
                }
            }
        }
        live.truncate(self.live.index(live.len() + 1));
        (message(name, parts), live)
    }
}

impl Pass {
    fn play(&self, number: u32) -> Vec<Kind> {
        let mut kinds = Vec::new();
        for (attempt, void) in (1..).zip(&self.void) {
            kinds.push(step(number, attempt));
            kinds.extend(void.play(&format!("void{number}-{attempt}")).1);
            kinds.push(reset(number, usage(1, 1)));
        }
        kinds.push(step(
            number,
            u32::try_from(self.void.len()).expect("few") + 1,
        ));
        let (message, live) = self.answer.play(&format!("m{number}"));
        let mut open: Vec<_> = message.calls().map(|call| call.id.to_string()).collect();
        kinds.extend(live);
        kinds.push(Kind::finished(message));
        for next in &self.closing {
            if !open.is_empty() {
                let call = open.remove(next.index(open.len()));
                kinds.push(closed(&call, &format!("answer to {call}")));
            }
        }
        kinds
    }
}

impl Plan {
    /// The turn's own facts.
    fn kinds(&self) -> Vec<Kind> {
        let passes = (1..)
            .zip(&self.passes)
            .flat_map(|(number, pass)| pass.play(number));
        let mut kinds: Vec<_> = [started()].into_iter().chain(passes).collect();
        match self.cut {
            None => kinds.push(finished(
                FinishReason::Model("stop".to_owned()),
                3,
                usage(9, 9),
            )),
            Some(cut) => {
                kinds.truncate(cut.index(kinds.len()));
                kinds.push(Kind::TurnFinished {
                    reason: FinishReason::Error,
                    iterations: 3,
                    usage: Usage::default(),
                    fault: Some(Fault {
                        code: FaultCode::Interrupted,
                        message: "cut".to_owned(),
                    }),
                    bill: samovar_core::Bill::default(),
                });
            }
        }
        kinds
    }

    /// The session's log, with strangers among the turn's facts.
    fn log(&self) -> Vec<Event> {
        let mut kinds: Vec<_> = self.kinds().into_iter().map(|kind| (TURN, kind)).collect();
        for (place, stranger) in self.strangers.iter().enumerate() {
            let story = match place % 2 {
                0 => [
                    started(),
                    said("other", vec![call_part("c")]),
                    closed("c", "no"),
                    end(),
                ],
                _ => [
                    started_for(Some(call_id("m1-0"))),
                    step(1, 1),
                    hello("no"),
                    end(),
                ],
            };
            let whose = ["before", "child"][place % 2];
            let at = stranger.index(kinds.len() + 1);
            kinds.splice(at..at, story.map(|kind| (whose, kind)));
        }
        let restart = self.restart.index(kinds.len());
        let events = (1..)
            .zip(kinds)
            .map(|(seq, (whose, kind))| event_of(whose, seq, kind));
        let mut events: Vec<_> = events.collect();
        for event in &mut events[restart..] {
            event.epoch = Epoch(1_000);
        }
        events
    }
}

fn hello(text: &str) -> Kind {
    let message = Message {
        role: Role::User,
        ..message("hello", vec![text_part(text)])
    };
    Kind::finished(message)
}

fn end() -> Kind {
    finished(FinishReason::Cancelled, 1, Usage::default())
}

/// What a client has at the end that knows AS-5 and AS-7, and nothing else.
#[derive(Debug, Default)]
struct Client {
    texts: Vec<String>,
    started: Vec<String>,
    answered: Vec<String>,
    last: Option<AgentStreamEvent<'static>>,
}

impl Client {
    fn read(stream: &str) -> Self {
        let mut client = Self::default();
        let mut pass = 0;
        let mut frames = frames(stream);
        let done = frames.pop().map(|done| (done.id, done.data));
        let last = frames.last().and_then(|last| last.id.clone());
        assert_eq!(done, Some((last, "[DONE]".into())));
        for frame in frames {
            assert!(
                client.last.is_none(),
                "nothing but [DONE] follows the last word"
            );
            let said: AgentStreamEvent<'static> =
                serde_json::from_str(&frame.data).expect("a known type");
            match &said.event {
                Type::Iteration { iteration, .. } if *iteration == pass => {
                    client.texts.pop();
                    client.texts.push(String::new());
                    client.started.retain(|call| !call.starts_with("void"));
                }
                Type::Iteration { iteration, .. } => {
                    pass = *iteration;
                    client.texts.push(String::new());
                }
                Type::TextDelta { content } => {
                    assert!(!content.is_empty(), "a delta adds something");
                    client.texts.last_mut().expect("a pass").push_str(content);
                }
                Type::ToolCallStart { id, .. } => client.started.push(id.to_string()),
                Type::ToolCallResult { id, result, .. } => {
                    assert_eq!(*result, format!("answer to {id}"));
                    client.answered.push(id.to_string());
                }
                Type::Completed { .. } | Type::Error { .. } => client.last = Some(said),
            }
        }
        client
    }
}

/// The epoch, the seq and the place of a frame, comparable.
fn position(id: &str) -> (EventId, u64) {
    let parts: Vec<u64> = id
        .split('.')
        .map(|part| part.parse().expect("a number"))
        .collect();
    let event = EventId {
        epoch: Epoch(parts[0]),
        seq: Seq(parts[1]),
    };
    (event, parts.get(2).copied().unwrap_or(u64::MAX))
}

/// The answers of the log, and the calls that were closed.
fn told(log: &[Event], whose: &TurnId) -> (Vec<String>, Vec<String>, HashSet<String>) {
    let (mut texts, mut calls, mut closed) = (Vec::new(), Vec::new(), HashSet::new());
    for event in log
        .iter()
        .filter(|event| event.turn.as_ref() == Some(whose))
    {
        match &event.kind {
            Kind::MessageFinished { message, .. } => {
                texts.push(message.text());
                calls.extend(message.calls().map(|call| call.id.to_string()));
            }
            Kind::CallClosed { call, .. } => {
                closed.insert(call.to_string());
            }
            _ => {}
        }
    }
    (texts, calls, closed)
}

proptest! {
    // proves AS-5, AS-7
    #[test]
    fn a_client_has_every_text_and_every_result_once_and_in_order(plan in plan()) {
        let log = plan.log();
        let (texts, calls, closed) = told(&log, &turn(TURN));

        let client = Client::read(&encode(Profile::Default, &log));

        prop_assert!(client.last.is_some());
        let answered: Vec<_> = calls.iter().filter(|call| closed.contains(*call)).collect();
        prop_assert_eq!(client.answered.iter().collect::<Vec<_>>(), answered);
        if plan.cut.is_none() {
            prop_assert_eq!(client.texts, texts);
            prop_assert_eq!(client.started, calls);
        } else {
            // The answer that was cut off is shown as far as it came.
            prop_assert_eq!(&client.texts[..texts.len()], &texts[..]);
            prop_assert_eq!(&client.started[..calls.len()], &calls[..]);
        }
    }

    // proves AS-4
    #[test]
    fn the_ids_of_frames_grow_and_name_the_event_that_made_them(plan in plan()) {
        let log = plan.log();
        for profile in [Profile::Default, Profile::Full] {
            let mut encoder = Encoder::new(turn(TURN), profile);
            let mut last = None;
            for event in &log {
                let mut frames = frames(&encode_with(&mut encoder, std::slice::from_ref(event)));
                frames.retain(|frame| frame.data != "[DONE]");
                let ids: Vec<_> = frames.iter().filter_map(|frame| frame.id.clone()).collect();
                for (place, id) in (1..).zip(&ids) {
                    let expected = if place == ids.len() {
                        event.id().to_string()
                    } else {
                        format!("{}.{place}", event.id())
                    };
                    prop_assert_eq!(id, &expected);
                    prop_assert!(last < Some(position(id)), "{:?} then {}", last, id);
                    last = Some(position(id));
                }
                prop_assert!(frames.iter().all(|frame| frame.id.is_some()));
            }
            prop_assert!(encoder.is_over());
        }
    }

    #[test]
    fn an_encoder_that_starts_again_from_the_turns_start_goes_on_with_the_same_bytes(
        plan in plan(),
        cut in any::<Index>(),
        noise in any::<Index>(),
    ) {
        let log = plan.log();
        let start = log.iter().position(|event| event.turn == Some(turn(TURN))).unwrap_or(0);
        let cut = start + cut.index(log.len() - start);
        // What came before the turn's start must make no difference.
        let from = noise.index(start + 1);
        for profile in [Profile::Default, Profile::Full] {
            let mut first = Encoder::new(turn(TURN), profile);
            let seen = encode_with(&mut first, &log[..cut]);
            let rest = encode_with(&mut first, &log[cut..]);

            let mut second = Encoder::new(turn(TURN), profile);
            prop_assert_eq!(encode_with(&mut second, &log[from..cut]), seen);
            prop_assert_eq!(encode_with(&mut second.clone(), &log[cut..]), rest.clone());
            prop_assert_eq!(encode_with(&mut second, &log[cut..]), rest);
        }
    }

    // proves DU-7
    #[test]
    fn whoever_has_all_up_to_a_frame_is_given_the_very_next_one(plan in plan(), at in any::<Index>()) {
        let log = plan.log();
        for profile in [Profile::Default, Profile::Full] {
            let whole = encode(profile, &log);
            let mut ids: Vec<_> = frames(&whole).into_iter().filter_map(|frame| frame.id).collect();
            ids.pop();
            let id = at.get(&ids);
            let (_, rest) = whole.split_once(&format!("id: {id}\n\n")).unwrap();

            let id = FrameId::read(id).unwrap();
            let mut encoder = Encoder::new(turn(TURN), profile);
            let mut out = Vec::new();
            for event in &log {
                let shown = match event.seq.cmp(&id.event.seq) {
                    Ordering::Less => usize::MAX,
                    Ordering::Equal => id.part.unwrap_or(usize::MAX),
                    Ordering::Greater => 0,
                };
                if let Some(part) = id.part.filter(|_| event.seq == id.event.seq) {
                    prop_assert!(part < encoder.count(event));
                }
                encoder.encode_behind(event, shown, &mut out);
            }
            prop_assert_eq!(String::from_utf8(out).unwrap(), rest);
        }
    }

    #[test]
    fn a_collected_turn_holds_what_its_stream_said(plan in plan()) {
        let log = plan.log();
        let mut collector = Collector::new(turn(TURN));
        let results: Vec<_> = log.iter().filter_map(|event| collector.collect(event)).collect();

        let mut frames = frames(&encode(Profile::Default, &log));
        frames.pop();
        let said: Vec<_> = frames.iter().map(|frame| frame.data.clone()).collect();
        prop_assert_eq!(results.len(), 1);
        let gathered = results[0].events.iter().map(|event| serde_json::to_string(event).unwrap());
        prop_assert_eq!(gathered.collect::<Vec<_>>(), said);
        let (texts, _, _) = told(&log, &turn(TURN));
        prop_assert_eq!(&results[0].text, texts.last().map_or("", String::as_str));
    }
}
