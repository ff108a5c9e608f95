//! Who is let in.

use samovar_server::route::{self, Scope};
use serde_json::Value;

use super::{STATS, app};
use crate::raw::Request;

// proves TL-11
#[tokio::test]
async fn what_is_in_no_table_is_hidden_behind_the_token_too() {
    let app = app().await;
    let paths = [
        "/index.html",
        "/services/agent",
        "/services/agent/",
        "/services/agent/nothing",
        "/services/agent/getStats/",
        "//services/agent/getStats",
        "/services/agent/%67etStats",
        "/readyz/x",
        "/healthz/../services/agent/getStats",
    ];
    for path in paths {
        let request = Request::new(&app, "GET", path);
        let stranger = request.clone().without("authorization").send().await;
        assert_eq!(stranger.status, 401, "{path}");
        let owner = request.send().await;
        assert_eq!(
            (owner.status, owner.code().as_str()),
            (404, "unknown_method"),
            "{path}"
        );
    }
    for verb in ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"] {
        let request = Request::new(&app, verb, STATS).without("authorization");
        assert_eq!(request.send().await.status, 401, "{verb}");
    }
}

// proves TL-11
#[tokio::test]
async fn only_the_probes_the_page_and_a_login_need_no_token() {
    let app = app().await;
    let public = route::table().into_iter();
    let public = public.filter(|route| route.scope == Scope::Public);
    let public = public.map(|route| route.path);
    let (page, other): (Vec<_>, Vec<_>) =
        public.partition(|path| path == "/" || path.starts_with("/ui/"));
    assert!(page.len() >= 3, "{page:?}");
    assert_eq!(other, ["/healthz", "/readyz", "/api/login"]);
    for path in ["/healthz", "/readyz"] {
        let probe = Request::new(&app, "GET", path).without("authorization");
        let response = probe.send().await;
        assert_eq!(
            (response.status, response.body.as_str()),
            (200, r#"{"status":"ok"}"#)
        );
    }
}

// proves DU-2, TL-11
#[tokio::test]
async fn the_probe_shows_details_to_a_token_that_may_read() {
    let app = app().await;
    let probe = Request::new(&app, "GET", "/readyz?verbose");
    let stranger = probe.clone().without("authorization").send().await;
    assert_eq!(
        (stranger.status, stranger.code().as_str()),
        (401, "unauthorized")
    );
    let wrong = probe
        .clone()
        .set("authorization", "Bearer wrong")
        .send()
        .await;
    assert_eq!(wrong.status, 401);
    let owner: Value = serde_json::from_str(&probe.send().await.body).unwrap();
    assert_eq!(owner["status"], "ok");
    assert_eq!(owner["store"]["historyLagSessions"], 0);
    assert_eq!(owner["memory"]["budgetBytes"], 256 << 20);
}

// proves AS-3
#[tokio::test]
async fn a_mistyped_path_is_told_with_the_nearest_that_there_is() {
    let app = app().await;
    for (path, part) in [
        (
            "/services/agent/sendMesage",
            "did you mean /services/agent/sendMessage?",
        ),
        (
            "/services/agent/listSession",
            "did you mean /services/agent/listSessions?",
        ),
        ("/agent/wss", "did you mean /agent/ws?"),
        ("/v1/chat/completions", "the relay is at /agent/ws"),
        ("/api/toolz/x", "/services/agent/, /api/ and /chat/"),
    ] {
        let response = Request::new(&app, "GET", path).send().await;
        let said = response.json()["error"].as_str().unwrap().to_owned();
        assert_eq!(
            (response.status, response.code().as_str()),
            (404, "unknown_method")
        );
        assert!(said.contains(part), "{said}");
    }
    let empty =
        Request::new(&app, "POST", "/services/agent/getSession").json(r#"{"sessionId": ""}"#);
    let said = empty.send().await.json()["error"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        said,
        "parameter `sessionId`: must have 1 to 256 bytes, not 0"
    );
}
