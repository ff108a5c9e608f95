//! Each way in which a good day could have gone wrong.

mod asking;
mod relay;
mod trees;

use std::collections::BTreeSet;

use super::day::{EDITED, reading, renamed, row};
use super::{CANCELLED, EXHAUSTED, FAILED, FULL, change, check, end_m1, place_of, stop};
use crate::observed::{
    Class, Delivery, Effect, Frame, Incident, Observed, ObservedPrompt, Post, Profile, Spool,
};
use crate::violation::Broken;

/// Spoils a good day in every way that is known, and gives the promises that were found broken.
pub(super) fn all() -> BTreeSet<Broken> {
    let mut tried = BTreeSet::new();
    tried.extend(messages());
    tried.extend(rows());
    tried.extend(copies());
    tried.extend(memories());
    tried.extend(turns());
    tried.extend(ends());
    tried.extend(joins());
    tried.extend(streams());
    tried.extend(cuts());
    tried.extend(effects());
    tried.extend(results());
    tried.extend(servers());
    tried.extend(asking::questions());
    tried.extend(asking::steps());
    tried.extend(asking::replies());
    tried.extend(asking::chats());
    tried.extend(asking::decisions());
    tried.extend(trees::called());
    tried.extend(trees::in_background());
    tried.extend(relay::logs());
    tried.extend(relay::lost());
    tried.extend(relay::studies());
    tried.extend(relay::answers());
    tried.extend(relay::secrets());
    tried
}

fn memories() -> Vec<Broken> {
    let told = |day: &mut Observed, text: &str| day.memories.listed.push(text.to_owned());
    vec![
        check(Broken::MemoryLost, |day| day.memories.listed.clear()),
        check(Broken::MemoryLost, |day| day.memories.kept[0].proposed = 0),
        check(Broken::MemoryLost, |day| day.memories.kept[0].accepted = 2),
        check(Broken::KeptTwice, |day| told(day, "fact/k1/2")),
        check(Broken::KeptTwice, |day| told(day, "own/k1/2")),
        check(Broken::MemoryBack, |day| told(day, "own/k2/1")),
        check(Broken::MemoryBack, |day| {
            day.asked[0].message = "k3".to_owned();
            day.asked[0].told.push("k2".to_owned());
        }),
    ]
}

fn messages() -> Vec<Broken> {
    vec![
        check(Broken::MessageLost, |day| {
            day.stored.retain(|row| row.id != "m2");
        }),
        check(Broken::KeptTwice, |day| {
            let row = day.stored[0].clone();
            day.stored.push(row);
        }),
        check(Broken::KeptWrong, |day| day.stored[0].content.push('!')),
        check(Broken::KeptWrong, |day| {
            let row = day.stored.iter_mut().find(|row| row.call.is_some());
            row.unwrap().content.push('!');
        }),
        check(Broken::ImageLost, |day| {
            day.stored[0].image = Some("another".to_owned());
        }),
        check(Broken::ImageLost, |day| {
            day.images.lost.push("one".to_owned());
        }),
        check(Broken::ImageLeft, |day| {
            day.images.left.push("one".to_owned());
        }),
        check(Broken::OrderBroken, |day| {
            let first = day.stored.remove(0);
            day.stored.push(first);
        }),
        check(Broken::AnswerLost, |day| {
            change(day, "m1", FULL, "m1.1.2.end ", "");
        }),
        check(Broken::CameBack, |day| day.undead.push("s9".to_owned())),
        check(Broken::AskedAgain, |day| {
            let message = "m1".to_owned();
            day.asked.push(ObservedPrompt {
                message,
                results: 0,
                number: 9,
                ..ObservedPrompt::default()
            });
        }),
        check(Broken::Refused, |day| {
            let (message, why) = ("m1".to_owned(), "409".to_owned());
            day.incidents.push(Incident::Refused { message, why });
        }),
    ]
}

