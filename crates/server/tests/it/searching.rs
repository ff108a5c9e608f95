//! The search over the messages of all sessions.

use samovar_model_server::say;
use samovar_testkit::App;
use serde_json::{Value, json};

async fn found(app: &App, query: &str) -> Vec<Value> {
    let answer = app.get(&format!("/api/search?query={query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["indexed"], true);
    answer.body["items"].as_array().unwrap().clone()
}

// proves AS-27
#[tokio::test]
async fn a_message_is_found_until_it_is_undone_or_deleted() {
    let app = App::start([say("Take the night train to Rome.").forever()]).await;
    let session = app.session().await;
    app.turn(&session, "How do I get there?").await;

    let hits = found(&app, "ROME%20train").await;
    let [hit] = &hits[..] else {
        panic!("{hits:?}");
    };
    let messages = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(hit["sessionId"], session.as_str());
    assert_eq!(hit["messageId"], messages[1]["id"]);
    assert_eq!(hit["role"], "assistant");
    assert_eq!(hit["text"], "Take the night train to Rome.");
    assert_eq!(hit["at"], messages[1]["createdAt"]);

    app.ok("undo", json!({"sessionId": session})).await;
    assert_eq!(found(&app, "rome").await, [json!(null); 0]);
    app.turn(&session, "How do I get there?").await;
    assert_eq!(found(&app, "rome").await.len(), 1);
    app.ok("deleteSession", json!({"sessionId": session})).await;
    assert_eq!(found(&app, "rome").await, [json!(null); 0]);
}

// proves AS-27
#[tokio::test]
async fn a_query_is_words_and_a_bad_one_is_refused_or_finds_nothing() {
    let app = App::start([say("near and far").forever()]).await;
    let session = app.session().await;
    app.turn(&session, "go").await;
    let ask = async |query: &str| app.get(&format!("/api/search{query}")).await;

    for query in [
        "?query=NEAR",
        "?query=%22near%22%20AND%20far",
        "?query=-near*%20)(",
        "?query=near&limit=100000",
    ] {
        let answer = ask(query).await;
        assert_eq!(answer.status, 200, "{query}");
        assert_eq!(answer.body["items"].as_array().unwrap().len(), 1, "{query}");
    }
    for query in [
        "?query=",
        "?query=%22%22",
        "?query=*%20^%20:%20%7B%00%20--",
        "?query=near%20OR%20gone",
        "?query=terms:near",
        "?query=near&limit=0",
        "?query=near&before=nothing",
    ] {
        let answer = ask(query).await;
        assert_eq!(answer.status, 200, "{query} {}", answer.body);
        assert_eq!(answer.body["items"], json!([]), "{query}");
    }
    let long = "%F0%9F%98%80+near%22".repeat(3000);
    assert_eq!(ask(&format!("?query={long}")).await.status, 200);
    for query in ["", "?query=near&limit=-1", "?query=near&limit=x", "?q=near"] {
        let answer = ask(query).await;
        assert_eq!(answer.status, 400, "{query}");
        assert_eq!(answer.body["code"], "invalid_params", "{}", answer.body);
    }
}
