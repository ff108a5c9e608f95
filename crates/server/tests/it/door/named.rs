//! Tokens with names and scopes.

use reqwest::Method;
use samovar_model_server::say;
use samovar_server::route::{self, Scope};
use samovar_testkit::{Answer, Api, App, AppBuilder};
use serde_json::{Value, json};

use super::ending;

pub(super) async fn make(api: &Api, name: &str, scope: &str) -> Answer {
    let body = json!({"name": name, "scope": scope});
    let request = api.request(Method::POST, "/api/tokens").json(&body);
    api.answer(request).await
}

/// A client with a new token of this scope.
pub(super) async fn client(app: &App, scope: &str) -> Api {
    let made = make(app, &format!("for-{}", scope.replace(':', "-")), scope).await;
    assert_eq!(made.status, 200, "{}", made.body);
    Api::new(
        &app.address().to_string(),
        made.body["token"].as_str().unwrap(),
    )
}

async fn ask(api: &Api, verb: &str, path: &str) -> Answer {
    let verb: Method = verb.parse().unwrap();
    let request = api.request(verb.clone(), path);
    let request = match verb {
        Method::POST | Method::PUT => request.json(&json!({})),
        _ => request,
    };
    api.answer(request).await
}

// proves TL-11
#[tokio::test]
async fn a_token_is_let_into_the_routes_of_its_scope_and_into_no_other() {
    let app = App::start([say("hi")]).await;
    let mut refused = 0;
    for (name, scope) in [
        ("relay:default:agent", Scope::Relay),
        ("read", Scope::Read),
        ("approve", Scope::Approve),
        ("use", Scope::Use),
        ("admin", Scope::Admin),
    ] {
        let api = client(&app, name).await;
        for route in route::table() {
            for verb in route.verbs {
                let answer = ask(&api, verb.as_str(), &ending(&route.path)).await;
                let is_refused = answer.status == 403;
                let what = format!("{name}: {} {}: {}", verb.as_str(), route.path, answer.body);
                assert_ne!(answer.status, 401, "{what}");
                assert_eq!(is_refused, !scope.covers(route.scope), "{what}");
                if is_refused {
                    assert_eq!(answer.code(), "forbidden", "{what}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 8, "{refused}");
}

// proves TL-11
#[tokio::test]
async fn a_named_token_is_shown_once_kept_as_a_hash_and_refused_once_it_is_revoked() {
    let app = App::start([say("hi")]).await;
    let made = make(&app, "laptop", "use").await;
    let token = made.body["token"].as_str().unwrap().to_owned();
    assert_eq!(token.len(), 64);

    let kept = std::fs::read_to_string(app.data_dir().join("tokens.json")).unwrap();
    assert!(!kept.contains(&token), "{kept}");
    let listed = ask(&app, "GET", "/api/tokens").await.body;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["name"], "laptop");
    assert_eq!(listed[0]["scope"], "use");
    assert_eq!(listed[0]["token"], Value::Null);

    // It outlives the server.
    let app = app.restart().await;
    let api = Api::new(&app.address().to_string(), &token);
    assert_eq!(
        ask(&api, "GET", "/services/agent/getStats").await.status,
        200
    );

    let revoked = ask(&app, "DELETE", "/api/tokens/laptop").await;
    assert_eq!((revoked.status, revoked.body), (200, Value::Null));
    let refused = ask(&api, "GET", "/services/agent/getStats").await;
    assert_eq!((refused.status, refused.code()), (401, "unauthorized"));
    let again = ask(&app, "DELETE", "/api/tokens/laptop").await;
    assert_eq!((again.status, again.code()), (404, "unknown_token"));
}

#[tokio::test]
async fn a_token_with_a_bad_name_or_scope_is_refused_and_so_are_too_many() {
    let app = App::start([say("hi")]).await;
    for (name, scope) in [
        ("", "use"),
        ("two words", "use"),
        ("UPPER", "use"),
        ("../etc", "use"),
        (&"a".repeat(65), "use"),
        ("fine", "root"),
        ("owner", "use"),
        ("public", "use"),
    ] {
        let refused = make(&app, name, scope).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "invalid_params"),
            "{name} {scope}"
        );
    }
    for number in 0..64 {
        let made = make(&app, &format!("t{number}"), "read").await;
        assert_eq!(made.status, 200, "{number}");
    }
    let taken = make(&app, "t0", "read").await;
    assert_eq!((taken.status, taken.code()), (400, "invalid_params"));
    let too_many = make(&app, "one-more", "read").await;
    assert_eq!((too_many.status, too_many.code()), (400, "invalid_params"));
}

// proves TL-4, TL-11
#[tokio::test]
async fn only_a_token_of_the_owner_widens_the_approval_level() {
    use samovar_core::Approval::{Auto, ReadOnly, Supervised};
    for server in [Auto, Supervised, ReadOnly] {
        let app = AppBuilder::new()
            .with(|config| config.settings.approval = server)
            .start([say("done").forever()])
            .await;
        let session = app.session().await;
        let (guest, admin) = (client(&app, "use").await, client(&app, "admin").await);
        for asked in [Auto, Supervised, ReadOnly] {
            let params = json!({"sessionId": session, "content": "go", "approval": asked});
            let owners = admin.call("sendMessage", params.clone()).await;
            assert_eq!(owners.status, 200, "{asked:?} on {server:?}");
            let guests = guest.call("sendMessage", params.clone()).await;
            let is_wider = asked < server;
            assert_eq!(guests.status == 403, is_wider, "{asked:?} on {server:?}");
            if is_wider {
                assert_eq!(guests.code(), "forbidden");
                let streamed = guest.post_stream(params).await;
                assert_eq!(streamed.status(), 403);
            }
        }
        let rows = app.ok("getMessages", json!({"sessionId": session})).await;
        let asked = rows.as_array().unwrap().iter();
        let asked = asked.filter(|row| row["role"] == "user").count();
        let let_in = [Auto, Supervised, ReadOnly].into_iter();
        let let_in = let_in.filter(|asked| *asked >= server).count();
        assert_eq!(asked, 3 + let_in, "what was refused is not kept");
    }
}

// proves TL-4, TL-11
#[tokio::test]
async fn only_a_token_of_the_owner_widens_the_level_of_a_session() {
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = samovar_core::Approval::Supervised)
        .start([say("done").forever()])
        .await;
    let (guest, admin) = (client(&app, "use").await, client(&app, "admin").await);
    let create = |id: &str, level: &str| json!({"sessionId": id, "approval": level});
    let send = |id: &str, level: &str| json!({"sessionId": id, "content": "go", "approval": level});
    for (who, method, params, status) in [
        (&guest, "createSession", create("a", "auto"), 403),
        (&guest, "createSession", create("a", "none"), 400),
        (&guest, "createSession", create("a", "read-only"), 200),
        (&guest, "createSession", create("a", "read-only"), 200),
        (&guest, "createSession", create("a", "supervised"), 403),
        (&admin, "createSession", create("a", "supervised"), 409),
        (&guest, "updateSession", create("a", "supervised"), 403),
        (&guest, "sendMessage", send("a", "supervised"), 403),
        (&admin, "sendMessage", send("a", "auto"), 200),
        (&guest, "sendMessage", send("a", "read-only"), 200),
        (&admin, "updateSession", create("a", "auto"), 200),
        (&guest, "sendMessage", send("a", "auto"), 200),
        (&guest, "updateSession", create("a", "supervised"), 200),
        (&guest, "updateSession", create("a", "auto"), 403),
    ] {
        let answer = who.call(method, params.clone()).await;
        assert_eq!(answer.status, status, "{method} {params}: {answer:?}");
    }
    let shown = app.ok("getSession", json!({"sessionId": "a"})).await;
    assert_eq!(shown["approval"], "supervised");
    let messages = app.ok("getMessages", json!({"sessionId": "a"})).await;
    let said = messages.as_array().unwrap().iter();
    let said = said.filter(|message| message["role"] == "user").count();
    assert_eq!(said, 3, "what was refused is not kept");
}