fn rows() -> Vec<Broken> {
    vec![
        check(Broken::KeptUnshown, |day| {
            day.stored.push(row("a9", "assistant", "m1.1.1.000 ", None));
        }),
        check(Broken::OrderBroken, |day| {
            // The answer stands before what it answers.
            let answer = day.stored.remove(3);
            day.stored.insert(2, answer);
        }),
        check(Broken::KeptWrong, |day| {
            day.totals.get_mut("s1").unwrap().tokens.output += 1;
        }),
        check(Broken::MessageLost, |day| {
            day.swept.push(day.stored[0].clone());
        }),
        check(Broken::RejectedKept, |day| {
            day.posts.push(Post {
                message: "m4".to_owned(),
                is_rejected: true,
                acked_at: None,
                ..day.posts[0].clone()
            });
            day.stored.push(row("m4", "user", "go on [m4]", None));
        }),
    ]
}

fn copies() -> Vec<Broken> {
    vec![
        check(Broken::MessageLost, |day| drop(day.copies.rows.remove(1))),
        check(Broken::KeptWrong, |day| {
            day.copies.rows[0].row.content.push('!');
        }),
        check(Broken::OrderBroken, |day| day.copies.rows.swap(0, 1)),
        check(Broken::KeptTwice, |day| {
            day.copies.rows[1] = day.copies.rows[0].clone();
        }),
        check(Broken::MessageLost, |day| drop(day.copies.rows.remove(3))),
        check(Broken::MessageLost, |day| drop(day.copies.rows.pop())),
        check(Broken::KeptTwice, |day| {
            let last = day.copies.rows.last().unwrap().clone();
            day.copies.rows.push(last);
        }),
        check(Broken::OrderBroken, |day| {
            let end = day.copies.rows.len() - 1;
            day.copies.rows.swap(end - 1, end);
        }),
    ]
}

fn turns() -> Vec<Broken> {
    vec![
        check(Broken::StuckTurn, |day| {
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                let kept = one.frames.len().saturating_sub(1);
                one.frames.truncate(kept);
                one.is_done = false;
            }
        }),
        check(Broken::StuckTurn, |day| {
            // Nobody could read anything of it.
            day.readings.retain(|one| one.message != "m1");
            day.retold.retain(|one| one.message != "m1");
        }),
        check(Broken::EndedTwice, |day| {
            let one = reading(&mut day.retold, "m1", FULL);
            let mut last = one.frames.last().unwrap().clone();
            last.id = Some("8.999".to_owned());
            one.frames.push(last);
        }),
        check(Broken::SecondTurn, |day| {
            let one = reading(&mut day.readings, "m1", FULL);
            for frame in &mut one.frames {
                frame.data = frame.data.replace("\"t1\"", "\"t9\"");
            }
        }),
        check(Broken::SecondTurn, |day| {
            // A message's stream is that of another one, which it has not joined.
            let other = reading(&mut day.retold, "m1", FULL).frames.clone();
            reading(&mut day.retold, "m2", FULL).frames = other;
        }),
        check(Broken::OrderBroken, |day| {
            // The first turn has begun only when the second was over.
            renamed(day, "m1", 60);
        }),
        check(Broken::ToldApart, |day| {
            change(day, "m2", Profile::Default, "receipt-2.", "receipt-3.");
        }),
        check(Broken::AnswerLost, |day| {
            // The answer is that to another message.
            change(day, "m1", FULL, "m1.1.2.", "m9.1.2.");
        }),
    ]
}

fn ends() -> Vec<Broken> {
    vec![
        check(Broken::EndedWrong, |day| end_m1(day, CANCELLED)),
        check(Broken::EndedWrong, |day| {
            // It was over before anybody asked to stop what runs.
            end_m1(day, CANCELLED);
            day.posts[0].ended_at = Some(9);
            day.stops.push(stop(None, 10));
        }),
        check(Broken::EndedWrong, |day| {
            // It was stopped by its name, it was said, and it went on.
            day.stops.push(stop(Some("t1"), 2));
        }),
        check(Broken::EndedWrong, |day| {
            // What ran was stopped, it was said, and all went on.
            day.stops.push(stop(None, 2));
        }),
        check(Broken::EndedWrong, |day| {
            // It gave up after one kill.
            end_m1(day, EXHAUSTED);
        }),
        check(Broken::EndedWrong, |day| end_m1(day, FAILED)),
    ]
}

