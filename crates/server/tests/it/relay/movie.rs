//! The booking of a movie in the server itself: an external agent and a person drive it.

use std::io::BufReader;

use samovar_movie_host::MovieHost;
use samovar_relay::replay::replay;
use samovar_testkit::{Answer, App};
use serde_json::{Value, json};

use super::{Peer, app_with, envelope, rows, study_file};

async fn cinema() -> App {
    app_with(|config| config.relay.movie_rooms = vec!["cinema".to_owned()]).await
}

/// An external agent at the movie host. Its ids are the same in every room, on purpose.
struct Booker {
    peer: Peer,
    asked: u64,
}

impl Booker {
    async fn join(app: &App, room: &str) -> Self {
        let peer = Peer::joined(app, "agent", room).await;
        Self { peer, asked: 0 }
    }

    /// What it is answered, whatever else comes meanwhile.
    async fn asks(&mut self, kind: &str, payload: Value) -> Value {
        self.asked += 1;
        let id = format!("req-{}", self.asked);
        self.peer.say(envelope(kind, &id, payload)).await;
        loop {
            let heard = self.peer.hears().await;
            if heard["replyTo"] == id {
                return heard;
            }
        }
    }

    async fn calls(&mut self, tool: &str, params: Value) -> Value {
        let call = json!({"toolName": tool, "params": params, "reason": "to book a ticket"});
        self.asks("tool.call", call).await
    }

    async fn code(&mut self, tool: &str, params: Value) -> Value {
        let error = self.calls(tool, params).await;
        assert_eq!(error["type"], "error", "{error}");
        error["payload"]["code"].clone()
    }

    async fn does(&mut self, tool: &str, params: Value) {
        let result = self.calls(tool, params).await;
        assert_eq!(result["type"], "tool.result", "{result}");
        assert_eq!(result["payload"]["ok"], true, "{result}");
    }

    async fn screen(&mut self) -> Value {
        let snapshot = self.asks("snapshot.get", json!({})).await;
        snapshot["payload"].clone()
    }

    /// Chooses the first item that can be had, and continues.
    async fn goes_on(&mut self) {
        let spec = self.screen().await["uiSpec"].clone();
        let mut items = spec["visibleItems"].as_array().unwrap().iter();
        let item = &items.find(|item| item["isDisabled"] != true).unwrap()["id"];
        match spec["stage"].as_str().unwrap() {
            "confirm" => {}
            "ticket" => {
                let params = json!({"typeId": item, "quantity": 1});
                self.does("setQuantity", params).await;
            }
            _ => self.does("select", json!({"itemId": item})).await,
        }
        self.does("next", json!({})).await;
    }
}

async fn post(app: &App, path: &str, body: Value) -> Answer {
    let path = format!("/api/relay/rooms/{path}");
    let request = app.request(reqwest::Method::POST, &path).json(&body);
    app.answer(request).await
}

// proves RL-9, RL-13, RL-15, RL-17
#[tokio::test]
async fn an_external_agent_books_a_ticket_over_a_socket_and_its_log_replays() {
    let app = cinema().await;
    let mut agent = Booker::join(&app, "cinema").await;
    let about = json!({"studyId": "pilot-01", "participantId": "P07"});
    let started = agent.asks("session.start", about).await;
    let study = started["payload"]["sessionId"].as_str().unwrap().to_owned();
    assert!(
        study.starts_with("s-") && study.ends_with("-001"),
        "{study}"
    );

    assert_eq!(agent.code("fly", json!({})).await, "UNKNOWN_TOOL");
    assert_eq!(agent.code("setQuantity", json!({})).await, "UNKNOWN_TOOL");
    assert_eq!(
        agent.code("select", json!({"itemId": 7})).await,
        "INVALID_PARAMS"
    );
    assert_eq!(
        agent.code("select", json!({"itemId": "none"})).await,
        "INVALID_PARAMS"
    );
    for _ in 0..7 {
        agent.goes_on().await;
    }
    let screen = agent.screen().await;
    assert_eq!(
        (&screen["uiSpec"], &screen["sessionId"]),
        (&Value::Null, &json!(study))
    );
    let receipt = screen["messageHistory"].as_array().unwrap().last().unwrap();
    assert!(
        receipt["spec"]["meta"]["bookingNumber"].is_string(),
        "{receipt}"
    );
    assert_eq!(agent.code("next", json!({})).await, "NO_ACTIVE_SPEC");

    let ended = agent
        .asks("session.end", json!({"reason": "study-complete"}))
        .await;
    let expected = json!({
        "sessionId": study, "logFile": format!("logs/study/{study}.jsonl"), "stateReset": true,
    });
    assert_eq!(ended["payload"], expected);
    assert_eq!(agent.screen().await["uiSpec"]["stage"], "movie");

    let file = study_file(&app, &study);
    let log = std::fs::File::open(&file).unwrap();
    let report = replay(BufReader::new(log), || Box::new(MovieHost::new())).unwrap();
    assert_eq!(report.difference, None);
    assert_eq!(report.rows, rows(&file).len() as u64);
}

