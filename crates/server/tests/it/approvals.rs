//! Approvals over HTTP: listed, decided by those who may, and remembered as rules.

use std::time::Duration;

use reqwest::Method;
use samovar_core::{Approval, Effect};
use samovar_model_server::{Reply, Script, call, say};
use samovar_server::{ChatAgent, ConfiguredTool};
use samovar_testkit::{Answer, Api, App, AppBuilder, EventStream};
use serde_json::{Value, json};

use crate::hook::{Hook, answer};
use crate::shown::results;

/// A server at its default level.
fn supervised() -> AppBuilder {
    AppBuilder::new().with(|config| {
        config.settings.approval = Approval::Supervised;
        config.chat.agent = ChatAgent::Nobody;
    })
}

fn write(path: &str, content: &str) -> Reply {
    call("write_file", json!({"path": path, "content": content}))
}

async fn get(app: &App, path: &str) -> Answer {
    app.answer(app.request(Method::GET, path)).await
}

async fn send(app: &App, verb: Method, path: &str, body: Value) -> Answer {
    app.answer(app.request(verb, path).json(&body)).await
}

/// Waits until a call is asked about that was not asked about before.
async fn asked(app: &App, before: &Value) -> Value {
    loop {
        let listed = get(app, "/api/approvals").await;
        assert_eq!(listed.status, 200, "{}", listed.body);
        match listed.body["items"].get(0) {
            Some(item) if item["id"] != before["id"] => return item.clone(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn decide(app: &App, asked: &Value, how: Value) -> Answer {
    let path = format!("/api/approvals/{}", asked["id"].as_str().unwrap());
    send(app, Method::POST, &path, how).await
}

async fn rest(mut stream: EventStream) -> Vec<samovar_testkit::Frame> {
    let mut frames = Vec::new();
    while let Some(frame) = stream.next().await {
        frames.push(frame);
    }
    frames
}

// proves TL-4, TL-5, AS-24
#[tokio::test]
async fn a_registered_tool_is_called_on_a_default_server_once_a_person_allows_it() {
    let hook = Hook::open(|_| answer(200, "text/plain", "booked")).await;
    let range = hook.range();
    let app = supervised().with(|config| config.egress.push(range));
    let book = || call("book", json!({"seats": 2}));
    let app = app.start([book(), say("done"), book(), say("done")]).await;
    let tool = json!({"name": "book", "description": "Books.", "url": hook.url()});
    assert_eq!(
        send(&app, Method::POST, "/api/tools", tool.clone())
            .await
            .status,
        200
    );
    let session = app.session().await;

    let stream = app.say(&session, "go").await;
    let waiting = asked(&app, &Value::Null).await;
    assert_eq!(waiting["args"], json!({"seats": 2}));
    assert_eq!(
        (&waiting["tool"], &waiting["sessionId"]),
        (&json!("book"), &json!(session))
    );
    assert!(
        waiting["preview"]
            .as_str()
            .unwrap()
            .starts_with("calls http://")
    );
    assert!(hook.asked().is_empty());
    let decided = decide(&app, &waiting, json!({"decision": "always"})).await;
    assert_eq!(
        (decided.status, &decided.body["rule"]["tool"]),
        (200, &json!("book"))
    );
    assert_eq!(results(&rest(stream).await), ["booked"]);
    assert_eq!(hook.asked().len(), 1);

    // The rule lets the next call run. What a webhook said taints its session, so there it asks again.
    let app = app.restart().await;
    let session = app.session().await;
    assert_eq!(results(&app.turn(&session, "go").await), ["booked"]);
    let rules = get(&app, "/api/rules").await.body;
    assert_eq!(rules.as_array().unwrap().len(), 1);
    let late = decide(&app, &waiting, json!({"decision": "deny"})).await;
    assert_eq!((late.status, late.code()), (404, "unknown_approval"));
}

/// The fifth check of seed 000, twice in one session.
// proves AS-26, TL-10
#[tokio::test]
async fn a_tool_that_is_declared_closed_works_from_call_to_call() {
    let foreign = Some("was registered from outside");
    let spreads = Some("`samovar tools add` with --closed");
    // The level, whether it is declared, and why each of two calls is asked about.
    for (level, closed, reasons) in [
        (Approval::Auto, true, [None, None]),
        (Approval::Auto, false, [None, spreads]),
        (Approval::Supervised, true, [foreign, foreign]),
        (Approval::Supervised, false, [foreign, spreads]),
    ] {
        let hook = Hook::open(|_| answer(200, "text/plain", "booked")).await;
        let range = hook.range();
        let app = supervised().with(move |config| {
            config.egress.push(range);
            config.settings.approval = level;
        });
        let book = || call("book", json!({"seats": 2}));
        let app = app.start([book(), say("done"), book(), say("done")]).await;
        let tool = json!({"name": "book", "description": "Books.", "url": hook.url(),
            "closed": closed});
        let made = send(&app, Method::POST, "/api/tools", tool).await.body;
        assert_eq!(made["closed"].as_bool().unwrap_or_default(), closed);
        let session = app.session().await;
        for (at, reason) in reasons.into_iter().enumerate() {
            let stream = app.say(&session, "go").await;
            if let Some(reason) = reason {
                let waiting = asked(&app, &Value::Null).await;
                let said = waiting["reason"].as_str().unwrap();
                assert!(said.contains(reason), "{level:?} {closed} {at}: {said}");
                decide(&app, &waiting, json!({"decision": "once"})).await;
            }
            assert_eq!(
                results(&rest(stream).await),
                ["booked"],
                "{level:?} {closed}"
            );
        }
        let audit = get(&app, "/api/audit").await.body.to_string();
        assert_eq!(audit.contains("\"about\":\"closed\""), closed, "{audit}");
    }
}

// proves TL-5
#[tokio::test]
async fn a_rule_holds_for_its_folder_and_a_file_that_changed_is_asked_about_again() {
    let turns = [
        vec![write("src/a.txt", "one"), say("done")],
        vec![write("src/b.txt", "two"), say("done")],
        vec![write("c.txt", "three"), say("done")],
        vec![write("src/d.txt", "four"), say("done")],
    ];
    let script: Script = turns.concat().into();
    let app = supervised().start(script).await;
    let session = app.session().await;
    let file = |name: &str| std::fs::read_to_string(app.workspace().join(name)).ok();

    let stream = app.say(&session, "go").await;
    let first = asked(&app, &Value::Null).await;
    assert!(
        first["preview"].as_str().unwrap().contains("+one"),
        "{first}"
    );
    assert_eq!(
        first["grant"],
        json!({"tool": "write_file", "folder": "src"})
    );
    // A person edits the file after the question.
    std::fs::create_dir(app.workspace().join("src")).unwrap();
    std::fs::write(app.workspace().join("src/a.txt"), "mine").unwrap();
    assert_eq!(
        decide(&app, &first, json!({"decision": "once"}))
            .await
            .status,
        200
    );
    let again = asked(&app, &first).await;
    assert_eq!(file("src/a.txt").as_deref(), Some("mine"));
    assert!(
        again["preview"].as_str().unwrap().contains("-mine"),
        "{again}"
    );
    let always = decide(&app, &again, json!({"decision": "always"})).await;
    assert_eq!(always.status, 200, "{}", always.body);
    rest(stream).await;
    assert_eq!(file("src/a.txt").as_deref(), Some("one"));

    app.turn(&session, "go").await;
    assert_eq!(file("src/b.txt").as_deref(), Some("two"));
    let stream = app.say(&session, "go").await;
    let elsewhere = asked(&app, &Value::Null).await;
    let no = json!({"decision": "deny", "message": "use another folder"});
    assert_eq!(decide(&app, &elsewhere, no).await.status, 200);
    let frames = rest(stream).await;
    assert!(
        results(&frames)[0].contains("use another folder"),
        "{frames:?}"
    );
    assert_eq!(file("c.txt"), None);

    let rule = always.body["rule"]["id"].as_str().unwrap();
    let path = format!("/api/rules/{rule}");
    assert_eq!(
        send(&app, Method::DELETE, &path, json!({})).await.status,
        200
    );
    let gone = send(&app, Method::DELETE, &path, json!({})).await;
    assert_eq!((gone.status, gone.code()), (404, "unknown_rule"));
    let _stream = app.say(&session, "go").await;
    asked(&app, &Value::Null).await;
    assert_eq!(file("src/d.txt"), None);
}

// proves TL-5, TL-11
#[tokio::test]
async fn a_token_that_uses_sessions_never_answers_for_itself() {
    let app = supervised().start([write("a.txt", "x"), say("done")]).await;
    let mut tokens = Vec::new();
    for scope in ["use", "read", "approve"] {
        let body = json!({"name": scope, "scope": scope});
        let made = send(&app, Method::POST, "/api/tokens", body).await;
        let token = made.body["token"].as_str().unwrap();
        tokens.push((scope, Api::new(&app.address().to_string(), token)));
    }
    let session = app.session().await;
    let stream = app.say(&session, "go").await;
    let waiting = asked(&app, &Value::Null).await;
    let id = waiting["id"].as_str().unwrap();
    let (approvals, calls) = (
        format!("/api/approvals/{id}"),
        format!("/api/calls/{}", waiting["callId"].as_str().unwrap()),
    );
    assert_eq!(app.get("/api/calls").await.body["totalCount"], 0);
    for (scope, client) in &tokens[..2] {
        let tries = [
            (approvals.as_str(), json!({"decision": "once"})),
            (calls.as_str(), json!({"result": "done"})),
            ("/chat/user_message", json!({"text": "yes"})),
        ];
        for (path, body) in tries {
            let request = client.request(Method::POST, path).json(&body);
            let said = client.answer(request).await;
            let is_words = path.starts_with("/chat") && *scope == "use";
            assert_eq!(
                said.status == 200,
                is_words,
                "{scope} {path}: {}",
                said.body
            );
        }
        assert_eq!(asked(&app, &Value::Null).await["id"], waiting["id"]);
    }
    assert!(!app.workspace().join("a.txt").exists());

    let once = json!({"decision": "once"});
    let client = &tokens[2].1;
    let request = client.request(Method::POST, &approvals).json(&once);
    assert_eq!(client.answer(request).await.status, 200);
    rest(stream).await;
    assert!(app.workspace().join("a.txt").exists());
}

// proves TL-5, SA-13
#[tokio::test]
async fn the_chat_asks_about_a_call_and_the_persons_words_decide() {
    let script = [
        write("a.txt", "x"),
        say("done"),
        write("b.txt", "x"),
        say("done"),
        write("c.txt", "x"),
        say("done"),
    ];
    let app = supervised().start(script).await;
    let session = app.session().await;
    let chat = app.server().home().chat().clone();
    let said = [
        ("yes", "a.txt", true),
        ("not there", "b.txt", false),
        ("always", "c.txt", true),
    ];
    for (words, file, exists) in said {
        let stream = app.say(&session, "go").await;
        let question = loop {
            if let Some(pending) = chat.state().pending_input {
                break chat.read(pending.question - 1, 1).messages[0].text.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert!(
            question.contains("write_file") && question.contains("+x"),
            "{question}"
        );
        chat.post_user(words).await.unwrap();
        let frames = rest(stream).await;
        assert_eq!(app.workspace().join(file).exists(), exists, "{words}");
        assert_eq!(results(&frames)[0].contains(words), !exists, "{frames:?}");
        assert!(chat.state().pending_input.is_none());
    }
    let rules = app.get("/api/rules").await.body;
    let audit = app.get("/api/audit").await.body;
    let made = audit["items"].as_array().unwrap();
    let made: Vec<_> = made
        .iter()
        .filter(|it| it["event"] == "rule_made")
        .collect();
    assert_eq!(made.len(), 1, "{audit}");
    let rule = format!("rule:{}", rules[0]["id"].as_str().unwrap());
    assert_eq!(made[0]["rule"], rule.as_str());
    assert_eq!(made[0]["tool"], "write_file");
}

/// Calls of an ordinary piece of work: 70 that read, 20 that change files in two folders, and 10 of a
/// tool of the operator's that reads.
const ORDINARY: &str = include_str!("approvals/ordinary.tsv");

// proves TL-4, TL-5
#[tokio::test]
async fn ordinary_work_asks_once_for_each_tool_that_writes_and_each_folder() {
    let hook = Hook::open(|_| answer(200, "text/plain", "sunny")).await;
    let mut weather = ConfiguredTool::new("weather", "Tells the weather.", &hook.url());
    weather.effect = Effect::Read;
    let range = hook.range();
    let rows: Vec<(&str, Value)> = ORDINARY
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, args)| (name, serde_json::from_str(args).unwrap()))
        .collect();
    let calls = rows.iter().map(|(name, args)| call(*name, args.clone()));
    let script: Vec<Reply> = calls.chain([say("done")]).collect();
    let app = supervised().with(|config| {
        config.egress.push(range);
        config.tools.push(weather);
        config.settings.limits.max_iterations = 101;
    });
    let app = app.start(Script::from(script)).await;
    for (file, text) in [
        ("src/lib.rs", "fn main() {}\n"),
        ("docs/guide.md", "TODO\n"),
    ] {
        let file = app.workspace().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let session = app.session().await;

    let mut stream = app.say(&session, "do the work").await;
    let (mut asked_about, mut frames) = (Vec::new(), Vec::new());
    let mut before = Value::Null;
    loop {
        tokio::select! {
            frame = stream.next() => match frame {
                Some(frame) => frames.push(frame),
                None => break,
            },
            waiting = asked(&app, &before) => {
                let path = waiting["args"]["path"].as_str().unwrap();
                let folder = path.split_once('/').map_or(".", |(folder, _)| folder);
                asked_about.push(format!("{} in {folder}", waiting["tool"].as_str().unwrap()));
                let decided = decide(&app, &waiting, json!({"decision": "always"})).await;
                assert_eq!(decided.status, 200);
                before = waiting;
            }
        }
    }

    asked_about.sort_unstable();
    let kinds = [
        "edit_file in docs",
        "edit_file in src",
        "write_file in docs",
        "write_file in src",
    ];
    assert_eq!(asked_about, kinds);
    assert_eq!((rows.len(), results(&frames).len()), (100, 100));
    assert_eq!(hook.asked().len(), 10);
    let changed = std::fs::read_to_string(app.workspace().join("docs/new4.md"));
    assert_eq!(changed.unwrap(), "# Changed 4\n");
}
