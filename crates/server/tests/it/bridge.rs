//! The bridge over real sockets: our own agent in front of a host, an external agent in front of our
//! tools.

use std::fs::File;
use std::io::BufReader;

use samovar_core::Approval;
use samovar_model_server::{Script, call, say};
use samovar_movie_host::MovieHost;
use samovar_relay::replay::replay;
use samovar_server::Config;
use samovar_testkit::{App, AppBuilder, Socket};
use serde_json::{Value, json};

/// Where hosts and agents meet.
const PATH: &str = "/agent/ws";

/// Somebody in a room, who counts their messages.
struct Party {
    socket: Socket,
    said: u32,
}

impl Party {
    async fn join(app: &App, room: &str, role: &str) -> Self {
        let socket = Socket::open(app.address(), app.token(), PATH).await;
        let (socket, said) = (socket.unwrap(), 0);
        let mut party = Self { socket, said };
        let join = json!({"role": role, "sessionId": room});
        assert_eq!(party.ask("relay.join", join).await["type"], "relay.joined");
        party
    }

    /// Says something, and gives its answer.
    async fn ask(&mut self, kind: &str, payload: Value) -> Value {
        self.said += 1;
        let id = format!("p-{}", self.said);
        let said = json!({"v": "mvp-0.2", "type": kind, "id": id, "payload": payload});
        self.socket.say(said.to_string()).await;
        self.hear(|said| said["replyTo"] == id).await
    }

    /// Waits for a message.
    async fn hear(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let said = self.socket.json().await.expect("the room is there");
            if is_it(&said) {
                return said;
            }
        }
    }

    /// What there is to see, once there is a host: ours come a moment after the door is open.
    async fn look(&mut self) -> Value {
        loop {
            let state = self.ask("snapshot.get", json!({})).await;
            if state["type"] == "snapshot.state" {
                return state;
            }
        }
    }

    /// Calls a tool; its result, or the code and the sentence of its refusal.
    async fn call(&mut self, tool: &str, params: Value) -> Result<String, (String, String)> {
        let call = json!({"toolName": tool, "params": params, "reason": "to see"});
        let answer = self.ask("tool.call", call).await;
        let (kind, payload) = (answer["type"].as_str().unwrap(), &answer["payload"]);
        let text = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
        if kind == "tool.result" {
            assert_eq!(
                (&payload["ok"], text("toolName")),
                (&json!(true), tool.to_owned())
            );
            return Ok(text("result"));
        }
        assert_eq!(kind, "error");
        Err((text("code"), text("message")))
    }
}

async fn app(script: impl Into<Script>, change: impl FnOnce(&mut Config)) -> App {
    AppBuilder::new().with(change).start(script).await
}

/// Says something as the person at a host of the server's own.
async fn person_says(app: &App, room: &str, text: &str) {
    let path = format!("/api/relay/rooms/{room}/say");
    let request = app
        .request(http::Method::POST, &path)
        .json(&json!({"text": text}));
    assert!(app.answer(request).await.status < 300);
}

/// Whether a `state.updated` shows this in its history.
fn shows(text: &str) -> impl Fn(&Value) -> bool {
    move |said| {
        let history = &said["payload"]["messageHistory"];
        said["type"] == "state.updated" && history.to_string().contains(text)
    }
}

