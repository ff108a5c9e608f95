//! `samovar models test`.

use reqwest::Method;
use samovar_model_server::{
    Failure, Finish, ModelServer, Reply, Rule, TokenCounts, ToolCall, When, call, fail, say,
};
use samovar_testkit::Finished;
use serde_json::{Value, json};

use crate::setup::{ended_with, program, with_model};

/// What a model of ours answers to each call of the test.
fn script() -> Vec<Rule> {
    let offers = |tool: &str| When::OffersTool(tool.to_owned()).and(When::ToolResults(0));
    let broken = ToolCall::new("write_note", Value::Null).raw_arguments("{\"name\":\"po");
    let cached = TokenCounts {
        input: 900,
        output: 1,
        cached: 800,
        ..TokenCounts::default()
    };
    vec![
        say("ready").when(When::user("the single word")),
        call("read_note", json!({"name": "shopping"})).when(offers("read_note")),
        say("Milk.").when(When::LastToolResultContains("milk".to_owned())),
        Reply::of(broken)
            .finish(Finish::Length)
            .when(offers("write_note")),
        say("hi").when(When::user("Just say hi")),
        say("1 2 3").when(When::user("the numbers")),
        say("22").when(When::user("in note 3")),
        say("7").usage(cached).when(When::user("And in note 5")),
        say("red").when(When::user("this picture")),
    ]
}

/// Each check with its state.
fn states(said: &Finished) -> Vec<String> {
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(found["schema"], "samovar.model_test/1");
    let checks = found["checks"].as_array().unwrap().iter();
    let state = |check: &Value| format!("{} {}", check["check"], check["state"]).replace('"', "");
    checks.map(state).collect()
}

// proves FC-1, FC-2
#[tokio::test]
async fn each_call_of_a_test_is_told_with_what_the_server_reported() {
    let (program, model) = with_model(script()).await;
    let program = program.set("SAMOVAR__MODELS__PRICES", "custom 1 2");

    let said = program.run(["models", "test", "--yes"]).await.exits(0);
    let lines: Vec<_> = said.stdout.lines().collect();
    for (line, wanted) in lines.iter().zip([
        "ok   text: \"ready\"; stop, ",
        "ok   call: read_note {\"name\":\"shopping\"}; tool_calls, ",
        "ok   answer after a call: \"Milk.\"; stop, ",
        "ok   cut call: marked with \"length\"; a conversation with its broken arguments is accepted; stop, ",
        "ok   long answer: 3 words; stop, ",
        "ok   cache: 800 of 900 tokens of the second turn came from the prompt cache; stop, ",
        "ok   image: \"red\"; stop, ",
        "custom/scripted: ",
    ]) {
        assert!(line.starts_with(wanted), "{line}, not {wanted}");
    }
    assert_eq!(lines.len(), 8, "{lines:?}");
    let prompts = model.prompts();
    let body = prompts[4].body().to_string();
    assert!(
        body.contains("po"),
        "the broken call was shown again: {body}"
    );

    let (program, _model) = with_model(script()).await;
    let said = program.run(["models", "test", "--json"]).await;
    let states = states(&said);
    let wanted = [
        "text ok",
        "call ok",
        "answer ok",
        "cut_call ok",
        "long ok",
        "cache ok",
        "image ok",
    ];
    assert_eq!(states, wanted);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        (&found["ok"], &found["costUsd"]),
        (&json!(true), &json!("0"))
    );
    let cache = &found["checks"][5];
    assert_eq!(cache["usage"]["cache_read"], 800);
    assert_eq!(cache["finishReason"], "stop");
}

// proves FC-2
#[tokio::test]
async fn a_model_without_calls_fails_its_test_and_a_refusal_is_shown_in_the_servers_words() {
    let (program, _model) = with_model([say("I am only a poet.").forever()]).await;
    let said = program.run(["models", "test"]).await.exits(1);
    assert!(
        said.stdout
            .contains("fail call: the model made no call and said \"I am only a poet.\""),
        "{said:?}"
    );
    let said = program.run(["models", "test", "--json"]).await;
    let wanted = [
        "text ok",
        "call failed",
        "answer skipped",
        "cut_call unseen",
        "long ok",
        "cache unseen",
        "image ok",
    ];
    assert_eq!(states(&said), wanted);

    let (program, model) = with_model([fail(Failure::refused_key()).forever()]).await;
    let said = program.run(["models", "test"]).await.exits(1);
    assert!(
        said.stdout.contains("Incorrect API key provided."),
        "{said:?}"
    );
    assert_eq!(model.prompt_count(), 1, "nothing works without the key");
}

