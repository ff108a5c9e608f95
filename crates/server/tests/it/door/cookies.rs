//! What a cookie opens, and for which pages. A browser sends it with whatever any page asks for.

use samovar_locale::request;
use samovar_model_server::{Gate, Rule, say};
use samovar_server::route::{self, Scope, Verb};
use samovar_testkit::{Api, App, AppBuilder, Socket, SocketMessage};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::logins::{cookie, log_in, of_own_page, with_cookie};
use super::{STATS, ending};
use crate::raw::{HANG, Request};

/// A page of another origin that the configuration allows.
const PAGE: &str = "http://localhost:5173";

async fn app() -> App {
    let builder = AppBuilder::new().with(|config| config.origins = vec![PAGE.parse().unwrap()]);
    builder.start(Vec::<Rule>::new()).await
}

async fn state(app: &App) -> Vec<Value> {
    let mut state = Vec::new();
    for path in [STATS, "/api/tokens", "/api/agents", "/api/tools"] {
        state.push(app.get(path).await.body);
    }
    state
}

/// What a browser says of who sends a request.
fn said(request: Request, headers: &[(&str, &str)]) -> Request {
    headers
        .iter()
        .fold(request, |request, (name, value)| request.with(name, value))
}

const NAVIGATE: (&str, &str) = ("sec-fetch-mode", "navigate");
const NO_CORS: (&str, &str) = ("sec-fetch-mode", "no-cors");

