//! What the server tells about the requests it got.

use std::time::Duration;

use samovar_model_server::{Answered, ExchangeEnd, Gate, ModelServer, Request, say};
use serde_json::json;

use crate::client::{Client, OPENAI};

#[tokio::test]
async fn every_request_is_kept_with_its_headers_and_its_body() {
    let server = ModelServer::start([say("Hello").deltas_of(1)])
        .await
        .unwrap();
    let mut client = Client::connect(&server).await;
    client.send("GET", "/v1/models", &[], "").await;
    client.response().await;
    let headers = [("content-type", "application/json"), ("x-mark", "7")];
    let body = " {\"model\":\"m\",  \"stream\": true, \
                \"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    client
        .send("POST", &format!("{}?a=b", OPENAI.path), &headers, body)
        .await;
    client.response().await;

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].answered(), &Answered::Models);
    assert_eq!(requests[0].prompt(), None);
    let prompt = &server.prompts()[0];
    assert_eq!((prompt.number(), prompt.prompt()), (1, Some(0)));
    assert_eq!(
        (prompt.method().as_str(), prompt.path()),
        ("POST", OPENAI.path)
    );
    assert_eq!(prompt.headers()["x-mark"], "7");
    assert_eq!(prompt.raw(), body);
    assert_eq!(prompt.body()["messages"][0]["content"], "hi");
    assert_eq!(prompt.answered(), &Answered::Rule(0));
    assert_eq!(prompt.end().await, ExchangeEnd::Complete);
    assert_eq!(prompt.deltas(), 5);
    assert!(format!("{prompt:?}").contains("Complete"));
}

#[tokio::test]
async fn prompt_tells_the_last_user_message_and_the_results_after_it() {
    let server = ModelServer::start([say("Hello").forever()]).await.unwrap();
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "r"});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [call("1"), call("2")]});
    let said = json!({"role": "user", "content": "and now"});
    let body = json!({"model": "m", "stream": true, "messages": [
        {"role": "user", "content": "first"}, said, calls, result("1"), result("2"),
    ]});
    OPENAI.ask(&server, &body).await;

    let prompt = &server.prompts()[0];
    assert_eq!(
        (prompt.last_user(), prompt.results_since_user()),
        ("and now", 2)
    );
}

#[tokio::test]
async fn client_that_leaves_in_mid_stream_is_noticed() {
    let gate = Gate::new("never");
    let reply = say("abcdef").deltas_of(1).hold_after(3, &gate);
    let server = ModelServer::start([reply]).await.unwrap();
    let client = OPENAI.asking(&server, &OPENAI.prompt("hi")).await;
    let request = server.prompt(0).await.unwrap();
    assert_eq!(request.written(3).await, 3);
    assert_eq!(request.ended(), None);

    drop(client);

    let left = server.wait_for_disconnect().await;
    assert_eq!(left.number(), request.number());
    assert_eq!(left.ended(), Some(ExchangeEnd::ClientLeft));
    assert_eq!(left.deltas(), 3);
    assert_eq!(request.written(6).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_leaves_a_long_stream_is_noticed() {
    let reply = say("x".repeat(4096))
        .deltas_of(1)
        .pace(Duration::from_millis(1));
    let server = ModelServer::start([reply]).await.unwrap();
    let mut client = OPENAI.asking(&server, &OPENAI.prompt("hi")).await;
    client.head().await;
    client.chunk().await.unwrap();

    drop(client);

    let left = server.wait_for_disconnect().await;
    assert!(left.deltas() < 4096);
}

#[tokio::test]
async fn arrivals_and_deltas_can_be_awaited() {
    let server = ModelServer::start([say("one"), say("two"), say("three")])
        .await
        .unwrap();
    let watch = async {
        server.seen(2).await;
        let requests = server
            .wait_for(|requests| requests.iter().map(Request::deltas).sum::<usize>() > 2)
            .await;
        assert_eq!(requests.len(), 3);
        server.prompt(2).await.unwrap()
    };
    let talk = async {
        for _ in 0..3 {
            OPENAI.ask(&server, &OPENAI.prompt("hi")).await;
        }
    };

    let (third, ()) = tokio::join!(watch, talk);

    assert_eq!(third.prompt(), Some(2));
}

#[tokio::test]
async fn stopped_server_has_ended_its_connections() {
    let gate = Gate::new("never");
    let server = ModelServer::start([say("x").hold_after(0, &gate)])
        .await
        .unwrap();
    let address = server.address();
    assert_eq!(server.base_url(), format!("http://{address}/v1"));
    let mut client = OPENAI.asking(&server, &OPENAI.prompt("hi")).await;
    client.head().await;
    let request = server.prompt(0).await.unwrap();

    server.stop().await;

    let (rest, _) = client.rest().await;
    assert!(rest.is_empty());
    assert_eq!(request.end().await, ExchangeEnd::ClientLeft);
}

#[tokio::test]
async fn dropped_server_ends_its_connections() {
    let server = ModelServer::start([say("x").forever()]).await.unwrap();
    let mut client = OPENAI.asking(&server, &OPENAI.plain("hi")).await;
    client.response().await;

    drop(server);

    let (rest, _) = client.rest().await;
    assert!(rest.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_prompts_at_once_all_get_their_reply() {
    let server = ModelServer::start([say("Hello").forever()]).await.unwrap();
    let one = async {
        let mut body = OPENAI.prompt("hi");
        body["stream_options"] = json!({"include_usage": true});
        OPENAI.ask(&server, &body).await.said()
    };
    let mut all = Vec::new();
    for _ in 0..64 {
        all.push(async { OPENAI.ask(&server, &OPENAI.prompt("hi")).await.said() });
    }
    let (first, rest) = tokio::join!(one, futures_util::future::join_all(all));

    assert_eq!(first, "Hello");
    assert!(rest.iter().all(|said| said == "Hello"));
    let mut numbers: Vec<_> = server.prompts().iter().map(Request::prompt).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), 65);
}
