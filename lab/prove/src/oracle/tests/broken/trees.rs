//! What can go wrong with called agents.

use super::super::{FULL, change, check, found, good_day};
use crate::observed::{Observed, Profile};
use crate::violation::Broken;

/// The call of the deeper agent, as it is closed.
const DEEPER: &str = "k1-c1-c1.1.1.end ";

fn closing(day: &mut Observed, from: &str, to: &str) {
    for profile in [FULL, Profile::Default] {
        change(day, "k1", profile, from, to);
    }
}

pub(super) fn called() -> Vec<Broken> {
    vec![
        check(Broken::CalledTwice, |day| {
            // Another turn answers the same call.
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                for frame in one.frames.iter_mut().filter(|_| one.message == "k1") {
                    frame.data = frame
                        .data
                        .replace("\"parent_call\":\"c11\"", "\"parent_call\":\"c10\"");
                }
            }
        }),
        check(Broken::CalledTwice, |day| {
            let mut again = day.turns[1].clone();
            "t19".clone_into(&mut again.turn);
            day.turns.push(again);
        }),
        check(Broken::CalledResultWrong, |day| {
            // The agent has said something else.
            closing(
                day,
                "\\\"messageId\\\":\\\"a12\\\"",
                "\\\"messageId\\\":\\\"a13\\\"",
            );
        }),
        check(Broken::CalledResultWrong, |day| {
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                let is_of_deeper = |data: &str| data.contains("master/helper/deeper");
                one.frames.retain(|frame| !is_of_deeper(&frame.data));
            }
        }),
        check(Broken::AnswerLost, |day| {
            change(day, "k1", FULL, DEEPER, "");
        }),
        check(Broken::StuckTurn, |day| day.turns[2].is_over = false),
        check(Broken::StuckTurn, |day| {
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                let is_end =
                    |data: &str| data.contains("turn_finished") && data.contains("/deeper");
                one.frames.retain(|frame| !is_end(&frame.data));
            }
        }),
        check(Broken::EndedWrong, |day| {
            // Nobody has stopped it.
            for one in day.readings.iter_mut().chain(&mut day.retold) {
                let of_deeper = |data: &str| data.contains("/deeper");
                let frames = one.frames.iter_mut();
                for frame in frames.filter(|frame| of_deeper(&frame.data)) {
                    let stop = r#""reason":{"model":"stop"}"#;
                    frame.data = frame.data.replace(stop, r#""reason":"cancelled""#);
                }
            }
        }),
    ]
}

pub(super) fn in_background() -> Vec<Broken> {
    let of_result = |row: &crate::observed::Stored| row.result_of.is_some();
    vec![
        check(Broken::BackgroundResultWrong, |day| {
            day.stored.retain(|row| !of_result(row));
        }),
        check(Broken::BackgroundResultWrong, |day| {
            let mut again = day
                .stored
                .iter()
                .find(|row| of_result(row))
                .unwrap()
                .clone();
            "k29".clone_into(&mut again.id);
            day.stored.push(again);
        }),
        check(Broken::BackgroundResultWrong, |day| {
            let mut rows = day.stored.iter_mut();
            let row = rows.find(|row| of_result(row)).unwrap();
            row.content = row.content.replace("b1-b1.1.1.end", "b1-b2.1.1.end");
        }),
        check(Broken::BackgroundResultWrong, |day| {
            // It is that of nobody.
            let mut rows = day.stored.iter_mut();
            let row = rows.find(|row| of_result(row)).unwrap();
            row.result_of = Some("t29".to_owned());
        }),
    ]
}

// proves DU-14
#[test]
fn a_stop_that_a_kill_cut_in_two_may_end_the_called_agent_alone() {
    let mut day = good_day();
    let done = r#"{"ok":true,"messageId":"a12","summary":"#;
    let stopped = r#"{"ok":false,"code":"SUBAGENT_CANCELLED","messageId":"a12","summary":"#;
    let text = |ok: &str| ok.replace('"', "\\\"");
    closing(&mut day, &text(done), &text(stopped));
    for one in day.readings.iter_mut().chain(&mut day.retold) {
        for frame in one.frames.iter_mut().filter(|_| one.message == "k1") {
            let is_closing = frame.data.contains("\"call_closed\"") && frame.data.contains("a12");
            if is_closing {
                frame.data = frame.data.replace(r#""done""#, r#""cancelled""#);
            } else if frame.data.contains("turn_finished") && frame.data.contains("/deeper") {
                let stop = r#""reason":{"model":"stop"}"#;
                frame.data = frame.data.replace(stop, r#""reason":"cancelled""#);
            }
        }
    }
    let mut rows = day.stored.iter_mut();
    let row = rows.find(|row| row.call.as_deref() == Some("c11")).unwrap();
    row.content = row.content.replace(done, stopped);
    assert!(found(&day).contains(&Broken::EndedWrong));

    day.stops.push(crate::observed::Stop {
        session: "s3".to_owned(),
        is_confirmed: false,
        ..super::super::stop(None, 40)
    });
    assert_eq!(super::super::judge(&day).violations, []);
}
