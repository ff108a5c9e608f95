//! Agents below the session's own, as clients see them.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use samovar_model_server::{Gate, Rule, call, say};
use samovar_server::ChatAgent;
use samovar_testkit::{Answer, App, AppBuilder, EventStream};
use serde_json::{Value, json};

fn asks_browser() -> samovar_model_server::Reply {
    let order = json!({"name": "browser", "task": "look up tea"});
    say("I ask. ").and_call("subAgent", order)
}

/// A server on which the browser agent has answered.
async fn answered() -> (App, String) {
    let app = App::start([asks_browser(), say("tea is a leaf"), say("a leaf")]).await;
    let session = app.session().await;
    (app, session)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

// proves SA-8, SA-9, SA-22
#[tokio::test]
async fn a_child_is_told_apart_live_and_after_a_reload_and_the_default_stream_shows_none_of_it() {
    let (app, session) = answered().await;
    let path = "/services/agent/sendMessage/stream?profile=full";
    let body = json!({"sessionId": session, "content": "tea?"});
    let request = app.request(Method::POST, path).json(&body);
    let frames = EventStream::new(request.send().await.unwrap()).rest().await;

    let of = |path: &str| {
        let events = frames.iter().map(|frame| &frame.data);
        let events = events.filter(|event| event["agent"] == path);
        let texts = events.filter_map(|event| event["fragment"]["text"].as_str());
        texts.collect::<String>()
    };
    assert_eq!(of("master"), "I ask. a leaf");
    assert_eq!(of("master/browser"), "tea is a leaf");

    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let finished = frames.iter().map(|frame| &frame.data["message"]);
    let finished = finished.filter(|message| message["parts"].is_array());
    let about = |message: &Value| (message["id"].to_string(), message["metadata"].clone());
    let live: BTreeMap<_, _> = finished.map(about).collect();
    let kept = items(&rows).iter().map(about);
    let kept: BTreeMap<_, _> = kept.filter(|(id, _)| live.contains_key(id)).collect();
    assert_eq!((kept.len(), kept), (5, live));
    let said = items(&rows)
        .iter()
        .find(|row| row["content"] == "tea is a leaf")
        .unwrap();
    let agent = &said["metadata"]["agent"];
    assert_eq!(agent["path"], json!(["master", "browser"]));
    assert_eq!(
        (&agent["kind"], &agent["depth"]),
        (&json!("sub"), &json!(1))
    );
    assert_eq!(agent["displayName"], "Browser");
    let caller = items(&rows)
        .iter()
        .find(|row| row["id"] == agent["parentMessageId"])
        .unwrap();
    assert_eq!(caller["content"], "I ask. ");
    assert_eq!(caller["toolCalls"][0]["id"], agent["toolCallId"]);
    let result = items(&rows)
        .iter()
        .find(|row| row["toolCallId"] == agent["toolCallId"])
        .unwrap();
    let told: Value = serde_json::from_str(result["content"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&told["ok"], &told["messageId"]),
        (&json!(true), &said["id"])
    );

    let (app, session) = answered().await;
    let frames = app.turn(&session, "tea?").await;
    let shown: String = frames
        .iter()
        .filter_map(|frame| frame.data["content"].as_str())
        .collect();
    assert_eq!(shown, "I ask. a leaf");
}

// proves SA-7, SA-11
#[tokio::test]
async fn turns_are_listed_as_a_tree_and_a_branch_is_stopped_alone() {
    let never = say("half of it").hold_after(1, &Gate::new("never"));
    let app = App::start([asks_browser(), never, say("it was stopped")]).await;
    let session = app.session().await;
    let mut stream = app.say(&session, "tea?").await;
    app.model.prompt(1).await.unwrap();

    let path = format!("/api/turns?sessionId={session}");
    let turns = app.get(&path).await.body;
    let [master, browser] = items(&turns) else {
        panic!("{turns}")
    };
    assert_eq!(browser["parentTurnId"], master["turnId"]);
    assert_eq!(browser["path"], json!(["master", "browser"]));
    let states: BTreeSet<_> = items(&turns)
        .iter()
        .map(|turn| turn["state"].as_str())
        .collect();
    assert_eq!(states, BTreeSet::from([Some("running")]));
    let last = |turn: &Value| turn["lastEvent"]["type"].clone();
    assert_eq!(
        (last(master), last(browser)),
        (json!("call_started"), json!("step_started"))
    );

    let cancel = format!("/api/turns/{}/cancel", browser["turnId"].as_str().unwrap());
    let stopped = app
        .answer(app.request(Method::POST, &cancel).json(&json!({})))
        .await;
    assert_eq!(stopped.body, json!({"cancelled": true}));
    stream.rest().await;
    let again = app
        .answer(app.request(Method::POST, &cancel).json(&json!({})))
        .await;
    assert_eq!(again.body, json!({"cancelled": false}));
    let turns = app.get(&path).await.body;
    let reasons = |turn: &Value| turn["finishReason"].as_str().map(str::to_owned);
    let ends: Vec<_> = items(&turns).iter().map(reasons).collect();
    assert_eq!(ends[1].as_deref(), Some("cancelled"));
    let browser = &turns[1];
    assert_eq!(last(browser), "turn_finished");
    let at = |key: &str| browser[key].as_i64().unwrap();
    let ended_at = at("startedAt") + at("elapsedMs");
    assert_eq!(browser["lastEvent"]["at"], ended_at);
    assert!(ends[0].is_some(), "{turns}");
    let unknown = app
        .request(Method::POST, "/api/turns/nope/cancel")
        .json(&json!({}));
    let refused = app.answer(unknown).await;
    assert_eq!((refused.status, refused.code()), (404, "unknown_turn"));
}

/// A server on which the agent `asker` asks the person and reports; and the session that calls it.
async fn asking() -> (App, String) {
    let order = json!({"name": "asker", "task": "find out"});
    let quiet = AppBuilder::new().with(|config| config.chat.agent = ChatAgent::Nobody);
    let script = [
        call("subAgent", order),
        call("ask_user", json!({"question": "which tea?"})),
        say("green"),
        say("green it is"),
    ];
    let app = quiet.start(script).await;
    let asker = json!({"name": "asker", "toolKeys": ["ask_user"]});
    let added = app.request(Method::POST, "/api/agents").json(&asker);
    assert_eq!(app.answer(added).await.status, 200);
    let session = app.session().await;
    (app, session)
}

/// Reads on until the call of a question has begun: its id, and the agent that asks.
async fn question(stream: &mut EventStream) -> (Value, Value) {
    loop {
        let frame = stream.next().await.unwrap().data;
        if frame["type"] == "call_started" && frame["closer"] == "person" {
            return (frame["call"].clone(), frame["agent"].clone());
        }
    }
}

async fn settle(app: &App, call: &Value, result: &str) -> Answer {
    let path = format!("/api/calls/{}", call.as_str().unwrap());
    let request = app.request(Method::POST, &path);
    app.answer(request.json(&json!({ "result": result }))).await
}

// proves SA-13
#[tokio::test]
async fn a_question_of_a_child_reaches_every_client_of_the_root_and_the_first_answer_wins() {
    let (app, session) = asking().await;
    let body = json!({"sessionId": session, "content": "tea?"});
    let path = "/services/agent/sendMessage/stream";
    let request = app.request(Method::POST, &format!("{path}?profile=full"));
    let mut first = EventStream::new(request.json(&body).send().await.unwrap());
    let (call, agent) = question(&mut first).await;
    assert_eq!(agent, "master/asker");
    let mut second = app
        .follow(&format!("{path}?sessionId={session}&profile=full"))
        .await;
    assert_eq!(question(&mut second).await, (call.clone(), agent));
    // One that has lost its position sees it in either profile, and one that only asks for it.
    for profile in ["default", "full"] {
        let query = format!("sessionId={session}&profile={profile}&after=0.0");
        let frame = app.follow(&format!("{path}?{query}")).await.next().await;
        let snapshot = frame.unwrap().data["snapshot"].take();
        let child = &snapshot["children"][0];
        assert_eq!(child["path"], json!(["master", "asker"]), "{snapshot}");
        assert_eq!(child["calls"][0]["id"], call);
        assert_eq!(child["calls"][0]["args"]["question"], "which tea?");
    }
    let calls = app.get("/api/calls").await.body;
    assert_eq!(calls["totalCount"], 1, "{calls}");
    assert_eq!(calls["items"][0]["id"], call);
    assert_eq!(calls["items"][0]["path"], json!(["master", "asker"]));
    let chat = app.get("/chat/history").await.body;
    assert_eq!(
        (&chat[0]["author"], &chat[0]["text"]),
        (&json!("master/asker"), &json!("which tea?"))
    );

    let answers = ["the first", "the second"];
    let (one, two) = tokio::join!(
        settle(&app, &call, answers[0]),
        settle(&app, &call, answers[1])
    );

    let winner = usize::from(one.status != 200);
    let [won, lost] = if winner == 0 { [one, two] } else { [two, one] };
    assert_eq!(
        (won.status, lost.status, lost.code()),
        (200, 404, "unknown_call")
    );
    for stream in [&mut first, &mut second] {
        let frames = stream.rest().await;
        let closed = frames
            .iter()
            .find(|frame| frame.kind() == "call_closed" && frame.data["call"] == call);
        assert_eq!(closed.unwrap().data["outcome"]["text"], answers[winner]);
    }
    assert!(
        app.model.prompts()[2]
            .body()
            .to_string()
            .contains(answers[winner])
    );
    assert_eq!(app.get("/api/calls").await.body["totalCount"], 0);
}

// proves SA-11
#[tokio::test]
async fn the_last_turns_of_all_sessions_are_those_that_began_last() {
    let script = [say("one"), say("two"), say("three"), asks_browser()];
    let app = App::start(
        script
            .into_iter()
            .chain([say("a leaf"), say("tea")])
            .collect::<Vec<_>>(),
    )
    .await;
    let (long, short) = (app.session().await, app.session().await);
    for said in ["1", "2", "3"] {
        app.turn(&long, said).await;
    }
    app.turn(&short, "tea?").await;

    let turns = app.get("/api/turns?limit=3").await.body;

    let found = items(&turns).iter();
    let found: Vec<_> = found
        .map(|turn| (&turn["sessionId"], &turn["name"]))
        .collect();
    let (long, short) = (json!(long), json!(short));
    let (master, browser) = (json!("master"), json!("browser"));
    assert_eq!(
        found,
        [(&long, &master), (&short, &master), (&short, &browser)]
    );
}
/// Removes an agent, or switches it off.
async fn take_away(app: &App, name: &str, is_removed: bool) {
    let path = format!("/api/agents/{name}");
    let request = if is_removed {
        app.request(Method::DELETE, &format!("{path}?version=1"))
    } else {
        let mut definition = app.get(&path).await.body;
        definition["enabled"] = json!(false);
        app.request(Method::PUT, &path).json(&definition)
    };
    let answer = app.answer(request).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

// proves SA-4, SA-6
#[tokio::test]
async fn agents_that_are_taken_away_finish_what_they_do_and_begin_nothing_more() {
    let rows = [
        (true, "SUBAGENT_UNKNOWN", (404, "unknown_agent")),
        (false, "SUBAGENT_DISABLED", (422, "unusable_agent")),
    ];
    for ((is_removed, code, refusal), is_restarted) in
        rows.into_iter().flat_map(|row| [(row, false), (row, true)])
    {
        let gate = Gate::new("held");
        let delegates = || call("subAgent", json!({"name": "helper", "task": "look"}));
        let mut replies: Vec<Rule> = vec![
            delegates().into(),
            say("half of it").hold_after(1, &gate).into(),
        ];
        if is_restarted {
            replies.push(say("half of it").into());
        }
        replies.extend([delegates().into(), say("done").forever()]);
        let app = App::start(replies).await;
        for definition in [
            json!({"name": "helper", "systemPrompt": "You help."}),
            json!({"name": "boss", "systemPrompt": "You lead.", "allowedSubAgents": ["helper"]}),
        ] {
            let made = app.request(Method::POST, "/api/agents").json(&definition);
            assert_eq!(app.answer(made).await.status, 200);
        }
        let session = app.ok("createSession", json!({"agent": "boss"})).await;
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let _stream = app.say(&session, "go").await;
        app.model.prompt(1).await.unwrap().written(1).await;

        take_away(&app, "helper", is_removed).await;
        take_away(&app, "boss", is_removed).await;
        let app = if is_restarted {
            app.restart().await
        } else {
            app.model.open(&gate).unwrap();
            app
        };

        let path = format!("/api/turns?sessionId={session}");
        let turns = loop {
            let turns = app.get(&path).await.body;
            if turns[0]["state"] == "finished" {
                break turns;
            }
            tokio::task::yield_now().await;
        };
        let paths: Vec<_> = items(&turns).iter().map(|turn| &turn["path"]).collect();
        assert_eq!(paths, [&json!(["boss"]), &json!(["boss", "helper"])]);
        let rows = app.ok("getMessages", json!({"sessionId": session})).await;
        let told = items(&rows).iter().filter(|row| row["role"] == "tool");
        let told: Vec<Value> = told
            .map(|row| serde_json::from_str(row["content"].as_str().unwrap()).unwrap())
            .collect();
        assert_eq!(told[0]["summary"], "half of it", "{rows}");
        assert_eq!(told[1]["code"], code, "{rows}");
        assert!(items(&rows).iter().any(|row| row["content"] == "done"));
        let system = |at: usize| app.model.prompts()[at].body().to_string();
        assert!(system(2).contains("You help.") || !is_restarted);
        assert!(system(3).contains("You lead."));
        let more = json!({"sessionId": session, "content": "more"});
        let refused = app.call("sendMessage", more).await;
        assert_eq!((refused.status, refused.code()), refusal);
    }
}
