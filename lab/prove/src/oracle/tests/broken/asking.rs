//! Each way in which questions and their answers could have gone wrong.

use crate::observed::{
    AnswerRoute, AnswerStatus, ChatAgent, ChatConnection, ChatMessage, Observed, ObservedPrompt,
};
use crate::oracle::tests::day::asking::{
    ANSWER, FIRST, RESULT, SECOND, agent, closing, decided, open, own, person, reply,
};
use crate::oracle::tests::{FULL, change, check, place_of};
use crate::violation::Broken;

/// Spoils what was said in the chat of the second life.
fn heard(day: &mut Observed, spoil: impl Fn(&mut Vec<ChatMessage>)) {
    let of_life = day.chat.heard.iter_mut().filter(|heard| heard.life == 2);
    for heard in of_life {
        spoil(&mut heard.messages);
    }
}

/// Gives a question another outcome.
fn close(day: &mut Observed, from: &str, to: &str) {
    change(day, "q1", FULL, &closing(from), to);
}

/// Ends the call that a person is asked about as denied, with this.
fn deny(day: &mut Observed, why: &str) {
    let denied = closing("receipt-4.").replace("done", "denied");
    let denied = denied.replace("receipt-4.", why);
    close(day, "receipt-4.", &denied);
}

pub(super) fn decisions() -> Vec<Broken> {
    let taken = AnswerStatus::Taken(None);
    vec![
        check(Broken::RanUnallowed, |day| day.decisions.clear()),
        check(Broken::RanUnallowed, |day| {
            day.decisions = vec![decided(true, AnswerStatus::Refused)];
        }),
        check(Broken::DecidedTwice, move |day| {
            day.decisions.push(decided(true, taken));
        }),
        check(Broken::DecisionLost, move |day| {
            let unknown = decided(true, AnswerStatus::Unknown);
            day.decisions = vec![decided(false, taken), unknown];
        }),
        check(Broken::DecisionLost, |day| deny(day, "no person decided")),
        check(Broken::DenialInvented, |day| {
            day.decisions.clear();
            deny(day, "denied: for no reason");
        }),
    ]
}

pub(super) fn questions() -> Vec<Broken> {
    vec![
        check(Broken::QuestionUnasked, |day| {
            day.chat.unasked.push(FIRST.to_owned());
        }),
        check(Broken::QuestionTwice, |day| {
            heard(day, |messages| messages.push(agent(6, FIRST)));
        }),
        check(Broken::AskedWhenAnswered, |day| {
            day.chat.heard.push(ChatConnection {
                life: 3,
                after: 0,
                messages: vec![agent(1, FIRST)],
            });
        }),
        check(Broken::AskedWhenAnswered, |day| {
            // It was answered by its call.
            day.chat.heard.push(ChatConnection {
                life: 3,
                after: 0,
                messages: vec![agent(1, SECOND)],
            });
        }),
        check(Broken::QuestionMoved, |day| {
            day.chat.open.push(open(3, "c9", FIRST));
        }),
        check(Broken::QuestionMoved, |day| {
            // Nobody knows its turn, and it moved from one life to the next.
            day.chat.open.push(open(1, "c10", "what?"));
            day.chat.open.push(open(2, "c11", "what?"));
        }),
        check(Broken::QuestionLeft, |day| {
            day.chat.left.push("{}".to_owned());
        }),
        check(Broken::SaidByNobody, |day| {
            let void = FIRST.replace("attempt 1", "attempt 2");
            heard(day, |messages| messages.push(agent(6, &void)));
        }),
        check(Broken::SaidByNobody, |day| {
            heard(day, |messages| {
                if let Some(first) = messages.iter_mut().find(|said| said.text == SECOND) {
                    "AdaptiveAgent".clone_into(&mut first.author);
                }
            });
        }),
        check(Broken::SaidByNobody, |day| {
            // The chat's own agent speaks first.
            day.chat.agent = ChatAgent::Adaptive;
            day.chat.heard.push(ChatConnection {
                life: 3,
                after: 0,
                messages: vec![own(1)],
            });
        }),
        check(Broken::SaidByNobody, |day| {
            // There is none.
            heard(day, |messages| messages.push(own(6)));
        }),
        check(Broken::ResultInvented, |day| {
            let posted = |id| format!("posted as message {id}");
            close(day, &posted(5), &closing(&posted(1)));
        }),
    ]
}