// proves RL-26
#[tokio::test]
async fn a_person_speaks_and_clicks_at_a_host_of_ours_and_agents_see_it() {
    let app = cinema().await;
    let mut agent = Peer::joined(&app, "agent", "cinema").await;
    let said = post(&app, "cinema/say", json!({"text": "a comedy, please"})).await;
    assert_eq!((said.status, said.body), (200, Value::Null));
    let words = agent.hears_a("user.message").await["payload"].clone();
    assert_eq!(words, json!({"text": "a comedy, please", "stage": "movie"}));
    let update = agent.hears_a("state.updated").await;
    assert_eq!(update["payload"]["source"], "host");

    let item = update["payload"]["uiSpec"]["visibleItems"][0]["id"].clone();
    let params = json!({"toolName": "select", "params": {"itemId": item}});
    assert_eq!(post(&app, "cinema/do", params).await.status, 200);
    let update = agent.hears_a("state.updated").await;
    assert_eq!(update["payload"]["uiSpec"]["state"]["selected"], item);
    assert_eq!(
        post(&app, "cinema/do", json!({"toolName": "next"}))
            .await
            .status,
        200
    );
    let update = agent.hears_a("state.updated").await;
    assert_eq!(update["payload"]["uiSpec"]["stage"], "theater");

    for (path, body, status, code) in [
        ("cinema/say", json!({"text": " "}), 400, "invalid_params"),
        ("cinema/say", json!({}), 400, "invalid_params"),
        ("cinema/do", json!({"toolName": "fly"}), 404, "unknown_tool"),
        (
            "cinema/do",
            json!({"toolName": "select", "params": {"itemId": "none"}}),
            400,
            "invalid_params",
        ),
        (
            "cinema/do",
            json!({"toolName": "select", "params": []}),
            400,
            "invalid_params",
        ),
        ("cinema/do", json!({}), 400, "invalid_params"),
        (
            "elsewhere/say",
            json!({"text": "hello"}),
            404,
            "unknown_room",
        ),
    ] {
        let refused = post(&app, path, body.clone()).await;
        assert_eq!(
            (refused.status, refused.code()),
            (status, code),
            "{path} {body}"
        );
    }
    agent.heard_nothing().await;
}

// proves RL-4
#[tokio::test]
async fn a_host_of_ours_comes_into_any_room_and_one_on_a_socket_takes_its_place() {
    let app = cinema().await;
    let rooms = async || app.get("/api/relay/rooms").await.body;
    assert_eq!(
        rooms().await,
        json!([{"room": "cinema", "host": "built_in", "agents": 0}])
    );
    // A room's name may be anything, a path too.
    for name in ["a%2Fb", "..%2F..%2Fetc", "%D0%BA%D0%B8%D0%BD%D0%BE"] {
        let attached = post(&app, &format!("{name}/host"), json!({"kind": "movie"})).await;
        assert_eq!(
            (attached.status, attached.body),
            (200, Value::Null),
            "{name}"
        );
    }
    let names: Vec<Value> = rooms()
        .await
        .as_array()
        .unwrap()
        .iter()
        .map(|room| room["room"].clone())
        .collect();
    assert_eq!(names, ["../../etc", "a/b", "cinema", "кино"]);
    for (name, body) in [
        ("%20", json!({"kind": "movie"})),
        ("a", json!({"kind": "theater"})),
        ("a", json!({})),
    ] {
        let refused = post(&app, &format!("{name}/host"), body).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "invalid_params"),
            "{name}"
        );
    }

    let mut agent = Peer::joined(&app, "agent", "a/b").await;
    let mut host = Peer::joined(&app, "host", "a/b").await;
    agent.say(envelope("snapshot.get", "s", json!({}))).await;
    host.hears_a("snapshot.get").await;
    let refused = post(&app, "a%2Fb/say", json!({"text": "hello"})).await;
    assert_eq!((refused.status, refused.code()), (404, "unknown_room"));
    // And ours its place again.
    assert_eq!(
        post(&app, "a%2Fb/host", json!({"kind": "movie"}))
            .await
            .status,
        200
    );
    assert_eq!(host.refused().await.0, "SESSION_NOT_ACTIVE");
    assert_eq!(agent.refused().await.0, "SESSION_NOT_ACTIVE");
    agent.say(envelope("snapshot.get", "s", json!({}))).await;
    assert_eq!(agent.hears_a("snapshot.state").await["replyTo"], "s");
}
