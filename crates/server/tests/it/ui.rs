//! The streams that clients of the AI SDK read, frame by frame.

use reqwest::{Method, Response};
use samovar_core::Approval;
use samovar_model_server::{Ending, Gate, Reply, call, say};
use samovar_server::ChatAgent;
use samovar_testkit::{Api, App, AppBuilder};
use serde_json::{Value, json};

use self::declared::declared;

mod clients;
mod declared;
mod example;
mod stored;

/// A server without an agent in the chat.
fn quiet() -> AppBuilder {
    AppBuilder::new().with(|config| config.chat.agent = ChatAgent::Nobody)
}

fn supervised() -> AppBuilder {
    quiet().with(|config| config.settings.approval = Approval::Supervised)
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

async fn post_as(app: &App, query: &str, body: &Value) -> Response {
    let path = format!("/api/chat{query}");
    let request = app.request(Method::POST, &path).json(body);
    request.send().await.unwrap()
}

/// Posts a message alone, and returns the frames of the answer.
async fn say_to(app: &App, chat: &str, message: Value) -> Vec<Value> {
    let body = json!({"id": chat, "messages": [message], "trigger": "submit-message"});
    frames(post_as(app, "", &body).await).await
}

async fn frames(response: Response) -> Vec<Value> {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(status, 200, "{text}");
    read(&text)
}

/// The chunks of a stream, which must end with `[DONE]`.
fn read(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut lines: Vec<_> = lines.collect();
    assert_eq!(lines.pop(), Some("[DONE]"), "{text}");
    let chunks = lines.iter().map(|line| serde_json::from_str(line).unwrap());
    chunks.inspect(declared).collect()
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    let kinds = frames.iter().map(|frame| frame["type"].as_str().unwrap());
    let mut kinds: Vec<_> = kinds.collect();
    // A text may come in any number of pieces.
    kinds.dedup_by(|one, other| one == other && one.ends_with("-delta"));
    kinds
}

fn of<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames
        .iter()
        .filter(|frame| frame["type"] == kind)
        .collect()
}

async fn stream(app: &App, chat: &str) -> Response {
    let path = format!("/api/chat/{chat}/stream");
    app.request(Method::GET, &path).send().await.unwrap()
}

async fn messages(app: &App, chat: &str) -> Value {
    let answer = app.get(&format!("/api/chat/{chat}/messages")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body.as_array().unwrap().iter().for_each(declared);
    answer.body
}

// proves UI-1, UI-2, UI-3, UI-11, UI-12
#[tokio::test]
async fn a_message_opens_a_session_and_streams_its_turn_as_one_message() {
    let list = call("list_dir", json!({"path": "."}));
    let app = quiet().start([list, say("nothing is there")]).await;
    let body = json!({"id": "c", "messages": [user("m1", "look")], "trigger": "submit-message"});
    let response = post_as(&app, "", &body).await;
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("x-vercel-ai-ui-message-stream"), "v1");
    assert_eq!(header("cache-control"), "no-cache");
    assert_eq!(header("x-accel-buffering"), "no");
    let frames = frames(response).await;
    assert_eq!(
        kinds(&frames),
        [
            "start",
            "start-step",
            "tool-input-start",
            "tool-input-delta",
            "tool-input-available",
            "tool-output-available",
            "finish-step",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish"
        ],
        "{frames:#?}"
    );
    let metadata = &frames[0]["messageMetadata"];
    assert_eq!(metadata["agent"]["displayName"], "Master");
    assert_eq!(metadata["turnId"], frames[0]["messageId"]);
    let end = frames.last().unwrap();
    assert_eq!(end["finishReason"], "stop");
    assert!(end["messageMetadata"]["usage"]["output"].is_u64());

    let kept = messages(&app, "c").await;
    assert_eq!(kept[0]["id"], "m1");
    assert_eq!(kept[1]["id"], frames[0]["messageId"]);
    let parts = kept[1]["parts"].as_array().unwrap();
    let types: Vec<_> = parts.iter().map(|part| &part["type"]).collect();
    assert_eq!(types, ["step-start", "tool-list_dir", "step-start", "text"]);
    assert_eq!(parts[1]["state"], "output-available");
    let output = &of(&frames, "tool-output-available")[0]["output"];
    assert_eq!(parts[1]["output"], *output);
}