pub(super) fn steps() -> Vec<Broken> {
    vec![
        check(Broken::RanBeside, |day| {
            // It pays before the first question is answered.
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                if one.message == "q1" && one.profile == FULL {
                    let paid = place_of(&one.frames, r#""call_started","call":"c6""#);
                    let paid = one.frames[paid].data.clone();
                    let at = place_of(&one.frames, &closing(ANSWER));
                    let closed = std::mem::replace(&mut one.frames[at].data, paid.clone());
                    let at = one.frames.iter().rposition(|frame| frame.data == paid);
                    one.frames[at.unwrap()].data = closed;
                }
            }
        }),
        check(Broken::RanBeside, |day| {
            // What it paid was paid before anybody answered.
            day.effects.last_mut().unwrap().at = 19;
        }),
        check(Broken::RanBeside, |day| {
            // The model had the answer before anybody gave it.
            day.asked.push(ObservedPrompt {
                message: "q1".to_owned(),
                results: 4,
                number: 3,
                ..ObservedPrompt::default()
            });
        }),
        check(Broken::RanBeside, |day| {
            // The second question was asked before the first was answered.
            heard(day, |messages| {
                for said in messages {
                    match said.id {
                        2 => (said.text, said.reply_to) = ("word 2 of w1".to_owned(), None),
                        4 => (said.text, said.reply_to) = (ANSWER.to_owned(), Some(1)),
                        _ => {}
                    }
                }
            });
        }),
    ]
}

pub(super) fn replies() -> Vec<Broken> {
    vec![
        check(Broken::ReplyLost, |day| {
            let cancelled = r#"{"status":"cancelled","text":"stopped"}"#;
            close(day, ANSWER, cancelled);
        }),
        check(Broken::ReplyLost, |day| {
            // Each has the other's.
            change(day, "q1", FULL, ANSWER, "~");
            change(day, "q1", FULL, RESULT, ANSWER);
            change(day, "q1", FULL, "~", RESULT);
        }),
        check(Broken::ReplyLost, |day| close(day, RESULT, &closing("no"))),
        check(Broken::ReplyLost, |day| {
            // It was taken under an id that is another's.
            day.chat.replies[0].fate = AnswerStatus::Taken(Some(4));
        }),
        check(Broken::ReplyTwice, |day| {
            close(day, RESULT, &closing(ANSWER));
        }),
        check(Broken::ReplyTwice, |day| {
            heard(day, |messages| {
                messages.last_mut().unwrap().reply_to = Some(1);
            });
            heard(day, |messages| {
                "user".clone_into(&mut messages.last_mut().unwrap().role);
            });
        }),
        check(Broken::ReplyInvented, |day| {
            close(day, ANSWER, &closing("yes"));
        }),
        check(Broken::ReplyInvented, |day| {
            // Who was refused has answered nothing.
            day.chat.replies[1].fate = AnswerStatus::Refused;
        }),
        check(Broken::ReplyInvented, |day| {
            // It answers another call.
            day.chat.replies[1].way = AnswerRoute::Result("c5".to_owned());
        }),
        check(Broken::ReplyInvented, |day| {
            // Nobody stopped the turn.
            close(day, RESULT, r#"{"status":"cancelled","text":"stopped"}"#);
        }),
        check(Broken::ReplyInvented, |day| {
            heard(day, |messages| messages.push(person(6, "nobody said this")));
        }),
        check(Broken::RejectedKept, |day| {
            let refused = reply(AnswerRoute::Chat, "refused", 30, None);
            day.chat.replies.push(refused);
            day.chat.replies.last_mut().unwrap().fate = AnswerStatus::Refused;
            heard(day, |messages| messages.push(person(6, "refused")));
        }),
    ]
}

pub(super) fn chats() -> Vec<Broken> {
    vec![
        check(Broken::Gap, |day| {
            day.chat.heard[1].messages.remove(2);
        }),
        check(Broken::Gap, |day| {
            // Nobody has heard the first.
            day.chat.heard.remove(2);
            (day.chat.heard[1].after, _) = (1, day.chat.heard[1].messages.remove(0));
        }),
        check(Broken::Repeat, |day| {
            let again = day.chat.heard[1].messages[1].clone();
            day.chat.heard[1].messages.insert(2, again);
        }),
        check(Broken::Reorder, |day| {
            day.chat.heard[1].messages.swap(3, 4);
        }),
        check(Broken::Reorder, |day| {
            heard(day, |messages| {
                "2025".clone_into(&mut messages.last_mut().unwrap().ts);
            });
        }),
        check(Broken::Changed, |day| {
            day.chat.heard[1].messages[2].text.push('!');
        }),
        check(Broken::DuplicateId, |day| {
            day.chat.boots[1].1 = "b1".to_owned();
        }),
        check(Broken::DuplicateId, |day| {
            day.chat.boots.push((2, "b3".to_owned()));
        }),
    ]
}
