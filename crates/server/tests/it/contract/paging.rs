//! Lists in pages: sessions and messages.

use futures_util::future::join_all;
use samovar_model_server::say;
use samovar_testkit::App;
use serde_json::{Value, json};

fn ids(items: &Value) -> Vec<&str> {
    let items = items.as_array().expect("an array").iter();
    items.map(|item| item["id"].as_str().unwrap()).collect()
}

/// A page of the list of sessions.
async fn page(app: &App, params: Value) -> (Vec<String>, u64) {
    let page = app.ok("listSessions", params).await;
    let ids = ids(&page["items"]).into_iter().map(str::to_owned);
    (ids.collect(), page["totalCount"].as_u64().unwrap())
}

// proves AS-18
#[tokio::test]
async fn sessions_are_listed_in_pages_of_50_and_at_most_200() {
    let app = App::start([say("hi")]).await;
    let make = (0..203).map(|at| app.ok("createSession", json!({"sessionId": format!("s{at}")})));
    join_all(make).await;

    let (all, count) = page(&app, json!({"limit": 200})).await;
    assert_eq!((all.len(), count), (200, 203));
    let (first, count) = page(&app, json!({})).await;
    assert_eq!((first.as_slice(), count), (&all[..50], 203));
    let (second, _) = page(&app, json!({"offset": 50})).await;
    assert_eq!(second, all[50..100]);
    let (middle, _) = page(&app, json!({"offset": 7, "limit": 3})).await;
    assert_eq!(middle, all[7..10]);
    let (rest, _) = page(&app, json!({"offset": 200, "limit": 200})).await;
    assert_eq!(rest.len(), 3);
    assert!(rest.iter().all(|id| !all.contains(id)), "{rest:?}");
    let nothing = [
        json!({"limit": 0}),
        json!({"offset": 203}),
        json!({"offset": u32::MAX}),
    ];
    for params in nothing {
        assert_eq!(page(&app, params).await, (Vec::new(), 203));
    }
    let times = app.ok("listSessions", json!({"limit": 200})).await;
    let times = times["items"].as_array().unwrap().iter();
    let times: Vec<_> = times.map(|session| session["updatedAt"].as_i64()).collect();
    assert!(
        times.is_sorted_by(|newer, older| newer >= older),
        "{times:?}"
    );
}

// proves AS-18
#[tokio::test]
async fn the_session_that_changed_last_is_listed_first() {
    let app = App::start([say("hi").forever()]).await;
    for id in ["old", "new"] {
        app.ok("createSession", json!({"sessionId": id})).await;
    }
    let newest = app.ok("getSession", json!({"sessionId": "new"})).await;
    loop {
        // Until the clock has moved on: within a millisecond two sessions are equally new.
        app.turn("old", "hello").await;
        let old = app.ok("getSession", json!({"sessionId": "old"})).await;
        if old["updatedAt"].as_i64() > newest["updatedAt"].as_i64() {
            break;
        }
    }
    assert_eq!(page(&app, json!({})).await.0, ["old", "new"]);
}

// proves AS-18
#[tokio::test]
async fn a_query_finds_sessions_by_id_and_title_letter_for_letter() {
    let app = App::start([say("hi")]).await;
    let sessions = [
        ("Alpha 100%", json!({})),
        ("alphabet", json!({"title": "Письма_1"})),
        ("beta", json!({"title": "ПИСЬМА Альфы", "other": "alpha"})),
    ];
    for (id, metadata) in &sessions {
        app.ok(
            "createSession",
            json!({"sessionId": id, "metadata": metadata}),
        )
        .await;
    }
    let table: &[(&str, &[&str])] = &[
        ("", &["Alpha 100%", "alphabet", "beta"]),
        ("ALPHA", &["Alpha 100%", "alphabet"]),
        ("письма", &["alphabet", "beta"]),
        ("%", &["Alpha 100%"]),
        ("_", &["alphabet"]),
        ("a_pha", &[]),
        ("'", &[]),
        ("betaПИСЬМА", &[]),
    ];
    for (query, expected) in table {
        let (mut found, count) = page(&app, json!({"query": query})).await;
        found.sort();
        assert_eq!(found, *expected, "{query:?}");
        assert_eq!(count, expected.len() as u64, "{query:?}");
    }
    let (one, count) = page(&app, json!({"query": "alpha", "offset": 1, "limit": 1})).await;
    assert_eq!(
        (one.len(), count),
        (1, 2),
        "the count is that of the query, not of the page"
    );
}

