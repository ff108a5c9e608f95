//! Children that come to nothing, or to too much: the caller hears what happened and continues.

use samovar_core::agent::AgentModel;
use samovar_core::error::FaultCode;
use samovar_core::history::Speakers;
use samovar_core::{Agent, FinishReason};
use samovar_doubles::{Gate, Reply, call, fail, say, think};
use serde_json::{Value, json};

use crate::children::{agent, delegate, ends, log, outcomes, who, world};
use crate::rig::{Rig, settings, well};

const MB: usize = 1_000_000;

/// A call, what the model of the called agent answers, the reason, and how often it is asked.
type Row = (Value, fn() -> Reply, &'static str, usize);

// proves SA-6
#[tokio::test(start_paused = true)]
async fn a_child_whose_model_is_down_or_says_nothing_is_a_result_and_its_caller_continues() {
    let down = || fail(FaultCode::ProviderError, "the model is down");
    let to = |name: &str, options: Value| json!({"name": name, "task": "go", "options": options});
    let plain = || to("plain", json!({}));
    let rows: [Row; 6] = [
        // Its model is not there: it does not begin.
        (to("plain", json!({"model": "lost"})), down, "is gone", 0),
        (to("of-lost", json!({})), down, "is gone", 0),
        // It fails whenever it is asked.
        (plain(), down, "the model is down", 3),
        // It says nothing whenever it is asked.
        (plain(), || say(""), "neither text", 2),
        (plain(), || say(" \n "), "neither text", 2),
        (plain(), || think("hm"), "neither text", 2),
    ];
    for (order, answer, why, asked) in rows {
        let world = world(move |who, _, results| match (who, results) {
            ("master", 0) => call("subAgent", order.clone()),
            ("master", 1) => call("subAgent", delegate("well", "go")),
            ("master", _) => say("done"),
            ("well", _) => say("I am well"),
            _ => answer(),
        });
        world.model.lose("lost");
        let of_lost = Agent {
            model: Some(AgentModel {
                name: "lost".to_owned(),
                temperature: None,
                max_tokens: None,
            }),
            ..agent("of-lost", &[], &[])
        };
        let mut settings = settings();
        settings.retry.count = 2;
        let [plain, well_one] = ["plain", "well"].map(|name| agent(name, &[], &[]));
        let rig = Rig::delegating(world, [], [plain, of_lost, well_one], settings).await;

        let turn = rig.post("go").await;
        let log = log(&rig, &turn).await;

        let told = outcomes(&log, &turn);
        let said = &told[0];
        let code = match asked {
            0 => "SUBAGENT_MODEL",
            _ => "SUBAGENT_FAILED",
        };
        assert_eq!((&said["ok"], &said["code"]), (&json!(false), &json!(code)));
        assert!(said["error"].as_str().unwrap().contains(why), "{said}");
        assert_eq!(told[1]["summary"], "I am well", "its caller continues");
        let ends = ends(&log);
        assert_eq!(ends.last(), Some(&("master".to_owned(), well())));
        assert_eq!(ends.len(), 2 + usize::from(asked > 0));
        let prompts = rig.world.model.prompts();
        let of_child = prompts.iter().filter(|prompt| who(prompt) == "plain");
        assert_eq!(of_child.count(), asked, "{said}");
    }
}

// proves SA-18, SA-9
#[tokio::test]
async fn of_a_megabyte_that_a_child_says_its_caller_reads_the_beginning_and_people_all() {
    let world = world(|who, _, results| match (who, results) {
        ("master", 0) => call("subAgent", delegate("a", "go")),
        ("master", _) => say("done"),
        _ => say(&"ы".repeat(MB)),
    });
    let rig = Rig::delegating(world, [], [agent("a", &[], &[])], settings()).await;

    let turn = rig.post("go").await;
    let log = log(&rig, &turn).await;

    let said = &outcomes(&log, &turn)[0];
    let summary = said["summary"].as_str().unwrap();
    assert!(summary.starts_with(&"ы".repeat(2_000)), "{summary}");
    assert!(summary.contains("998000 more characters"), "{summary}");
    let told = rig.world.model.prompts().pop().unwrap();
    let told = told.messages.last().unwrap().parts.clone();
    assert!(serde_json::to_string(&told).unwrap().len() < 10_000);
    let rows = rig.messages(Speakers::All).await;
    let id = said["messageId"].as_str().unwrap();
    let own = rows.iter().find(|row| row.message.id.as_str() == id);
    assert_eq!(own.unwrap().message.text(), "ы".repeat(MB));
}

// proves SA-4, SA-7
#[tokio::test]
async fn agents_whose_definitions_are_gone_finish_what_they_do_also_after_a_restart() {
    let gate = Gate::default();
    let held = gate.clone();
    let world = world(move |who, said, results| match (who, said, results) {
        ("master", _, 0 | 1) => call("subAgent", delegate("a", "go")),
        ("a", _, 0) => call("subAgent", delegate("b", "go")),
        ("b", ..) => say("half of it").hold_after(1, &held),
        _ => say("done"),
    });
    let agents = [agent("a", &[], &["b"]), agent("b", &[], &[])];
    let rig = Rig::delegating(world, [], agents, settings()).await;
    let turn = rig.post("go").await;
    rig.world.model.seen(3).await;

    rig.define([]);
    let rig = rig.restart().await;
    gate.open();
    let log = log(&rig, &turn).await;

    let [b, a, master] = &ends(&log)[..] else {
        panic!("{log:?}");
    };
    let well = [("master/a/b", well()), ("master/a", well())];
    assert_eq!([b, a].map(|(path, end)| (path.as_str(), end.clone())), well);
    // Its own model stopped after a call that failed.
    assert_eq!(*master, ("master".to_owned(), FinishReason::FailedCall));
    let told: Vec<_> = outcomes(&log, &turn);
    assert_eq!(
        (told[0]["ok"].as_bool(), &told[0]["summary"]),
        (Some(true), &json!("done"))
    );
    assert_eq!(
        told[1]["code"], "SUBAGENT_UNKNOWN",
        "the next call finds none"
    );
    let prompts = rig.world.model.prompts();
    let resumed: Vec<_> = prompts[3..].iter().map(who).collect();
    assert_eq!(resumed[..4], ["b", "a", "master", "master"]);
}