// proves UI-1, UI-7, UI-8
#[tokio::test]
async fn a_running_turn_is_read_again_from_its_start_and_stopped() {
    let never = Gate::new("never");
    let app = quiet()
        .start([say("one two three four").hold_after(2, &never)])
        .await;
    assert_eq!(stream(&app, "c").await.status(), 204);
    assert_eq!(messages(&app, "c").await, json!([]));
    let body = json!({"id": "c", "message": user("m1", "count")});
    let mut first = post_as(&app, "", &body).await;
    let mut seen = String::new();
    while !seen.contains("text-delta") {
        seen += std::str::from_utf8(&first.chunk().await.unwrap().unwrap()).unwrap();
    }
    // What runs is not in the history yet.
    assert_eq!(messages(&app, "c").await.as_array().unwrap().len(), 1);
    let again = stream(&app, "c").await;
    let stopped = app
        .request(Method::POST, "/api/chat/c/stop")
        .json(&json!({}));
    let stopped = app.answer(stopped).await;
    assert_eq!(stopped.body, json!({"cancelled": true}));

    let rest = first.text().await.unwrap();
    let again = again.text().await.unwrap();
    assert_eq!(again, seen + &rest);
    let frames = read(&again);
    let last = frames.last().unwrap();
    assert_eq!(last["finishReason"], "other");
    assert_eq!(last["messageMetadata"]["reason"], "cancelled");
    assert_eq!(stream(&app, "c").await.status(), 204);
}

// proves UI-2, UI-1
#[tokio::test]
async fn a_refusal_is_a_sentence_with_its_status() {
    let app = quiet().start(Vec::<Reply>::new()).await;
    let text = |body: Value| {
        let app = &app;
        async move {
            let response = post_as(app, "", &body).await;
            let status = response.status().as_u16();
            let kind = response.headers()["content-type"].to_str().unwrap();
            assert!(kind.starts_with("text/plain"), "{body}: {kind}");
            let code = response.headers()["x-samovar-code"].to_str().unwrap();
            assert!(
                ["invalid_params", "blank_content"].contains(&code),
                "{code}"
            );
            (status, response.text().await.unwrap())
        }
    };
    let assistant = json!({"id": "x", "role": "assistant", "parts": []});
    let file = json!({"id": "f", "role": "user", "parts": [
        {"type": "file", "mediaType": "image/png", "url": "https://a.example/x.png"}]});
    for (body, status, why) in [
        (json!({"id": "c", "messages": []}), 400, "has no message"),
        (json!({"id": "c"}), 400, "has no message"),
        (json!({"messages": [user("m", "x")]}), 400, "id"),
        (
            json!({"id": "c", "messages": [user("m", " ")]}),
            400,
            "content",
        ),
        (
            json!({"id": "c", "messages": [assistant]}),
            400,
            "answers no call",
        ),
        (
            json!({"id": "c", "trigger": "again", "messages": [user("m", "x")]}),
            400,
            "trigger",
        ),
        (json!({"id": "c", "messages": [file]}), 400, "data: URL"),
        (
            json!({"id": "c", "messages": [{"role": "system", "parts": []}]}),
            400,
            "role",
        ),
    ] {
        let (got, said) = text(body.clone()).await;
        assert_eq!(got, status, "{body}: {said}");
        assert!(said.contains(why), "{body}: {said}");
        assert!(!said.starts_with('{'), "{said}");
    }
    assert_eq!(messages(&app, "c").await, json!([]));
}

