//! Observations made by hand: a good day, and each way in which it could have gone wrong.

mod broken;
mod day;

use std::collections::BTreeSet;

use serde_json::json;

use self::day::asking::{RESULT, agent, closing, own, person, reply};
use self::day::relay::{STUDY, log, rewrite, row};
use self::day::{good_day, reading};
use super::judge;
use crate::observed::{
    AnswerRoute, AnswerStatus, ChatAgent, ChatMessage, Delivery, Frame, Observed, Post, Profile,
    Scene, SentMessage, Spool, Stop,
};
use crate::violation::Broken;

fn found(observed: &Observed) -> BTreeSet<Broken> {
    let violations = judge(observed).violations;
    violations.iter().map(|violation| violation.kind).collect()
}

/// Spoils a good day, and finds out what the judge says.
#[track_caller]
fn check(kind: Broken, spoil: impl FnOnce(&mut Observed)) -> Broken {
    let mut observed = good_day();
    spoil(&mut observed);
    let found = found(&observed);
    assert!(found.contains(&kind), "{kind:?} is not in {found:?}");
    kind
}

/// The place of a frame that has this text.
#[track_caller]
fn place_of(frames: &[Frame], text: &str) -> usize {
    let place = frames.iter().position(|frame| frame.data.contains(text));
    place.unwrap_or_else(|| panic!("{text} is in no frame"))
}

fn change(observed: &mut Observed, message: &str, profile: Profile, from: &str, to: &str) {
    for one in observed.readings.iter_mut().chain(&mut observed.retold) {
        if one.message == message && one.profile == profile {
            for frame in &mut one.frames {
                frame.data = frame.data.replace(from, to);
            }
        }
    }
}

const FULL: Profile = Profile::Full;

// proves DU-14
#[test]
fn a_good_day_breaks_no_promise_and_everything_is_counted() {
    let verdict = judge(&good_day());

    assert_eq!(verdict.violations, []);
    let counts = verdict.counts;
    assert_eq!((counts.accepted, counts.lost, counts.stuck), (6, 0, 0));
    assert_eq!((counts.steered, counts.rejected), (1, 0));
    let copies = &counts.copies;
    assert_eq!((copies.remembered, copies.forgotten), (3, 1));
    assert_eq!(counts.ends.get("stop"), Some(&5));
    let trees = &counts.trees;
    assert_eq!([trees.called, trees.nested, trees.resumed], [2, 1, 1]);
    assert_eq!([trees.background, trees.results], [1, 1]);
    assert_eq!(
        (counts.calls, counts.unsafe_effects, counts.unsafe_repeated),
        (12, 3, 0)
    );
    assert_eq!((counts.idempotent_effects, counts.idempotent_again), (1, 1));
    assert_eq!((counts.resumed, counts.continued, counts.resets), (3, 2, 1));
    assert_eq!((counts.chat.questions, counts.chat.asked_again), (2, 1));
    let answers = (
        counts.chat.answers,
        counts.chat.answers_kept,
        counts.chat.answers_lost,
    );
    assert_eq!(answers, (2, 2, 0));
    assert_eq!((counts.chat.strays, counts.chat.posted), (1, 1));
    assert_eq!((counts.approvals.asked, counts.approvals.allowed), (1, 1));
    let relay = counts.relay;
    assert_eq!((relay.answered, relay.rows), (6, 23));
    let studies = [relay.studies, relay.begun, relay.continued, relay.ended];
    assert_eq!(studies, [1; 4]);
}

// proves DU-14
#[test]
fn a_study_may_announce_the_id_of_one_that_a_kill_cut_before_its_agent_was_answered() {
    let elsewhere = "logs/study/s-9.jsonl";
    let mut day = good_day();
    let mut rows = Vec::new();
    rewrite(&mut day, STUDY, |all| rows.append(all));
    // A kill came before the answer to its first request.
    let payload = json!({ "mark": "a0" });
    let mut untold = row("in", "agent", "session.start", &payload);
    (untold["member"], untold["id"]) = (1.into(), "1.1.0".into());
    rewrite(&mut day, STUDY, |none| none.push(untold));
    day.relay.links[0].said.push(SentMessage {
        mark: "a0".to_owned(),
        id: "1.1.0".to_owned(),
        kind: "session.start".to_owned(),
        payload,
    });
    day.relay.logs.push(log(elsewhere, rows));
    elsewhere.clone_into(&mut day.relay.endings[0].log_file);

    assert_eq!(judge(&day).violations, []);
}

// proves DU-14
#[test]
fn every_promise_that_can_be_broken_is_found_broken() {
    let all: BTreeSet<_> = Broken::ALL.iter().copied().collect();
    assert_eq!(broken::all(), all);
}

