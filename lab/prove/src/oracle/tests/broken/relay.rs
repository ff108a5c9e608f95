//! Each way in which the relay, its studies and their logs could have gone wrong.

use serde_json::{Value, json};

use crate::observed::{Envelope, Observed};
use crate::oracle::tests::check;
use crate::oracle::tests::day::relay::{ROOM, STUDY, log, rewrite, row};
use crate::violation::Broken;

/// The place of a row that is about this.
fn place(rows: &[Value], words: &[&str]) -> usize {
    let is_it = |row: &Value| {
        let text = row.to_string();
        words.iter().all(|word| text.contains(word))
    };
    rows.iter().position(is_it).unwrap()
}

fn text<'d>(day: &'d mut Observed, path: &str) -> &'d mut String {
    let mut logs = day.relay.logs.iter_mut();
    &mut logs.find(|log| log.path == path).unwrap().text
}

pub(super) fn logs() -> Vec<Broken> {
    vec![
        check(Broken::LogGap, |day| {
            rewrite(day, STUDY, |rows| rows[2]["eventIndex"] = 3.into());
        }),
        check(Broken::LogGap, |day| {
            // After a restart it was counted from the start again.
            rewrite(day, STUDY, |rows| {
                let restarted = place(rows, &["server.restarted"]);
                for (index, row) in rows[restarted..].iter_mut().enumerate() {
                    row["eventIndex"] = index.into();
                }
            });
        }),
        check(Broken::LogChanged, |day| {
            let text = text(day, STUDY);
            *text = text.replace("\"press\"", "\"presS\"");
        }),
        check(Broken::LogChanged, |day| {
            // Two rows have changed places, and their indexes with them.
            let text = text(day, ROOM);
            *text = text.replace("\"member\":1", "\"member\":3");
        }),
        check(Broken::LogChanged, |day| text(day, ROOM).push_str("{}\n")),
        check(Broken::LogChanged, |day| text(day, ROOM).push_str("torn\n")),
        check(Broken::LogChanged, |day| {
            rewrite(day, STUDY, |rows| rows[0]["direction"] = "inward".into());
        }),
        check(Broken::LogChanged, |day| {
            // What was said is not what stands there.
            rewrite(day, STUDY, |rows| {
                let call = place(rows, &["\"in\"", "tool.call"]);
                rows[call]["payload"]["reason"] = "none was given".into();
            });
        }),
        check(Broken::LogRowTwice, |day| {
            rewrite(day, STUDY, |rows| {
                let call = place(rows, &["\"in\"", "tool.call"]);
                rows.insert(call, rows[call].clone());
            });
        }),
        check(Broken::LogRowTwice, |day| {
            rewrite(day, STUDY, |rows| {
                let call = place(rows, &["\"out\"", "tool.result"]);
                rows.insert(call, rows[call].clone());
            });
        }),
    ]
}

pub(super) fn lost() -> Vec<Broken> {
    let lose = |words: &[&str]| {
        check(Broken::LogRowLost, |day| {
            rewrite(day, STUDY, |rows| {
                drop(rows.remove(place(rows, words)));
            });
        })
    };
    vec![
        lose(&["\"in\"", "tool.call"]),
        lose(&["\"out\"", "tool.call"]),
        lose(&["\"in\"", "tool.result"]),
        lose(&["\"out\"", "tool.result"]),
        lose(&["\"out\"", "state.updated", "\"member\":2"]),
        check(Broken::LogRowLost, |day| {
            // The answer stands there as that to another.
            rewrite(day, STUDY, |rows| {
                let done = place(rows, &["\"out\"", "tool.result"]);
                rows[done]["member"] = 1.into();
            });
        }),
        check(Broken::Reorder, |day| day.relay.links[2].got.reverse()),
    ]
}

pub(super) fn studies() -> Vec<Broken> {
    vec![
        check(Broken::StudyCut, |day| {
            rewrite(day, STUDY, |rows| {
                drop(rows.remove(place(rows, &["server.restarted"])));
            });
        }),
        check(Broken::StudyCut, |day| {
            // It is said where no server has come up.
            rewrite(day, STUDY, |rows| {
                let call = place(rows, &["\"in\"", "tool.call"]);
                let restarted = row("internal", "", "server.restarted", &json!({}));
                rows.insert(call, restarted);
            });
        }),
        check(Broken::StudyCut, |day| {
            // The second life writes into a log of its own.
            let mut later = Vec::new();
            rewrite(day, STUDY, |rows| {
                later = rows.split_off(place(rows, &["server.restarted"]));
            });
            day.relay.logs.push(log("logs/study/s-2.jsonl", later));
        }),
        check(Broken::LogFileWrong, |day| {
            day.relay.endings[0].is_there = false;
        }),
        check(Broken::LogFileWrong, |day| {
            "logs/study/s-9.jsonl".clone_into(&mut day.relay.endings[0].log_file);
        }),
        check(Broken::LogFileWrong, |day| {
            // It has another name than the study.
            let mut rows = Vec::new();
            rewrite(day, STUDY, |all| rows.append(all));
            day.relay.logs[1] = log("logs/study/s-9.jsonl", rows);
        }),
        check(Broken::LogFileWrong, |day| {
            // The beginning of the study is elsewhere.
            let mut begin = Vec::new();
            rewrite(day, STUDY, |rows| begin = rows.drain(..4).collect());
            rewrite(day, ROOM, |rows| rows.append(&mut begin));
        }),
    ]
}

pub(super) fn answers() -> Vec<Broken> {
    vec![
        check(Broken::AnswerAstray, |day| {
            // Both get what one of them has asked under the id of both.
            let done = day.relay.links[1].got[1].clone();
            day.relay.links[0].got.push(done);
        }),
        check(Broken::AnswerAstray, |day| {
            let [one, other, _] = &mut day.relay.links[..] else {
                unreachable!()
            };
            std::mem::swap(&mut one.got[1].payload, &mut other.got[1].payload);
        }),
        check(Broken::AnswerAstray, |day| {
            let again = day.relay.links[2].got[1].clone();
            day.relay.links[2].got.push(again);
        }),
        check(Broken::AnswerAstray, |day| {
            day.relay.links[0].got.push(Envelope {
                kind: "tool.result".to_owned(),
                reply_to: Some("9".to_owned()),
                ..Envelope::default()
            });
        }),
        check(Broken::RequestTwice, |day| {
            day.relay.asked.push("b2".to_owned());
        }),
        check(Broken::RequestTwice, |day| {
            rewrite(day, STUDY, |rows| {
                let call = place(rows, &["\"out\"", "tool.call"]);
                rows.insert(call, rows[call].clone());
            });
        }),
        check(Broken::RequestUnanswered, |day| {
            day.relay.unanswered.push("b3".to_owned());
        }),
    ]
}

pub(super) fn secrets() -> Vec<Broken> {
    let secret = json!([{ "more": [{ "backendData": null }] }]);
    vec![
        check(Broken::SecretOut, |day| {
            day.relay.links[0].got[1].payload["deep"] = secret.clone();
        }),
        check(Broken::SecretOut, |day| {
            rewrite(day, STUDY, |rows| {
                rows[2]["payload"]["deep"] = secret.clone();
            });
        }),
    ]
}
