//! Export and import over HTTP.

use reqwest::Method;
use samovar_model_server::say;
use samovar_testkit::App;
use serde_json::json;

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