/// How a turn ends: in the full profile, and the type and the field that say so in the other.
type EndForms = [&'static str; 3];

const CANCELLED: EndForms = [
    r#""reason":"cancelled""#,
    r#""completed""#,
    r#""finishReason":"cancelled""#,
];
const EXHAUSTED: EndForms = [
    r#""reason":"error","fault":{"code":"recovery_exhausted"}"#,
    r#""error""#,
    r#""code":"recovery_exhausted""#,
];
const FAILED: EndForms = [
    r#""reason":"error","fault":{"code":"provider_rejected"}"#,
    r#""error""#,
    r#""code":"provider_rejected""#,
];

/// Ends the first turn so.
fn end_m1(day: &mut Observed, by: EndForms) {
    end(day, "m1", by);
}

fn end(day: &mut Observed, message: &str, [full, word, field]: EndForms) {
    change(day, message, FULL, r#""reason":{"model":"stop"}"#, full);
    let spell = |day: &mut Observed, from, to| change(day, message, Profile::Default, from, to);
    spell(day, r#""completed""#, word);
    spell(day, r#""finishReason":"stop""#, field);
}

/// A stop that was confirmed.
fn stop(turn: Option<&str>, asked_at: u64) -> Stop {
    Stop {
        session: "s1".to_owned(),
        turn: turn.map(str::to_owned),
        asked_at,
        settled_at: Some(asked_at + 1),
        is_confirmed: true,
    }
}

/// A day on which nothing was broken, although it went otherwise.
#[track_caller]
fn fine(otherwise: impl FnOnce(&mut Observed)) {
    let mut day = good_day();
    otherwise(&mut day);
    assert_eq!(judge(&day).violations, []);
}

// proves DU-14
#[test]
fn what_nobody_broke_is_not_called_broken() {
    // A turn that somebody stopped is cancelled, whether it was named or not.
    for turn in [Some("t1"), None] {
        fine(|day| {
            end_m1(day, CANCELLED);
            day.stops.push(stop(turn, 2));
        });
    }
    // So is one for which another has come that interrupts.
    fine(|day| {
        end_m1(day, CANCELLED);
        day.posts[1].delivery = Delivery::Interrupt;
    });
    // A turn that was cut too often may give up.
    fine(|day| {
        end_m1(day, EXHAUSTED);
        change(day, "m1", FULL, r#""in_a_row":1"#, r#""in_a_row":5"#);
    });
    // One that its provider refuses for good ends so.
    fine(|day| {
        end_m1(day, FAILED);
        day.posts[0].scene = Scene::Refused;
    });
    // A message that was refused and is not kept is nobody's loss.
    fine(|day| {
        day.posts.push(Post {
            message: "m4".to_owned(),
            is_rejected: true,
            acked_at: None,
            ..day.posts[0].clone()
        });
    });
    // A call in doubt whose effect happened is told in the words for it.
    fine(|day| {
        let (done, doubt) = (
            "\"done\",\"text\":\"receipt-2.\"",
            "\"unknown\",\"text\":\"outcome unknown\"",
        );
        for message in ["m2", "m3"] {
            change(day, message, FULL, done, doubt);
            change(
                day,
                message,
                Profile::Default,
                "receipt-2.",
                "outcome unknown",
            );
        }
        let rows = day.stored.iter_mut();
        let row = rows.into_iter().find(|row| row.content == "receipt-2.");
        row.unwrap().content = "outcome unknown".to_owned();
    });
    // A connection that was killed ends anywhere.
    fine(|day| {
        let one = reading(&mut day.readings, "m1", FULL);
        one.frames.truncate(5);
        one.is_done = false;
    });
    // A message whose acceptance nobody has heard of may be kept or not.
    fine(|day| {
        let mut post = day.posts[0].clone();
        post.message = "m3".to_owned();
        post.acked_at = None;
        day.posts.push(post);
    });
}

// proves DU-14
#[test]
fn what_a_kill_cut_off_in_a_room_is_not_called_broken() {
    // What was written of the last step, and not the whole of it.
    fine(|day| day.relay.logs[0].text.push_str("{\"sess"));
    // An answer that stands in the log may have been heard by nobody.
    fine(|day| drop(day.relay.links[0].got.pop()));
    // What nobody has heard the answer to may stand nowhere, but in no log twice.
    fine(|day| {
        day.relay.links[2].said.push(SentMessage {
            mark: "c3".to_owned(),
            id: "2.1.3".to_owned(),
            kind: "tool.call".to_owned(),
            ..SentMessage::default()
        });
    });
    // A host may have heard of a study that no log has, when its answer was cut off.
    fine(|day| {
        day.relay.asked.push("c4".to_owned());
        day.relay.links[2].said.push(SentMessage {
            mark: "c4".to_owned(),
            id: "2.1.4".to_owned(),
            kind: "session.start".to_owned(),
            ..SentMessage::default()
        });
    });
    // A study that is open still has no end.
    fine(|day| {
        day.relay.endings.clear();
        day.relay.links[2].got.pop();
        rewrite(day, STUDY, |rows| drop(rows.split_off(rows.len() - 2)));
    });
}

// proves DU-14
#[test]
fn a_question_that_somebody_else_ends_or_that_nobody_knows_is_not_called_broken() {
    // Whom a kill has cut off may have answered; and of a deleted session nothing is known.
    fine(|day| {
        for reply in &mut day.chat.replies {
            reply.fate = AnswerStatus::Unknown;
        }
        let said = agent(6, "what about p1 in attempt 1, place 1?");
        let answer = ChatMessage {
            reply_to: Some(6),
            ..person(7, "word 9")
        };
        let last = day.chat.heard.last_mut().unwrap();
        last.messages.extend([said, answer]);
        day.chat
            .replies
            .push(reply(AnswerRoute::Chat, "word 9", 30, Some(7)));
    });
    // Who stops a turn closes its question, and nobody answers it then.
    fine(|day| {
        let stopped = r#"{"status":"cancelled","text":"stopped"}"#;
        change(day, "q1", FULL, &closing(RESULT), stopped);
        change(day, "q1", Profile::Default, RESULT, "stopped");
        let mut rows = day.stored.iter_mut();
        let row = rows.find(|row| row.content == RESULT);
        "stopped".clone_into(&mut row.unwrap().content);
        end(day, "q1", CANCELLED);
        day.chat.replies[1].fate = AnswerStatus::Refused;
        day.stops.push(Stop {
            session: "s2".to_owned(),
            ..stop(Some("t4"), 8)
        });
    });
    // That the second question is withdrawn is noted some time, also behind what is said next.
    fine(|day| {
        let note = ChatMessage {
            role: "system".to_owned(),
            author: "ChatAgent".to_owned(),
            reply_to: Some(3),
            ..agent(6, "withdrawn")
        };
        day.chat.heard.last_mut().unwrap().messages.push(note);
    });
    // Words that answered nothing wake the chat's own agent, where there is one.
    fine(|day| {
        day.chat.agent = ChatAgent::Adaptive;
        let last = day.chat.heard.last_mut().unwrap();
        last.messages.push(ChatMessage {
            reply_to: Some(4),
            ..own(6)
        });
    });
    // An answer that was taken just before a kill may have been heard by nobody.
    fine(|day| {
        for heard in day.chat.heard.iter_mut().filter(|heard| heard.life == 2) {
            heard.messages.retain(|message| message.id < 2);
        }
    });
}

// proves DU-14
#[test]
fn what_a_power_cut_took_may_be_missing_when_it_is_told() {
    let mut day = good_day();
    day.spool = Spool::Cut;
    // A reader saw more of the first attempt than is left of it, before the reset that tells so.
    let frames = &mut reading(&mut day.readings, "m1", FULL).frames;
    let cut = place_of(frames, "step_reset");
    frames.truncate(cut);
    let lost = Frame {
        id: Some("7.7".to_owned()),
        data: r#"{"type":"delta","fragment":{"text":"m1.1.1.002 "},"turn":"t1"}"#.to_owned(),
    };
    frames.push(lost);
    reading(&mut day.readings, "m1", FULL).is_done = false;
    assert_eq!(judge(&day).violations, []);

    day.spool = Spool::Whole;
    assert!(found(&day).contains(&Broken::TakenBack));
}

// proves DU-14
#[test]
fn a_turn_that_ends_right_behind_a_loss_tells_it_by_its_end_when_it_was_ended_by_force() {
    let spoilt = |end: EndForms| {
        let mut day = good_day();
        day.spool = Spool::Cut;
        end_m1(&mut day, end);
        change(&mut day, "m1", FULL, r#""in_a_row":1"#, r#""in_a_row":5"#);
        day.stops.push(stop(Some("t1"), 2));
        for one in day.retold.iter_mut().chain(&mut day.readings) {
            if one.message == "m1" && one.profile == Profile::Default {
                // The default profile shows that a pass begins again, and here none does.
                let end = one.frames.pop().unwrap();
                one.frames
                    .retain(|frame| frame.id.as_ref().unwrap().starts_with("7."));
                one.frames.push(end);
            }
        }
        let lost = Frame {
            id: Some("7.77".to_owned()),
            data: r#"{"type":"text_delta","content":"m1.1.1.002 "}"#.to_owned(),
        };
        let one = reading(&mut day.readings, "m1", Profile::Default);
        (one.is_done, _) = (false, one.frames.pop());
        one.frames.push(lost);
        found(&day)
    };
    assert_eq!(spoilt(CANCELLED), BTreeSet::new());

    assert!(spoilt(EXHAUSTED).contains(&Broken::EndedWrong));
    assert!(!spoilt(EXHAUSTED).contains(&Broken::LossUntold));
    let well = [
        r#""reason":{"model":"stop"}"#,
        r#""completed""#,
        r#""finishReason":"stop""#,
    ];
    assert!(spoilt(well).contains(&Broken::LossUntold));
}

// proves DU-14
#[test]
fn who_comes_back_behind_what_a_cut_took_is_told_so_first() {
    let mut day = good_day();
    day.spool = Spool::Cut;
    let resumed = day.readings.last_mut().unwrap();
    resumed.after = Some("7.99".to_owned());
    assert_eq!(found(&day), BTreeSet::from([Broken::LossUntold]));

    let told = Frame {
        id: Some("8.9".to_owned()),
        data: r#"{"type":"reset","snapshot":{}}"#.to_owned(),
    };
    day.readings.last_mut().unwrap().frames.insert(0, told);
    assert_eq!(judge(&day).violations, []);

    day.spool = Spool::Whole;
    assert!(found(&day).contains(&Broken::TakenBack));
}