fn joins() -> Vec<Broken> {
    vec![
        check(Broken::EndedWrong, |day| {
            // Nobody wanted it to join.
            day.posts[2].delivery = Delivery::Queue;
        }),
        check(Broken::EndedWrong, |day| {
            // It has joined, and its own turn ended as if it had not.
            change(day, "m3", FULL, "\"steered\"", "{\"model\":\"stop\"}");
        }),
        check(Broken::SecondTurn, |day| {
            // It has joined, and began a turn of its own, too.
            let first = reading(&mut day.retold, "m1", FULL).frames.clone();
            reading(&mut day.retold, "m3", FULL).frames = first;
            change(day, "m3", FULL, "\"id\":\"m1\"", "\"id\":\"m3\"");
        }),
        check(Broken::Gap, |day| {
            // What was accepted between its turn's events is nobody's.
            let place = day.readings.iter().position(|one| {
                one.message == "m3" && one.profile == FULL && one.frames.len() == 2
            });
            let own = &mut day.readings[place.unwrap()];
            own.frames.remove(0);
        }),
    ]
}

fn streams() -> Vec<Broken> {
    let first = |day: &mut Observed, spoil: fn(&mut Vec<Frame>)| {
        spoil(&mut reading(&mut day.readings, "m1", FULL).frames);
    };
    vec![
        check(Broken::Gap, |day| {
            first(day, |frames| drop(frames.remove(3)));
        }),
        check(Broken::Gap, |day| {
            // It continues after its cursor, but leaves the next event out.
            let one = day.readings.iter_mut().find(|one| one.after.is_some());
            one.unwrap().frames.remove(0);
        }),
        check(Broken::Gap, |day| {
            // Somebody's turn is in the log whom no client knows.
            renamed(day, "m2", 30);
        }),
        check(Broken::Repeat, |day| {
            first(day, |frames| frames.insert(4, frames[3].clone()));
        }),
        check(Broken::Reorder, |day| {
            first(day, |frames| frames.swap(3, 4));
        }),
        check(Broken::Changed, |day| {
            first(day, |frames| frames[3].data.push(' '));
        }),
        check(Broken::TakenBack, |day| {
            first(day, |frames| {
                let id = Some("8.77".to_owned());
                frames.insert(
                    4,
                    Frame {
                        id,
                        data: "{}".to_owned(),
                    },
                );
            });
        }),
        check(Broken::Splice, |day| {
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                one.frames.retain(|at| !at.data.contains("step_reset"));
            }
        }),
        check(Broken::StreamBroken, |day| {
            first(day, |frames| {
                let data = r#"{"type":"error","code":"internal"}"#.to_owned();
                frames.push(Frame { id: None, data });
            });
        }),
        check(Broken::DuplicateId, |day| {
            // The second turn's start has the place of the first one's.
            let place = place_of(&reading(&mut day.retold, "m1", FULL).frames, "turn_started");
            let id = reading(&mut day.retold, "m1", FULL).frames[place]
                .id
                .clone();
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                if one.message == "m2" && one.profile == FULL {
                    let place = place_of(&one.frames, "turn_started");
                    one.frames[place].id.clone_from(&id);
                }
            }
        }),
    ]
}

/// What a power cut may take, and what not.
fn cuts() -> Vec<Broken> {
    vec![
        check(Broken::TakenBack, |day| {
            // What is kept with a commit cannot be lost, whatever is said behind it.
            day.spool = Spool::Cut;
            let frames = &mut reading(&mut day.readings, "m1", FULL).frames;
            let cut = place_of(frames, "step_reset");
            frames.truncate(cut);
            let lost = r#"{"type":"call_started"}"#.to_owned();
            frames.push(Frame {
                id: Some("7.77".to_owned()),
                data: lost,
            });
        }),
        check(Broken::TakenBack, |day| {
            // What is still there can be resumed from.
            day.spool = Spool::Cut;
            let one = day.readings.last_mut().unwrap();
            one.frames = vec![Frame {
                id: Some("8.9".to_owned()),
                data: r#"{"type":"reset","snapshot":{}}"#.to_owned(),
            }];
        }),
        check(Broken::LossUntold, |day| {
            day.spool = Spool::Cut;
            let lost = r#"{"type":"delta","fragment":{"text":""}}"#.to_owned();
            let frames = &mut reading(&mut day.readings, "m1", FULL).frames;
            frames.push(Frame {
                id: Some("8.777".to_owned()),
                data: lost,
            });
        }),
    ]
}