// proves FC-2
#[tokio::test]
async fn a_test_that_may_cost_money_is_not_begun_unasked() {
    let (priced, model) = with_model(script()).await;
    let priced = priced.set("SAMOVAR__MODELS__PRICES", "custom 1 2");
    let said = priced.run(["models", "test"]).await;
    ended_with(&said, 2, "invalid_params");
    assert_eq!(model.prompt_count(), 0);

    // Elsewhere, at a price that nobody knows.
    let proxy = ModelServer::start(script()).await.unwrap();
    let program = program()
        .set("CUSTOM_BASE_URL", "http://model.example/v1")
        .set("HTTP_PROXY", &proxy.origin());
    let said = program.run(["models", "test", "custom/scripted"]).await;
    ended_with(&said, 2, "invalid_params");
    assert_eq!(proxy.prompt_count(), 0);
    program
        .run(["models", "test", "custom/scripted", "--yes"])
        .await
        .exits(0);
}

// proves FC-7
#[tokio::test]
async fn the_owner_of_a_server_has_it_test_a_model_and_look_at_itself() {
    let (program, _model) = with_model(script()).await;
    let server = program.serve(&[]).await;
    let post = async |path: &str, body: Value| {
        let request = server.request(Method::POST, path).json(&body);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };

    let asked = json!({"name": "custom/m"});
    let (status, lines) = post("/api/models/test", asked).await;
    assert_eq!(status, 200, "{lines}");
    let lines: Vec<Value> = lines.lines().map(|line| line.parse().unwrap()).collect();
    let word = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let shown = lines
        .iter()
        .map(|line| word(line, "check") + " " + &word(line, "state"));
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown[..3], ["text ok", "call ok", "answer ok"]);
    assert_eq!(lines[0]["fact"], "\"ready\"");
    assert_eq!(
        (lines.len(), &lines[7]),
        (8, &json!({"type": "end", "ok": true}))
    );
    let (_, line) = post("/api/models/test", json!({"name": "demo"})).await;
    let line: Value = line.parse().unwrap();
    assert_eq!(
        (&line["type"], &line["code"]),
        (&json!("failed"), &json!("unusable_model"))
    );

    let (status, report) = post("/api/doctor", json!({})).await;
    assert_eq!(status, 200, "{report}");
    let report: Value = report.parse().unwrap();
    let said = program.run(["doctor", "--json"]).await;
    let said: Value = said.stdout.parse().unwrap();
    let facts = |report: &Value| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap().iter();
        findings
            .map(|finding| format!("{} {}", finding["what"], finding["reason"]))
            .collect()
    };
    assert_eq!(facts(&report), facts(&said));
    assert_eq!(report["ok"], said["ok"]);
}

// proves MD-12, MD-15
#[tokio::test]
async fn what_finds_memories_by_their_meaning_is_told() {
    for (set, code, fact) in [
        (
            "embedded",
            0,
            "the model in this program finds memories by their meaning",
        ),
        (
            "off",
            0,
            "memories are found by their words alone, because memory.embeddings is off",
        ),
        (
            "ollama/nomic-embed-text",
            0,
            "ollama/nomic-embed-text finds memories by their meaning",
        ),
        ("nowhere/embed", 3, "nowhere/embed"),
    ] {
        let program = program().set("SAMOVAR__MEMORY__EMBEDDINGS", set);
        let said = program.run(["doctor", "--json"]).await;
        let found: Value = serde_json::from_str(&said.stdout).unwrap();
        let mut findings = found["findings"].as_array().unwrap().iter();
        let told = findings
            .find(|finding| finding["what"] == "meaning")
            .unwrap();
        assert!(told["fact"].as_str().unwrap().contains(fact), "{told}");
        assert_eq!(said.code, Some(code), "{said:?}");
    }
}
