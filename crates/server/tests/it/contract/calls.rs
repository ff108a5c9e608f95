//! Calls: verbs, paths, bodies, bare results.

use std::collections::BTreeSet;

use samovar_model_server::say;
use samovar_server::route::{self, Verb};
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};

use crate::raw::{Request, Response, encoded};

const BASE: &str = "/services/agent/";

/// A call of every method in an order in which each succeeds, with what its result looks like.
fn samples(session: &str) -> Vec<(&'static str, Value, &'static str)> {
    let of_session = || json!({"sessionId": session});
    let message = || json!({"sessionId": session, "content": "hello"});
    let info = "agent createdAt id messageCount metadata model sessionId tokens updatedAt";
    let turn = "events finishReason messageId text turnId usage";
    let row = "[content createdAt id metadata parts role sessionId tokenUsage]";
    vec![
        ("createSession", of_session(), info),
        ("getSession", of_session(), info),
        ("updateSession", of_session(), info),
        (
            "forkSession",
            of_session(),
            "agent createdAt forkedFrom id messageCount metadata model sessionId tokens updatedAt",
        ),
        (
            "updateTokenUsage",
            json!({"sessionId": session, "input": 1, "output": 1}),
            info,
        ),
        (
            "appendMessage",
            json!({"sessionId": session, "message": {"role": "user", "content": "hi"}}),
            row.trim_matches(['[', ']']),
        ),
        ("sendMessage", message(), turn),
        ("sendMessage/stream", message(), "stream"),
        (
            "getMessages",
            json!({"sessionId": session, "limit": 10}),
            row,
        ),
        (
            "listSessions",
            json!({"offset": 0, "limit": 10}),
            "items totalCount",
        ),
        ("cancel", of_session(), "cancelled"),
        (
            "undo",
            json!({"sessionId": session, "files": true}),
            "content files note remainingTools turnId",
        ),
        ("listTools", json!({}), "[description name parameters]"),
        (
            "listSkills",
            json!({}),
            "[always available description name origin]",
        ),
        (
            "getSkill",
            json!({"name": "tea"}),
            "always available content description name origin requires sha256",
        ),
        (
            "updateMemory",
            json!({"facts": ["The person likes tea."]}),
            "null",
        ),
        ("getMemory", json!({}), "daily longTerm vectors"),
        (
            "searchMemory",
            json!({"query": "tea", "limit": 5}),
            "[createdAt id score source text words]",
        ),
        ("getStats", json!({}), "messages sessions tokens"),
        ("deleteSession", of_session(), "null"),
    ]
}

/// Puts a skill into the workspace.
fn add_skill(app: &App) {
    let folder = app.workspace().join("skills");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("tea.md"), "How to make tea.").unwrap();
}