fn effects() -> Vec<Broken> {
    let pay = |day: &Observed| {
        let mut effects = day.effects.iter();
        effects
            .find(|one| one.class == Class::Unsafe)
            .unwrap()
            .clone()
    };
    vec![
        check(Broken::UnsafeRepeated, |day| day.effects.push(pay(day))),
        check(Broken::UnsafeRepeated, |day| {
            // Another attempt of the same step paid too.
            let call = "c9".to_owned();
            day.effects.push(Effect { call, ..pay(day) });
        }),
        check(Broken::UnsafeRepeated, |day| {
            let file = day.files.get_mut("edit-m2.txt").unwrap();
            *file = file.repeat(2);
        }),
        check(Broken::UnsafeRepeated, |day| {
            // An attempt that was void has edited it, too.
            let file = day.files.get_mut("edit-m2.txt").unwrap();
            *file = format!("{}{file}", EDITED.replace("attempt 2", "attempt 1"));
        }),
        check(Broken::EffectUnannounced, |day| {
            for one in &mut day.retold {
                one.frames.retain(|frame| {
                    !(frame.data.contains("call_started") && frame.data.contains("pay"))
                });
            }
        }),
        check(Broken::EffectUnannounced, |day| {
            let call = "c9".to_owned();
            day.effects.push(Effect { call, ..pay(day) });
        }),
        check(Broken::KeyChanged, |day| {
            let mut effects = day.effects.iter_mut();
            let note = effects.find(|one| one.class == Class::Idempotent);
            note.unwrap().key.push('x');
        }),
    ]
}

fn results() -> Vec<Broken> {
    let closing = |day: &mut Observed, from: &str, to: &str| change(day, "m2", FULL, from, to);
    vec![
        check(Broken::CallFailed, |day| {
            drop(day.files.remove("write-m2.txt"));
            closing(
                day,
                r#""status":"done","text":"created""#,
                r#""status":"failed","text":"no""#,
            );
        }),
        check(Broken::DoubtInvented, |day| {
            // It began in the run of the server in which it was closed.
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                for frame in &mut one.frames {
                    frame.id = frame.id.as_ref().map(|id| id.replace("8.", "9."));
                }
            }
            closing(
                day,
                r#""status":"done","text":"receipt-2.""#,
                r#""status":"unknown","text":"outcome unknown""#,
            );
        }),
        check(Broken::EffectUntold, |day| {
            closing(
                day,
                r#""status":"done","text":"receipt-2.""#,
                r#""status":"failed","text":"no""#,
            );
        }),
        check(Broken::ResultInvented, |day| {
            day.effects.retain(|one| one.class != Class::Unsafe);
        }),
        check(Broken::ResultInvented, |day| {
            drop(day.files.remove("write-m2.txt"));
        }),
        check(Broken::DoubtUntold, |day| {
            closing(
                day,
                r#""status":"done","text":"receipt-2.""#,
                r#""status":"unknown","text":"eh""#,
            );
        }),
        check(Broken::CallOpen, |day| {
            for one in &mut day.retold {
                one.frames
                    .retain(|frame| !frame.data.contains("call_closed"));
            }
        }),
    ]
}

fn servers() -> Vec<Broken> {
    let text = || "x".to_owned();
    vec![
        check(Broken::ServerEnded, |day| {
            day.incidents.push(Incident::Ended(text()));
        }),
        check(Broken::NotServing, |day| {
            day.incidents.push(Incident::NotServing(text()));
        }),
        check(Broken::Orphan, |day| {
            day.incidents.push(Incident::Orphan(text()));
        }),
        check(Broken::StreamBroken, |day| {
            day.incidents.push(Incident::Malformed(text()));
        }),
        check(Broken::Panicked, |day| {
            day.incidents.push(Incident::Panicked(text()));
        }),
        check(Broken::DamageInvented, |day| {
            day.incidents.push(Incident::Damage(text()));
        }),
        check(Broken::Unfinished, |day| {
            day.incidents.push(Incident::Unfinished(text()));
        }),
    ]
}