// proves UI-7, UI-10
#[tokio::test]
async fn an_answer_continues_after_a_restart_and_is_read_again_from_its_start() {
    let cut = say("half an answer that is lost")
        .deltas_of(4)
        .cut_after(2, Ending::Reset);
    let slow = Gate::new("slow");
    let app = supervised()
        .with(|config| config.settings.retry.count = 1)
        .start([cut, write(), say("it is all done").hold_after(2, &slow)])
        .await;
    let first = say_to(&app, "c", user("m1", "write")).await;
    let shown = kinds(&first);
    assert_eq!(
        shown[..6],
        [
            "start",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "data-retry"
        ]
    );
    assert_eq!(
        shown.iter().filter(|kind| **kind == "start-step").count(),
        1
    );
    let app = app.restart().await;
    assert_eq!(stream(&app, "c").await.status(), 204);
    let kept = messages(&app, "c").await;
    assert_eq!(kept[1]["parts"][1]["state"], "approval-requested");

    let body = json!({"id": "c", "messages": [approved(&first, true)]});
    let mut second = post_as(&app, "", &body).await;
    let mut seen = String::new();
    while !seen.contains("text-delta") {
        seen += std::str::from_utf8(&second.chunk().await.unwrap().unwrap()).unwrap();
    }
    let whole = stream(&app, "c").await;
    let seventh = app.request(Method::GET, "/api/chat/c/stream?protocol=v7");
    let seventh = seventh.send().await.unwrap();
    app.model.open(&slow).unwrap();
    seen += &second.text().await.unwrap();
    let mut legs = first.clone();
    legs.pop();
    legs.extend(read(&seen).into_iter().skip(1));
    assert_eq!(frames(whole).await, legs);
    // Version 7 takes the failed step back, and the history has nothing of it.
    let shown = frames(seventh).await;
    assert!(kinds(&shown).contains(&"reset-step") && of(&shown, "data-retry").is_empty());
    let kept = messages(&app, "c").await;
    let texts = kept[1]["parts"].as_array().unwrap().iter();
    let texts: Vec<_> = texts.filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(texts, ["it is all done"]);
}

// proves UI-14
#[tokio::test]
async fn an_edit_or_a_new_answer_replaces_a_message_and_keeps_the_old_session_as_a_fork() {
    let replies = ["one", "two", "three", "four", "five"].map(say);
    let app = quiet().start(replies).await;
    say_to(&app, "c", user("m1", "first")).await;
    say_to(&app, "c", user("m2", "second")).await;
    let edit = json!({"id": "c", "trigger": "submit-message", "messageId": "m1",
        "messages": [user("m1", "another first")]});
    let edited = frames(post_as(&app, "", &edit).await).await;
    let texts = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let of = |session: &str| app.ok("getMessages", json!({"sessionId": session}));
    assert_eq!(texts(&of("c").await), ["another first", "three"]);
    // The model is shown nothing of what was.
    let prompts = app.model.prompts();
    let last = prompts.last().unwrap().body().to_string();
    assert!(last.contains("another first") && !last.contains("second"));

    // Lists and the search have it when that is asked for.
    assert_eq!(app.ok("listSessions", json!({})).await["totalCount"], 1);
    let hits = app.get("/api/search?query=second").await.body;
    assert_eq!(hits["items"], json!([]));
    let hit = app
        .get("/api/search?query=second&editForks=true")
        .await
        .body;
    assert_eq!(hit["items"].as_array().unwrap().len(), 1, "{hit}");
    let forks = app.ok("listSessions", json!({"editForks": true})).await;
    let fork = forks["items"].as_array().unwrap().iter();
    let fork = fork.map(|row| row["sessionId"].as_str().or(row["id"].as_str()).unwrap());
    let fork = fork.filter(|id| *id != "c").collect::<Vec<_>>();
    assert_eq!(texts(&of(fork[0]).await), ["first", "one", "second", "two"]);

    // The text is the stored one, whatever the client says.
    let again = json!({"id": "c", "trigger": "regenerate-message",
        "messageId": edited[0]["messageId"], "messages": [user("m1", "a forged text")]});
    let again = frames(post_as(&app, "", &again).await).await;
    assert_ne!(again[0]["messageId"], edited[0]["messageId"]);
    assert_eq!(texts(&of("c").await), ["another first", "four"]);

    // A restart changes nothing.
    let app = app.restart().await;
    assert_eq!(messages(&app, "c").await.as_array().unwrap().len(), 2);
    let unknown = json!({"id": "c", "messageId": "m9", "messages": [user("m9", "x")]});
    let all = json!({"editForks": true});
    let before = app.ok("listSessions", all.clone()).await["totalCount"].clone();
    let refused = post_as(&app, "", &unknown).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(app.ok("listSessions", all).await["totalCount"], before);
    // Without a name, a known id with another text is refused.
    let other = json!({"id": "c", "messages": [user("m1", "yet another")]});
    assert_eq!(post_as(&app, "", &other).await.status(), 409);
    say_to(&app, "c", user("m3", "on")).await;
    let prompts = app.model.prompts();
    let last = prompts.last().unwrap().body().to_string();
    assert!(last.contains("another first") && last.contains("four") && !last.contains("three"));
}

