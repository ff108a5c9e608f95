//! Observations made by hand: a good day, and each way in which it could have gone wrong.

mod day;

use std::collections::BTreeSet;

use self::day::{good_day, reading, renamed};
use super::judge;
use crate::observed::{Asked, Class, Effect, Frame, Incident, Observed, Profile, Spool};
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
    assert_eq!((counts.accepted, counts.lost, counts.stuck), (2, 0, 0));
    assert_eq!(counts.ends.get("stop"), Some(&2));
    assert_eq!(
        (counts.calls, counts.unsafe_effects, counts.unsafe_repeated),
        (4, 1, 0)
    );
    assert_eq!((counts.idempotent_effects, counts.idempotent_again), (1, 1));
    assert_eq!((counts.resumed, counts.continued, counts.resets), (1, 1, 1));
}

// proves DU-14
#[test]
fn every_promise_that_can_be_broken_is_found_broken() {
    let mut tried = BTreeSet::new();
    tried.extend(messages());
    tried.extend(turns());
    tried.extend(streams());
    tried.extend(effects());
    tried.extend(servers());

    let all: BTreeSet<_> = Broken::ALL.iter().copied().collect();
    assert_eq!(tried, all);
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
            day.asked.push(Asked {
                message,
                results: 0,
                number: 9,
            });
        }),
        check(Broken::Refused, |day| {
            let (message, why) = ("m1".to_owned(), "409".to_owned());
            day.incidents.push(Incident::Refused { message, why });
        }),
    ]
}

fn turns() -> Vec<Broken> {
    vec![
        check(Broken::StuckTurn, |day| {
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                let kept = one.frames.len() - 1;
                one.frames.truncate(kept);
                one.is_done = false;
            }
        }),
        check(Broken::EndedTwice, |day| {
            let one = reading(&mut day.retold, "m1", FULL);
            let mut last = one.frames.last().unwrap().clone();
            last.id = Some("8.999".to_owned());
            one.frames.push(last);
        }),
        check(Broken::EndedWrong, |day| {
            change(day, "m1", FULL, r#"{"model":"stop"}"#, r#""cancelled""#);
        }),
        check(Broken::EndedWrong, |day| {
            // It was stopped, it was said, and it went on.
            day.posts[0].may_be_cancelled = true;
            day.posts[0].is_cancelled = true;
        }),
        check(Broken::SecondTurn, |day| {
            let one = reading(&mut day.readings, "m1", FULL);
            for frame in &mut one.frames {
                frame.data = frame.data.replace("\"t1\"", "\"t9\"");
            }
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
            // It goes on behind its cursor, but leaves the next event out.
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
        check(Broken::LossUntold, |day| {
            day.spool = Spool::Cut;
            let lost = "{}".to_owned();
            let frames = &mut reading(&mut day.readings, "m1", FULL).frames;
            frames.push(Frame {
                id: Some("8.777".to_owned()),
                data: lost,
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

fn effects() -> Vec<Broken> {
    let closing = |day: &mut Observed, from: &str, to: &str| change(day, "m2", FULL, from, to);
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
        check(Broken::EffectUntold, |day| {
            closing(
                day,
                r#""status":"done","text":"receipt-2.""#,
                r#""status":"failed","text":"no""#,
            );
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
        check(Broken::ResultInvented, |day| {
            day.effects.retain(|one| one.class != Class::Unsafe);
        }),
        check(Broken::ResultInvented, |day| {
            drop(day.files.remove("write-m2.txt"));
        }),
        check(Broken::KeyChanged, |day| {
            let mut effects = day.effects.iter_mut();
            let note = effects.find(|one| one.class == Class::Idempotent);
            note.unwrap().key.push('x');
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
    ]
}

// proves DU-14
#[test]
fn what_nobody_broke_is_not_called_broken() {
    let fine = |spoil: fn(&mut Observed)| {
        let mut day = good_day();
        spoil(&mut day);
        let violations = judge(&day).violations;
        assert_eq!(violations, []);
    };
    // A turn that somebody stopped is cancelled.
    fine(|day| {
        day.posts[0].may_be_cancelled = true;
        change(day, "m1", FULL, r#"{"model":"stop"}"#, r#""cancelled""#);
    });
    // A turn that was cut too often may give up.
    fine(|day| {
        let fault = r#""error","fault":{"code":"recovery_exhausted"}"#;
        change(day, "m1", FULL, r#"{"model":"stop"}"#, fault);
    });
    // A call in doubt whose effect happened is told in the words for it.
    fine(|day| {
        let (done, doubt) = (
            "\"done\",\"text\":\"receipt-2.\"",
            "\"unknown\",\"text\":\"outcome unknown\"",
        );
        change(day, "m2", FULL, done, doubt);
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