// proves RL-23
#[tokio::test]
async fn an_agent_of_the_configuration_drives_the_host_of_its_room_and_leaves_with_the_server() {
    let script = [
        call("select", json!({"itemId": "m2"})).and_say("The second one."),
        call("next", json!({})).and_say("On to the theaters."),
        say("Which theater?"),
    ];
    let app = app(script, |config| {
        config.relay.movie_rooms = vec!["cinema".to_owned()];
        config.relay.agent_rooms = vec!["cinema".to_owned()];
    });
    let app = app.await;
    let mut observer = Party::join(&app, "cinema", "agent").await;

    person_says(&app, "cinema", "the second movie").await;

    let shown = observer.hear(shows("Which theater?")).await;
    assert_eq!(shown["payload"]["uiSpec"]["stage"], "theater");
    let prompts = app.model.prompts();
    let tools = prompts[0].body()["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    assert!(names.contains(&&json!("select")), "{names:?}");
    assert!(!names.contains(&&json!("read_file")), "the host's alone");
    app.stop().await;
}

// proves RL-23, RL-17
#[tokio::test]
async fn our_agent_books_a_ticket_with_the_demo_model_without_a_network() {
    let app = app(Script::new(), |config| {
        config.relay.movie_rooms = vec!["cinema".to_owned()];
        config.relay.agent_rooms = vec!["cinema".to_owned()];
        config.relay.agent_model = Some("demo".to_owned());
    });
    let mut app = app.await;
    let mut observer = Party::join(&app, "cinema", "agent").await;
    let wish = "book me the first comedy after six, two seats side by side";
    person_says(&app, "cinema", wish).await;

    let shown = observer.hear(shows("bookingNumber")).await;

    let history = shown["payload"]["messageHistory"].as_array().unwrap();
    let receipt = history.iter().rev().find(|entry| entry["spec"].is_object());
    let receipt = &receipt.unwrap()["spec"];
    let number = receipt["meta"]["bookingNumber"].as_str().unwrap();
    let booking = &receipt["state"]["booking"];
    assert_eq!(booking["seats"].as_array().unwrap().len(), 2, "{booking}");
    // It tells the person, and nothing else was asked.
    observer
        .hear(|said| {
            let entries = said["payload"]["messageHistory"].as_array();
            let mut entries = entries.into_iter().flatten();
            let tells = |text: &str| text.contains(number);
            entries
                .any(|entry| entry["type"] == "agent" && entry["text"].as_str().is_some_and(tells))
        })
        .await;
    assert!(app.model.prompts().is_empty());
    let rooms = app.get("/api/relay/rooms").await.body;
    let study = rooms[0]["study"].as_str().unwrap().to_owned();
    let log = app.data_dir().join(format!("logs/study/{study}.jsonl"));
    app.stop_now().await;
    let log = BufReader::new(File::open(log).unwrap());
    let report = replay(log, || Box::new(MovieHost::new())).unwrap();
    assert_eq!(report.difference, None);
    assert!(report.compared > 10, "{report:?}");
}

// proves RL-24, TL-4
#[tokio::test]
async fn an_external_agent_uses_our_tools_as_far_as_the_approval_level_lets_it() {
    for (level, why) in [
        (Approval::Auto, None),
        (Approval::Supervised, Some("needs a person's approval")),
        (Approval::ReadOnly, Some("the approval level is read-only")),
    ] {
        let app = app(Script::new(), |config| {
            config.settings.approval = level;
            config.relay.tool_rooms = vec!["lab".to_owned()];
        });
        let app = app.await;
        std::fs::write(app.workspace().join("a.txt"), "tea").unwrap();
        let mut agent = Party::join(&app, "lab", "agent").await;
        let state = agent.look().await;
        let tools = state["payload"]["toolSchema"].as_array().unwrap().clone();
        assert!(
            tools.iter().any(|tool| tool["name"] == "write_file"),
            "{tools:?}"
        );

        let read = agent
            .call("read_file", json!({"path": "a.txt"}))
            .await
            .unwrap();
        assert!(read.contains("tea"), "{read}");
        let content = json!({"path": "b.txt", "content": "coffee"});
        let written = agent.call("write_file", content).await;
        match why {
            None => assert!(written.unwrap().contains("b.txt")),
            Some(why) => {
                let (code, message) = written.unwrap_err();
                assert_eq!(code, "TOOL_EXECUTION_FAILED");
                assert!(message.contains(why), "{message}");
            }
        }
        assert_eq!(app.workspace().join("b.txt").exists(), why.is_none());
        for (tool, params, code) in [
            ("rm", json!({}), "UNKNOWN_TOOL"),
            ("ask_user", json!({"question": "?"}), "UNKNOWN_TOOL"),
            ("read_file", json!({"path": 1}), "INVALID_PARAMS"),
        ] {
            assert_eq!(agent.call(tool, params).await.unwrap_err().0, code);
        }
        assert!(app.model.prompts().is_empty(), "no model was asked");
        app.stop().await;
    }
}

// proves RL-24
#[tokio::test]
async fn the_calls_of_a_room_are_a_session_that_a_restarted_server_tells_of() {
    let app = app(Script::new(), |_| {}).await;
    let tools = app.request(http::Method::POST, "/api/relay/rooms/lab/host");
    let tools = app.answer(tools.json(&json!({"kind": "tools"}))).await;
    assert!(tools.status < 300, "{tools:?}");
    let mut agent = Party::join(&app, "lab", "agent").await;
    agent.look().await;
    agent.call("list_dir", json!({})).await.unwrap();
    let by_configuration = app.restart_with(|config| {
        config.relay.tool_rooms = vec!["lab".to_owned()];
    });
    let app = by_configuration.await;

    let mut agent = Party::join(&app, "lab", "agent").await;
    let state = agent.look().await;
    let call = &state["payload"]["messageHistory"][0];
    assert_eq!(
        (&call["toolName"], &call["status"]),
        (&json!("list_dir"), &json!("done"))
    );

    let session = app.ok("listSessions", json!({})).await;
    assert!(session.to_string().contains("relay-lab-"), "{session}");
}

// proves RL-24
#[tokio::test]
async fn who_names_external_as_a_model_is_told_what_it_is() {
    let app = AppBuilder::new()
        .with(|config| config.providers.default_model = Some("external".to_owned()))
        .start(Script::new())
        .await;
    let session = app.session().await;
    let frames = app.turn(&session, "book a table").await;
    let shown = format!("{frames:?}");
    assert!(
        shown.contains("external is not a language model"),
        "{shown}"
    );
    let last = frames.iter().rev().nth(1).unwrap();
    assert_eq!(last.kind(), "completed", "it is no fault");
}