// proves TL-11, TL-12
#[tokio::test]
async fn with_a_cookie_only_the_servers_own_page_changes_something() {
    let app = app().await;
    let cookie = cookie(&app, json!({})).await;
    let (own, other) = (
        format!("http://{}", app.address()),
        format!("http://localhost:{}", app.address().port()),
    );
    let before = state(&app).await;
    let mut tried = 0;
    for route in route::table() {
        let acting = |verb: &&Verb| **verb != Verb::Get && route.scope != Scope::Public;
        for verb in route.verbs.iter().filter(acting) {
            for (headers, status) in [
                (&[][..], 403),
                (&[("sec-fetch-site", "none"), NAVIGATE], 403),
                (&[("sec-fetch-site", "cross-site"), NAVIGATE], 403),
                (&[("sec-fetch-site", "same-site")], 403),
                (&[("origin", "http://evil.example")], 403),
                (&[("origin", "null")], 403),
                // Another name of this server is another origin.
                (&[("origin", &*other)], 403),
                (&[("origin", &own), ("origin", &own)], 403),
                (
                    &[("sec-fetch-site", "same-origin"), ("origin", &*other)],
                    403,
                ),
                (&[("origin", PAGE), ("sec-fetch-site", "same-site")], 401),
                (&[("origin", PAGE), ("sec-fetch-site", "same-origin")], 401),
            ] {
                let request = with_cookie(&app, verb.as_str(), &route.path, &cookie);
                let refused = said(request, headers).send().await;
                let code = if status == 403 {
                    "origin_refused"
                } else {
                    "unauthorized"
                };
                let what = format!("{} {} {headers:?}", verb.as_str(), route.path);
                let got = (refused.status, refused.code());
                assert_eq!(got, (status, code.to_owned()), "{what}");
                assert_eq!(refused.header("access-control-allow-credentials"), None);
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
    assert_eq!(state(&app).await, before);
    for headers in [
        &[("sec-fetch-site", "same-origin")][..],
        &[("origin", &*own)],
        &[("origin", &*own), ("sec-fetch-site", "same-origin")],
    ] {
        let request = with_cookie(&app, "POST", STATS, &cookie);
        let answer = said(request, headers).send().await;
        assert_eq!(answer.status, 200, "{headers:?}: {}", answer.body);
    }
}

// proves TL-11, TL-12
#[tokio::test]
async fn with_a_cookie_the_servers_page_and_the_person_read_and_other_pages_do_not() {
    let app = app().await;
    let cookie = cookie(&app, json!({})).await;
    let own = format!("http://{}", app.address());
    for (headers, status) in [
        (&[("sec-fetch-site", "same-origin")][..], 200),
        (&[("sec-fetch-site", "none"), NAVIGATE], 200),
        (&[("origin", &*own)], 200),
        (&[], 200),
        (
            &[
                ("sec-fetch-site", "cross-site"),
                NO_CORS,
                ("sec-fetch-dest", "image"),
            ],
            403,
        ),
        (
            &[
                ("sec-fetch-site", "same-site"),
                NO_CORS,
                ("sec-fetch-dest", "image"),
            ],
            403,
        ),
        (
            &[
                ("sec-fetch-site", "cross-site"),
                NAVIGATE,
                ("sec-fetch-dest", "document"),
            ],
            403,
        ),
        (&[("origin", "http://evil.example")], 403),
        (&[("origin", PAGE), ("sec-fetch-site", "same-site")], 401),
    ] {
        for verb in ["GET", "HEAD"] {
            let request = with_cookie(&app, verb, STATS, &cookie);
            let answer = said(request, headers).send().await;
            assert_eq!(answer.status, status, "{verb} {headers:?}: {}", answer.body);
            assert_eq!(answer.header("access-control-allow-credentials"), None);
        }
    }
}

// proves TL-11, TL-12
#[tokio::test]
async fn a_form_is_not_taken_from_the_servers_own_page_either() {
    let app = app().await;
    let cookie = cookie(&app, json!({})).await;
    for kind in [
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data",
    ] {
        for (path, cookie) in [(STATS, cookie.as_str()), ("/api/login", "a=b")] {
            let form = |request: Request| request.set("content-type", kind);
            let own = form(of_own_page(&app, "POST", path, cookie)).send().await;
            assert_eq!(own.status, 415, "{kind} {path}");
            let foreign = form(with_cookie(&app, "POST", path, cookie));
            let foreign = foreign.with("sec-fetch-site", "cross-site").send().await;
            assert_eq!((foreign.status, &*foreign.code()), (403, "origin_refused"));
        }
    }
}

// proves TL-11, TL-12
#[tokio::test]
async fn a_preflight_allows_no_cookie_and_no_other_page_logs_a_browser_in() {
    let app = app().await;
    let cookie = cookie(&app, json!({})).await;
    let asks = with_cookie(&app, "OPTIONS", "/api/login", &cookie)
        .with("origin", PAGE)
        .with("access-control-request-method", "POST");
    let answer = asks.send().await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let code = super::logins::code(&app, json!({})).await;
    for origin in [PAGE, "http://evil.example", "null"] {
        let refused = log_in(&app, &code).with("origin", origin).send().await;
        assert_eq!((refused.status, &*refused.code()), (403, "origin_refused"));
        assert_eq!(refused.header("set-cookie"), None);
    }
    assert_eq!(
        log_in(&app, &code).send().await.status,
        200,
        "nobody used it"
    );
}

// proves TL-11
#[tokio::test]
async fn the_cookie_of_another_server_is_none_and_a_wrong_one_is_told_apart() {
    let app = app().await;
    let good = cookie(&app, json!({})).await;
    let (name, token) = good.split_once('=').unwrap();
    let (none, over) = (request::no_token(), request::login_over());
    let id = name.strip_prefix("samovar_").unwrap();
    for (cookie, status, why) in [
        ("samovar_0123456789abcdef=x".to_owned(), 401, none),
        (format!("samovar_0123456789abcdef=x; {good}"), 200, ""),
        (format!("{name}=wrong; {good}"), 200, ""),
        (format!("{name}=wrong"), 401, over),
        (format!("{name}="), 401, over),
        (format!("{name}={}", &token[1..]), 401, over),
        (format!("{name}={}", token.to_uppercase()), 401, over),
        (format!("__Host-{good}"), 401, none),
        (format!("SAMOVAR_{id}={token}"), 401, none),
        (format!("x{good}"), 401, none),
    ] {
        let answer = of_own_page(&app, "GET", STATS, &cookie).send().await;
        assert_eq!(answer.status, status, "{cookie}");
        if status != 200 {
            assert_eq!(answer.why(), why, "{cookie}");
        }
    }
    // A request that brings a token is judged by it.
    let both = Request::new(&app, "POST", STATS).with("cookie", &good);
    assert_eq!(both.send().await.status, 200);
    let wrong = of_own_page(&app, "POST", STATS, &good).with("authorization", "Bearer wrong");
    let wrong = wrong.send().await;
    assert_eq!((wrong.status, wrong.why()), (401, none.to_owned()));
}

// proves TL-11, TL-12
#[tokio::test]
async fn a_socket_with_a_cookie_is_opened_by_the_servers_own_page_alone() {
    let app = app().await;
    let cookie = cookie(&app, json!({})).await;
    let own = format!("http://{}", app.address());
    for (path, is_one) in [("/agent/ws", true), ("/chat/stream", true), (STATS, false)] {
        for (headers, status) in [
            (&[("origin", &*own)][..], 101),
            (&[("sec-fetch-site", "same-origin"), ("origin", &own)], 101),
            (&[], 403),
            (&[("sec-fetch-site", "none")], 403),
            (&[("origin", "http://evil.example")], 403),
            (&[("origin", "null")], 403),
            (&[("origin", PAGE), ("sec-fetch-site", "same-site")], 401),
        ] {
            let headers = [&[("cookie", &*cookie)], headers].concat();
            let opened = Socket::with(app.address(), &headers, path);
            let got = timeout(HANG, opened).await.unwrap().err().unwrap_or(101);
            let status = if status == 101 && !is_one {
                200
            } else {
                status
            };
            assert_eq!(got, status, "{path} {headers:?}");
        }
    }
}

// proves TL-11, UI-15
#[tokio::test]
async fn all_streams_take_a_cookie_and_end_with_its_login() {
    let gate = Gate::new("answer");
    let app = App::start([say("first and last").deltas_of(5).hold_after(1, &gate)]).await;
    let cookie = cookie(&app, json!({"scope": "use"})).await;
    let browser = Api::with_cookie(&app.address().to_string(), &cookie);
    let session = browser.session().await;
    let message = json!({"sessionId": session, "content": "go"});
    let mut streams = vec![browser.stream(message).await];
    streams[0].until("text_delta").await;
    for path in [
        format!("/services/agent/sendMessage/stream?sessionId={session}"),
        format!("/api/sessions/{session}/events"),
        "/api/events".to_owned(),
        format!("/api/chat/{session}/stream"),
        "/chat/stream".to_owned(),
    ] {
        streams.push(browser.follow(&path).await);
    }
    let mut socket = browser.socket("/chat/stream").await;

    let revoke = app.request(reqwest::Method::DELETE, "/api/tokens/browser");
    assert_eq!(app.answer(revoke).await.status, 200);

    for stream in &mut streams {
        let rest = timeout(HANG, stream.rest()).await.unwrap();
        assert!(
            !rest.iter().any(samovar_testkit::Frame::is_done),
            "{rest:?}"
        );
    }
    let told = SocketMessage::Close(1008, "unauthorized".to_owned());
    assert_eq!(timeout(HANG, socket.end()).await.unwrap(), told);
    assert_eq!(browser.get(STATS).await.status, 401);
    app.model.open(&gate).unwrap();
}

// proves TL-11
#[tokio::test]
async fn a_cookie_is_let_into_the_routes_of_its_scope_and_into_no_other() {
    let app = app().await;
    for (name, scope) in [
        ("read", Scope::Read),
        ("approve", Scope::Approve),
        ("use", Scope::Use),
    ] {
        let cookie = cookie(&app, json!({"scope": name})).await;
        for route in route::table() {
            // That would end it.
            if route.path == "/api/logout" {
                continue;
            }
            for verb in route.verbs {
                let path = ending(&route.path);
                let answer = of_own_page(&app, verb.as_str(), &path, &cookie)
                    .send()
                    .await;
                let what = format!("{name}: {} {}: {}", verb.as_str(), route.path, answer.body);
                assert_eq!(answer.status == 403, !scope.covers(route.scope), "{what}");
                assert_ne!(answer.status, 401, "{what}");
            }
        }
    }
}