// proves UI-1, UI-2
#[tokio::test]
async fn what_the_door_refuses_is_a_sentence_too() {
    let app = quiet().start(Vec::<Reply>::new()).await;
    let stranger = Api::new(&app.address().to_string(), "wrong");
    let body = json!({"id": "c", "messages": [user("m", "x")]});
    let refused = stranger.request(Method::POST, "/api/chat").json(&body);
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.headers()["x-samovar-code"], "unauthorized");
    assert!(!refused.text().await.unwrap().starts_with('{'));
    let odd = app.get("/api/chat/c/stream?protocol=v8").await;
    assert_eq!((odd.status, odd.code()), (400, "invalid_params"));
}

// proves UI-9
#[tokio::test]
async fn a_client_without_approvals_sees_that_one_is_asked() {
    let app = supervised().start([write(), say("done")]).await;
    let body = json!({"id": "c", "message": user("m1", "write")});
    let mut stream = post_as(&app, "?protocol=v5", &body).await;
    let mut seen = String::new();
    while !seen.contains("data-approval") {
        seen += std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap();
    }
    let open = app.get("/api/approvals").await.body["items"][0].take();
    let path = format!("/api/approvals/{}", open["id"].as_str().unwrap());
    let decided = app
        .request(Method::POST, &path)
        .json(&json!({"decision": "once"}));
    assert_eq!(app.answer(decided).await.status, 200);
    seen += &stream.text().await.unwrap();
    let frames = read(&seen);
    let asked = of(&frames, "data-approval");
    assert_eq!(asked[0]["data"]["input"]["path"], "a.txt");
    assert_eq!(asked[1]["data"]["decision"], "once");
    assert_eq!(frames.last().unwrap()["finishReason"], "stop");
}

// proves UI-14
#[tokio::test]
async fn an_edit_is_refused_while_a_turn_runs() {
    let never = Gate::new("never");
    let app = quiet()
        .start([say("one"), say("two three").hold_after(1, &never)])
        .await;
    say_to(&app, "c", user("m1", "first")).await;
    let body = json!({"id": "c", "message": user("m2", "second")});
    let _running = post_as(&app, "", &body).await;
    let edit = json!({"id": "c", "messageId": "m1", "messages": [user("m1", "other")]});
    assert_eq!(post_as(&app, "", &edit).await.status(), 409);
    let all = app.ok("listSessions", json!({"editForks": true})).await;
    assert_eq!(all["totalCount"], 1);
}

// proves UI-1
#[tokio::test]
async fn a_long_history_is_passed_over_and_costs_what_its_last_message_costs() {
    let app = quiet().start([say("heard").forever()]).await;
    let mut history: Vec<_> = (0..31)
        .map(|at| user(&format!("old{at}"), &"x".repeat(1 << 20)))
        .collect();
    history.push(user("m1", "what counts"));
    let body = json!({"id": "c", "messages": history});
    let answer = frames(post_as(&app, "", &body).await).await;
    assert_eq!(answer.last().unwrap()["finishReason"], "stop");
    let kept = app.ok("getMessages", json!({"sessionId": "c"})).await;
    assert_eq!(kept[0]["content"], "what counts");
    assert_eq!(kept.as_array().unwrap().len(), 2);
    // A longer one is refused, and so is a text that is too long for any other request.
    let more = (0..3).map(|at| user(&format!("more{at}"), &"x".repeat(1 << 20)));
    let more: Vec<_> = history.into_iter().chain(more).collect();
    let long = user("m2", &"x".repeat(2 << 20));
    for messages in [json!(more), json!([long])] {
        let body = json!({"id": "c", "messages": messages});
        assert_eq!(post_as(&app, "", &body).await.status(), 413);
    }
}

