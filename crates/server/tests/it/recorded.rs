//! Fifty turns against their recording, byte for byte: each scene in both dialects, each stream in
//! both profiles, and what `getMessages` says afterwards.
//!
//! `SAMOVAR_RECORD=write` writes the recording again. Ids, times and the sentences of `message` and
//! `error` are masked: what is left is what a client can rely on.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use samovar_core::{Outcome, Reminders, ToolReply};
use samovar_model_server::{
    Answer, Ending, Failure, Finish, Gate, Part, Point, Reply, Script, TokenCounts, ToolCall,
    Usage, When, call, fail, hang_up, page, reset, say, think,
};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

use crate::raw::{Request, Response};

/// The recording, beside this file.
const RECORDING: &str = "tests/it/recorded.txt";
/// The gate at which a reply waits until its turn is cancelled.
const GATE: &str = "until it is cancelled";

/// One turn, and what is special about its message.
struct Scene {
    name: &'static str,
    script: Vec<Reply>,
    /// More fields of `sendMessage`.
    fields: Value,
    /// The turn is cancelled when the stream has shown this.
    cancel_at: Option<&'static str>,
}

fn scene(name: &'static str, script: impl Into<Vec<Reply>>) -> Scene {
    Scene {
        name,
        script: script.into(),
        fields: json!({}),
        cancel_at: None,
    }
}

impl Scene {
    fn message(&self) -> String {
        format!("go: {}", self.name)
    }

    fn with(mut self, fields: Value) -> Scene {
        self.fields = fields;
        self
    }

    fn cancelled_at(mut self, shown: &'static str) -> Scene {
        self.cancel_at = Some(shown);
        self
    }
}

fn half() -> Reply {
    say("half an answer").deltas_of(7)
}

fn echo(word: &str) -> Reply {
    call("echo", json!({ "word": word }))
}

fn talks() -> Vec<Scene> {
    let counts = TokenCounts {
        input: 100,
        output: 20,
        ..TokenCounts::default()
    };
    let escapes = "a\nb\r\n\r\n\u{0}\u{2028}\"\\ 😀й\n\ndata: [DONE]\n\n";
    vec![
        scene("a short answer", [say("Hi there")]),
        scene("counted tokens", [say("Counted").usage(counts)]),
        scene("no tokens counted", [say("Uncounted").without_usage()]),
        scene("no text breaks a frame", [say(escapes).deltas_of(9)]),
        scene("one byte a write", [say("чай 😀").byte_by_byte()]),
        scene("thoughts first", [think("Tea?").and_say("Tea.")]),
        scene(
            "the longest answer ends",
            [say("So far").finish(Finish::Length)],
        ),
        scene(
            "a filtered answer",
            [say("So").finish(Finish::ContentFilter)],
        ),
        scene(
            "an unknown reason",
            [say("So").finish(Finish::Other("tired".into()))],
        ),
        scene("nothing said", [say("")]),
    ]
}

fn calls() -> Vec<Scene> {
    let two = || say("Two.").and_call("echo", json!({"word": "a"}));
    let unreadable = ToolCall::new("echo", json!({})).raw_arguments("{\"word\":");
    vec![
        scene("a call", [echo("tea"), say("Done")]),
        scene(
            "two calls at once",
            [two().and_call("echo", json!({"word": "b"})), say("Done")],
        ),
        scene(
            "thoughts and a call",
            [think("Hm").and_call("echo", json!({"word": 1})), say("So")],
        ),
        scene("a call that fails", [call("fail", json!({})), say("Oh")]),
        scene(
            "a tool that is not there",
            [call("nil", json!({})), say("Oh")],
        ),
        scene("wrong arguments", [call("echo", json!([])), say("Oh")]),
        scene("unreadable arguments", [Reply::of(unreadable), say("Oh")]),
        scene(
            "a file",
            [
                call("write_file", json!({"path": "a.txt", "content": "one\n"})),
                call("read_file", json!({"path": "a.txt"})),
                call("read_file", json!({"path": "../b"})),
                say("Read"),
            ],
        ),
        scene(
            "a refused write",
            [
                call("write_file", json!({"path": "b", "content": ""})),
                say("Oh"),
            ],
        )
        .with(json!({"approval": "read-only"})),
        scene("too many passes", [echo("a"), echo("b"), echo("c")])
            .with(json!({"maxIterations": 2})),
    ]
}

fn faults() -> Vec<Scene> {
    let gate = Gate::new(GATE);
    vec![
        scene("a refused key", [fail(Failure::refused_key())]),
        scene("busy, then not", [fail(Failure::overloaded()), say("well")]),
        scene(
            "a cut, then not",
            [half().cut_after(1, Ending::Close), say("well")],
        ),
        scene("two resets", [reset(), hang_up()]),
        scene(
            "a failure within, nonsense after",
            [
                half().and(Part::Failure(Failure::server_error())),
                page(200, "text/html", "<p>"),
            ],
        ),
        scene(
            "cancelled in a delta",
            [half().hold_at(Point::Deltas(1), &gate)],
        )
        .cancelled_at("half an"),
        scene(
            "cancelled after a call",
            [echo("tea"), say("never").hold_head(&gate)],
        )
        .cancelled_at("echo of"),
    ]
}

