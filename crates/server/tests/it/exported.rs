//! Export and import over HTTP.

use reqwest::Method;
use samovar_model_server::say;
use samovar_testkit::{Answer, App};
use samovar_wire::agent::Attachment;
use serde_json::json;

use crate::images::{blobs, come_to, png};

// proves AS-29, AS-30
#[tokio::test]
async fn images_come_along_and_are_kept_again() {
    let app = App::start([say("a cat"), say("a dog")]).await;
    for session in ["s", "t"] {
        app.ok("createSession", json!({"sessionId": session})).await;
    }
    let attachments = json!([
        Attachment::of(&png(2, 2, 10)),
        Attachment::of(&png(3, 2, 10))
    ]);
    let said = json!({"sessionId": "s", "content": "look", "attachments": attachments});
    app.ok("sendMessage", said).await;
    let export = app.request(Method::GET, "/api/sessions/s/export");
    let export = export.send().await.unwrap().text().await.unwrap();
    assert_eq!(export.matches("\"sha256\"").count(), 2, "{export}");
    app.ok("deleteSession", json!({"sessionId": "s"})).await;
    come_to(&app, 0).await;

    let import = app.request(Method::POST, "/api/sessions/import");
    let made = import
        .header("content-type", "application/json")
        .body(export.clone());
    let made = app.answer(made).await;

    assert_eq!(made.status, 200, "{made:?}");
    assert_eq!(blobs(&app).len(), 2);
    let session = &made.body["sessions"][0]["sessionId"];
    app.ok(
        "sendMessage",
        json!({"sessionId": session, "content": "and now?"}),
    )
    .await;
    let shown = app.model.prompt(1).await.unwrap().body().to_string();
    assert_eq!(
        shown.matches("data:image/png;base64,").count(),
        2,
        "{shown}"
    );
    let path = format!("/api/sessions/{}/export", session.as_str().unwrap());
    let again = app.request(Method::GET, &path).send().await.unwrap();
    let again = again.text().await.unwrap();
    let of_images = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("{\"blob\""));
        lines
            .map(|line| line[..line.len() - 20].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(of_images(&again), of_images(&export));
}

// proves AS-29
#[tokio::test]
async fn imports_at_once_each_come_in_and_one_keeps_the_ids() {
    let app = App::start([say("never said")]).await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    for n in 0..20 {
        let message = json!({"role": "user", "content": n.to_string(), "id": format!("m{n}")});
        let params = json!({"sessionId": "s", "message": message});
        app.ok("appendMessage", params).await;
    }
    let export = app.request(Method::GET, "/api/sessions/s/export");
    let export = export.send().await.unwrap().text().await.unwrap();
    app.ok("deleteSession", json!({"sessionId": "s"})).await;

    let import = || {
        let import = app.request(Method::POST, "/api/sessions/import");
        app.answer(
            import
                .header("content-type", "application/json")
                .body(export.clone()),
        )
    };
    let (a, b, c) = tokio::join!(import(), import(), import());

    let renamed = |answer: &Answer| {
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = &answer.body["sessions"][0];
        (
            session["sessionId"] == "s",
            session["renamed"].as_u64().unwrap(),
        )
    };
    let mut all = [&a, &b, &c].map(renamed);
    all.sort_unstable();
    assert_eq!(all, [(false, 20), (false, 20), (true, 0)]);
}

// proves AS-29
#[tokio::test]
async fn a_long_session_comes_in_although_no_other_body_may_be_so_long() {
    let app = App::start([say("hi")]).await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    let text = "word ".repeat(120_000);
    for _ in 0..3 {
        let message = json!({"role": "user", "content": text});
        app.ok(
            "appendMessage",
            json!({"sessionId": "s", "message": message}),
        )
        .await;
    }
    let export = app
        .request(Method::GET, "/api/sessions/s/export")
        .send()
        .await
        .unwrap();
    assert_eq!(export.headers()["content-type"], "application/x-ndjson");
    let export = export.text().await.unwrap();

    let import = |text: &str| {
        let request = app.request(Method::POST, "/api/sessions/import");
        request
            .header("content-type", "application/json")
            .body(text.to_owned())
    };
    let made = app.answer(import(&export)).await;

    assert_eq!(
        (made.status, &made.body["sessions"][0]["messages"]),
        (200, &json!(3)),
        "{}",
        made.body
    );
    let long = json!({"sessionId": "s", "content": "word ".repeat(300_000)});
    assert_eq!(app.call("sendMessage", long).await.status, 413);
    let none = app.answer(import("{}")).await;
    assert_eq!((none.status, none.code()), (422, "import_unusable"));
    let unknown = app.request(Method::GET, "/api/sessions/nobody/export");
    assert_eq!(app.answer(unknown).await.status, 404);
}