// proves AS-18, AS-3
#[tokio::test]
async fn a_page_that_cannot_be_is_refused() {
    let app = App::start([say("hi")]).await;
    let session = app.session().await;
    let bad = [
        json!(-1),
        json!(1.5),
        json!("10"),
        json!(true),
        json!([]),
        json!(1e30),
        json!(u64::MAX),
    ];
    let calls = [
        ("listSessions", "limit", json!(201)),
        ("listSessions", "offset", json!(u64::from(u32::MAX) + 1)),
        ("getMessages", "limit", json!(1001)),
    ];
    for (method, name, above) in calls {
        for value in bad.iter().chain([&above]) {
            let mut params = json!({"sessionId": session});
            params[name] = value.clone();
            let answer = app.call(method, params).await;
            assert_eq!(
                (answer.status, answer.code()),
                (400, "invalid_params"),
                "{name}={value}"
            );
            assert_eq!(answer.body["details"]["parameter"], name);
        }
    }
    for query in [
        "limit=x",
        "limit=",
        "limit=201",
        "limit=1&limit=2",
        "offset=-1",
        "offset=0x1",
    ] {
        let path = format!("/services/agent/listSessions?{query}");
        let answer = app.answer(app.request(reqwest::Method::GET, &path)).await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "invalid_params"),
            "{query}"
        );
    }
}

// proves AS-2
#[tokio::test]
async fn messages_are_the_last_ones_oldest_first_and_further_back_before_one() {
    let app = App::start([say("one"), say("two"), say("three")]).await;
    let session = app.session().await;
    for (id, content) in [("a", "1"), ("b", "2"), ("c", "3")] {
        let message = json!({"sessionId": session, "messageId": id, "content": content});
        app.ok("sendMessage", message).await;
    }
    let said = async |params: Value| {
        let mut all = json!({"sessionId": session});
        all.as_object_mut()
            .unwrap()
            .extend(params.as_object().unwrap().clone());
        let rows = app.ok("getMessages", all).await;
        let rows = rows.as_array().unwrap().iter();
        let words = rows.map(|row| row["content"].as_str().unwrap().to_owned());
        words.collect::<Vec<_>>().join(" ")
    };
    let table = [
        (json!({}), "1 one 2 two 3 three"),
        (json!({"limit": 1000}), "1 one 2 two 3 three"),
        (json!({"limit": 3}), "two 3 three"),
        (json!({"limit": 0}), ""),
        (json!({"before": "c"}), "1 one 2 two"),
        (json!({"before": "c", "limit": 1}), "two"),
        (json!({"before": "c", "limit": 3}), "one 2 two"),
        (json!({"before": "a"}), ""),
    ];
    for (params, expected) in table {
        assert_eq!(said(params.clone()).await, expected, "{params}");
    }
}

// proves DU-8
#[tokio::test]
async fn a_page_has_as_much_as_fits_and_the_next_one_the_rest() {
    let app = App::start([say("hi").forever()]).await;
    let long = "x".repeat(300 * 1024);
    for id in ["a", "b", "c", "d"] {
        let made = json!({"sessionId": id, "metadata": {"note": long}});
        app.ok("createSession", made).await;
    }
    for said in 0..4 {
        let said = json!({"sessionId": "a", "content": format!("{said} {long}")});
        app.ok("sendMessage", said).await;
    }

    let (first, count) = page(&app, json!({})).await;
    let (second, _) = page(&app, json!({"offset": first.len()})).await;
    assert_eq!((first.len(), second.len(), count), (2, 2, 4));
    assert!(second.iter().all(|id| !first.contains(id)));

    let mut all: Vec<String> = Vec::new();
    loop {
        let mut params = json!({"sessionId": "a"});
        if let Some(oldest) = all.first() {
            params["before"] = json!(oldest);
        }
        let older = app.ok("getMessages", params).await;
        if older.as_array().unwrap().is_empty() {
            break;
        }
        assert!(older.as_array().unwrap().len() <= 5, "more than fits");
        let older = ids(&older).into_iter().map(str::to_owned);
        all = older.chain(all).collect();
    }
    let stats = app.ok("getStats", json!({})).await;
    assert_eq!(all.len(), 8);
    assert_eq!(stats["messages"], 8);
}