/// The names in an object, or in the first of an array.
fn shape(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let names: BTreeSet<&str> = fields.keys().map(String::as_str).collect();
            names.into_iter().collect::<Vec<_>>().join(" ")
        }
        Value::Array(items) => format!("[{}]", shape(&items[0])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn check(response: &Response, method: &str, expected: &str) {
    assert_eq!(response.status, 200, "{method}: {}", response.body);
    if expected == "stream" {
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        assert!(
            response.body.contains("\n\ndata: [DONE]\n"),
            "{}",
            response.body
        );
        return;
    }
    assert_eq!(response.header("content-type"), Some("application/json"));
    let value: Value = serde_json::from_str(&response.body).expect(method);
    assert_eq!(shape(&value), expected, "{method}");
}

/// Whether a memory is found by its meaning depends on the moment.
fn by_words() -> AppBuilder {
    AppBuilder::new().with(|config| "off".clone_into(&mut config.memory.embeddings))
}

// proves AS-1, AS-2
#[tokio::test]
async fn every_method_takes_a_post_with_flat_and_with_wrapped_parameters_and_answers_bare_json() {
    let app = by_words().start([say("hi").forever()]).await;
    add_skill(&app);
    let in_table: BTreeSet<String> = route::table()
        .into_iter()
        .filter_map(|route| Some(route.path.strip_prefix(BASE)?.to_owned()))
        .collect();
    let in_samples = samples("")
        .into_iter()
        .map(|(method, ..)| method.to_owned());
    assert_eq!(in_samples.collect::<BTreeSet<_>>(), in_table);

    for (method, params, expected) in samples("flat") {
        let request = Request::new(&app, "POST", &format!("{BASE}{method}"));
        let response = request.json(params.to_string()).send().await;
        check(&response, method, expected);
    }
    for (method, params, expected) in samples("wrapped") {
        let params = json!({"params": params}).to_string();
        let request = Request::new(&app, "POST", &format!("{BASE}{method}"));
        check(&request.json(params).send().await, method, expected);
    }
    let gone = app
        .call("getSession", json!({"sessionId": "wrapped"}))
        .await;
    assert_eq!(
        gone.status, 404,
        "the wrapped call deleted the session that it named"
    );
}

// proves AS-1
#[tokio::test]
async fn methods_that_only_read_answer_a_get_with_the_parameters_in_the_query() {
    let app = by_words().start([say("hi").forever()]).await;
    add_skill(&app);
    let session = "чат №1/a b?c&d=e#f%20+";
    for id in [session, "другой"] {
        app.ok("createSession", json!({"sessionId": id})).await;
        app.turn(id, "hello").await;
    }
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let before = rows[1]["id"].as_str().unwrap();
    let calls = [
        ("getSession", json!({"sessionId": session})),
        ("getMessages", json!({"sessionId": session})),
        ("getMessages", json!({"sessionId": session, "limit": 1})),
        (
            "getMessages",
            json!({"sessionId": session, "before": before}),
        ),
        ("listSessions", json!({})),
        ("listSessions", json!({"offset": 1, "limit": 1})),
        ("listSessions", json!({"query": "№1/A B?"})),
        ("listTools", json!({})),
        ("listSkills", json!({})),
        ("getSkill", json!({"name": "tea"})),
        ("getMemory", json!({})),
        ("searchMemory", json!({"query": "tea"})),
        ("getStats", json!({})),
    ];
    let reading = route::table().into_iter().filter_map(|route| {
        let method = route.path.strip_prefix(BASE)?.to_owned();
        // The others that answer to it do something else than their `POST`.
        (route.verbs == [Verb::Post, Verb::Get]).then_some(method)
    });
    let tried: BTreeSet<String> = calls
        .iter()
        .map(|(method, _)| (*method).to_owned())
        .collect();
    assert_eq!(tried, reading.collect());

    let mut answers = BTreeSet::new();
    for (method, params) in calls {
        let posted = app.ok(method, params.clone()).await;
        let query: Vec<String> = params.as_object().unwrap().iter().map(pair).collect();
        let target = format!("{BASE}{method}?{}", query.join("&"));
        let got = Request::new(&app, "GET", &target).send().await;
        assert_eq!(got.status, 200, "{target}: {}", got.body);
        assert_eq!(got.header("content-type"), Some("application/json"));
        assert_eq!(got.json(), posted, "{target}");
        answers.insert(got.body);
    }
    assert_eq!(answers.len(), 13, "each query makes its own difference");
}

fn pair((name, value): (&String, &Value)) -> String {
    let value = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    format!("{name}={}", encoded(&value))
}

// proves AS-1
#[tokio::test]
async fn parameters_that_are_null_count_as_missing_and_unknown_ones_are_passed_over() {
    let app = App::start([say("hi")]).await;
    let nulls = json!({"model": null, "sessionId": null, "metadata": null, "agent": "master"});
    let session = app.ok("createSession", nulls).await;
    let id = &session["id"];
    let message = json!({"sessionId": id, "content": "hello", "messageId": null, "new": {"a": 1}});
    let sent = app.ok("sendMessage", message).await;
    assert_eq!(sent["text"], "hi");
    let page = json!({"offset": null, "limit": null, "query": null});
    assert_eq!(app.ok("listSessions", page).await["totalCount"], 1);
    let rows = json!({"sessionId": id, "limit": null, "before": null});
    assert_eq!(
        app.ok("getMessages", rows).await.as_array().unwrap().len(),
        2
    );
    // A method that wants nothing takes nothing.
    for body in ["", " \n", "null", "{}"] {
        let stats = Request::new(&app, "POST", &format!("{BASE}getStats")).json(body);
        assert_eq!(stats.send().await.status, 200, "{body:?}");
    }
}

// proves AS-3
#[tokio::test]
async fn a_path_that_is_there_answers_405_to_a_verb_that_it_does_not_take() {
    let app = App::start([say("hi")]).await;
    let mut tried = 0;
    let table = route::table();
    for route in &table {
        // A path may have several rows, each with verbs of its own.
        let of_path = table.iter().filter(|row| row.path == route.path);
        let verbs: Vec<&str> = of_path
            .flat_map(|row| row.verbs.iter().map(|verb| verb.as_str()))
            .collect();
        for verb in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            if verbs.contains(&verb) {
                continue;
            }
            let response = Request::new(&app, verb, &route.path).send().await;
            let got = (response.status, response.code());
            assert_eq!(got, (405, "wrong_verb".to_owned()), "{verb} {}", route.path);
            let allowed = response.header("allow").unwrap_or_default().to_owned();
            for verb in &verbs {
                assert!(allowed.contains(verb), "{}: {allowed}", route.path);
                assert!(response.body.contains(verb), "{}", response.body);
            }
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
    let rows = app.ok("listSessions", json!({})).await;
    assert_eq!(rows["totalCount"], 0, "no refused call did anything");
}

// proves AS-3
#[tokio::test]
async fn a_method_that_is_not_there_answers_404() {
    let app = App::start([say("hi")]).await;
    let paths = [
        "nothing",
        "CreateSession",
        "createSession/stream",
        "getStats/",
        "",
        "sendMessage/",
    ];
    for path in paths {
        for verb in ["GET", "POST"] {
            let response = Request::new(&app, verb, &format!("{BASE}{path}"))
                .send()
                .await;
            let got = (response.status, response.code());
            assert_eq!(got, (404, "unknown_method".to_owned()), "{verb} {path}");
            assert_eq!(response.header("content-type"), Some("application/json"));
        }
    }
}