/// Sends the scene's message and reads its stream to the end, cancelling it on the way.
async fn stream(app: &App, session: &str, scene: &Scene, profile: &str) -> String {
    let mut body = json!({"sessionId": session, "content": scene.message()});
    if let (Some(body), Some(fields)) = (body.as_object_mut(), scene.fields.as_object()) {
        body.extend(fields.clone());
    }
    let path = format!("/services/agent/sendMessage/stream?profile={profile}");
    let Some(shown) = scene.cancel_at else {
        let Response { body, .. } = Request::new(app, "POST", &path)
            .json(body.to_string())
            .send()
            .await;
        return body;
    };
    let request = app.request(reqwest::Method::POST, &path).json(&body);
    let mut response = request.send().await.unwrap();
    let mut read = Vec::new();
    let mut is_cancelled = false;
    while let Some(chunk) = response.chunk().await.unwrap() {
        read.extend_from_slice(&chunk);
        if !is_cancelled && String::from_utf8_lossy(&read).contains(shown) {
            app.ok("cancel", json!({ "sessionId": session })).await;
            is_cancelled = true;
        }
    }
    String::from_utf8(read).unwrap()
}

/// Takes out of a recording what differs from run to run, and the sentences for people.
#[derive(Default)]
struct Mask {
    ids: HashMap<String, usize>,
}

impl Mask {
    fn value(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.value(key, value);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(key, value)),
            Value::String(text) if is_made(text) => {
                let next = self.ids.len() + 1;
                let number = *self.ids.entry(text.clone()).or_insert(next);
                *value = json!(format!("id {number}"));
            }
            // A hash over the prompt, in which the folder of the test is named.
            Value::String(_) if key == "prefix" => *value = json!("hash"),
            Value::String(text) if is_sentence(key, text) => *value = json!("…"),
            Value::Number(number) if number.as_u64().is_some_and(|n| n > 1_000_000_000_000) => {
                *value = json!("time");
            }
            Value::Number(_) if key.ends_with("Ms") => *value = json!("ms"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Masks a line of a stream, or a document.
    fn line(&mut self, line: &str) -> String {
        if let Some((_epoch, seq)) = line.strip_prefix("id: ").and_then(|id| id.split_once('.')) {
            return format!("id: {seq}");
        }
        let (head, json) = line.split_at(if line.starts_with("data: ") { 6 } else { 0 });
        let Ok(mut value) = serde_json::from_str::<Value>(json) else {
            return line.to_owned();
        };
        self.value("", &mut value);
        format!("{head}{value}")
    }
}

/// Whether an id was made during the run: a UUID, or a call id that the model server made.
fn is_made(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    digits >= 32 && text.len() <= 40 && !text.contains(' ')
}

fn is_sentence(key: &str, text: &str) -> bool {
    match key {
        "message" | "error" => true,
        "reason" => text.contains(' '),
        _ => false,
    }
}

/// The same reply with fixed token counts: counted ones would follow every word of the prompt.
fn counted(mut reply: Reply) -> Reply {
    if let Answer::Said(said) = &mut reply.answer
        && said.usage == Usage::Counted
    {
        said.usage = Usage::Given(TokenCounts {
            input: 50,
            output: 5,
            ..TokenCounts::default()
        });
    }
    reply
}

/// All replies, each for the message of its scene.
fn script(scenes: &[Scene]) -> Script {
    let rules = scenes.iter().flat_map(|scene| {
        let replies = scene.script.iter().cloned().map(counted);
        replies.map(|reply| reply.when(When::LastUserEndsWith(scene.message())))
    });
    rules.collect()
}

/// What all scenes look like in one dialect and one profile.
async fn recording(scenes: &[Scene], row: &'static str, profile: &str) -> String {
    let echo = TestTool::new("echo", |args, _| async move {
        ToolReply::Closed(Outcome::done(format!("echo of {}", args["word"])))
    })
    .takes(json!({"type": "object", "required": ["word"]}));
    let failing = TestTool::new("fail", |_, _| async {
        ToolReply::Closed(Outcome::failed("it broke"))
    });
    let builder = AppBuilder::new()
        .provider(row, "model-test")
        .with(|config| config.settings.retry.count = 1)
        // It was recorded before a model was reminded of anything.
        .with(|config| config.settings.limits.reminders = Reminders::default())
        .tools(echo.build())
        .tools(failing.build());
    let app = builder.start(script(scenes)).await;
    let mut text = String::new();
    for scene in scenes {
        let session = app.session().await;
        let shown = stream(&app, &session, scene, profile).await;
        let asked = format!("/services/agent/getMessages?sessionId={session}");
        let kept = Request::new(&app, "GET", &asked).send().await.body;
        let mut mask = Mask::default();
        writeln!(text, "## {}, {row}, {profile}", scene.name).unwrap();
        let lines = shown.lines().chain([kept.as_str()]);
        for line in lines.filter(|line| !line.is_empty()) {
            writeln!(text, "{}", mask.line(line)).unwrap();
        }
    }
    text
}

// proves AS-4, AS-5, AS-8
#[tokio::test]
async fn fifty_turns_read_as_recorded() {
    let scenes: Vec<Scene> = [talks(), calls(), faults()].into_iter().flatten().collect();
    let recorded = tokio::join!(
        recording(&scenes, "openai", "default"),
        recording(&scenes, "openai", "full"),
        recording(&scenes, "anthropic", "default"),
        recording(&scenes, "anthropic", "full"),
    );
    let recorded = [recorded.0, recorded.1, recorded.2, recorded.3].concat();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDING);
    if std::env::var_os("SAMOVAR_RECORD").is_some_and(|mode| mode == "write") {
        std::fs::write(&file, &recorded).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    for (now, before) in recorded.split("## ").zip(expected.split("## ")) {
        let name = now.lines().next();
        for (now, before) in now.lines().zip(before.lines()) {
            assert_eq!(now, before, "{name:?}");
        }
    }
    assert_eq!(recorded.len(), expected.len());
}