fn write() -> Reply {
    call("write_file", json!({"path": "a.txt", "content": "x"}))
}

/// The assistant's message with its approval answered, as a client posts it.
fn approved(frames: &[Value], is_approved: bool) -> Value {
    let asked = of(frames, "tool-approval-request")[0];
    json!({"id": frames[0]["messageId"], "role": "assistant", "parts": [
        {"type": "step-start"},
        {"type": "tool-write_file", "toolCallId": asked["toolCallId"],
         "state": "approval-responded", "input": {},
         "approval": {"id": asked["approvalId"], "approved": is_approved}}]})
}

// proves UI-6, UI-7, UI-9
#[tokio::test]
async fn a_turn_that_asks_ends_its_stream_and_continues_under_its_id_when_answered() {
    for is_approved in [true, false] {
        let never = Gate::new("never");
        let slow = say("all is written").hold_after(2, &never);
        let app = supervised().start([write(), slow]).await;
        let first = say_to(&app, "c", user("m1", "write")).await;
        let shown = kinds(&first);
        assert_eq!(
            shown[shown.len() - 3..],
            ["tool-approval-request", "finish-step", "finish"]
        );
        assert_eq!(first.last().unwrap()["finishReason"], "tool-calls");
        // It waits for the client: nothing runs, and the history has it.
        assert_eq!(stream(&app, "c").await.status(), 204);
        assert_eq!(messages(&app, "c").await.as_array().unwrap().len(), 2);

        let answer = approved(&first, is_approved);
        let body = json!({"id": "c", "messages": [user("m1", "write"), answer]});
        let mut second = post_as(&app, "", &body).await;
        let mut seen = String::new();
        while !seen.contains("text-delta") {
            seen += std::str::from_utf8(&second.chunk().await.unwrap().unwrap()).unwrap();
        }
        let again = stream(&app, "c").await;
        app.model.open(&never).unwrap();
        seen += &second.text().await.unwrap();
        let second = read(&seen);
        assert_eq!(second[0]["messageId"], first[0]["messageId"]);
        let outcome = if is_approved {
            "tool-output-available"
        } else {
            "tool-output-denied"
        };
        assert_eq!(kinds(&second)[..3], ["start", outcome, "start-step"]);
        assert_eq!(app.workspace().join("a.txt").exists(), is_approved);

        // The whole answer from its one start.
        let whole = frames(again).await;
        let mut legs = first.clone();
        legs.pop();
        legs.extend(second.iter().skip(1).cloned());
        assert_eq!(whole, legs);

        // Who comes second is told so.
        let late = post_as(&app, "", &body).await;
        assert_eq!(late.status(), 409);
    }
}

// proves UI-1, UI-9, TL-11
#[tokio::test]
async fn an_approval_needs_a_token_that_may_approve() {
    let app = supervised().start([write(), say("done")]).await;
    let made = app.request(Method::POST, "/api/tokens");
    let made = made.json(&json!({"name": "page", "scope": "use"}));
    let made = app.answer(made).await.body;
    let first = say_to(&app, "c", user("m1", "write")).await;
    let body = json!({"id": "c", "messages": [approved(&first, true)]});
    let page = Api::new(&app.address().to_string(), made["token"].as_str().unwrap());
    // Not in another session either.
    let mut elsewhere = body.clone();
    elsewhere["id"] = "other".into();
    app.ok("createSession", json!({"sessionId": "other"})).await;
    for (body, status) in [(&body, 403), (&elsewhere, 404)] {
        let refused = page.request(Method::POST, "/api/chat").json(body);
        assert_eq!(refused.send().await.unwrap().status(), status);
    }
    let open = app.get("/api/approvals").await;
    assert_eq!(open.body["totalCount"], 1);
    assert!(!app.workspace().join("a.txt").exists());
    let answered = frames(post_as(&app, "", &body).await).await;
    assert_eq!(answered.last().unwrap()["finishReason"], "stop");
}
