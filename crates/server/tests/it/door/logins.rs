//! How browsers log in and out, and what ends a login.

use reqwest::Method;
use samovar_locale::{login, request};
use samovar_model_server::Rule;
use samovar_testkit::{Api, App, AppBuilder};
use serde_json::{Value, json};

use super::named::{client, make};
use super::{STATS, app};
use crate::raw::{Request, Response};

const ME: &str = "/api/me";

/// The code of a new login link.
pub(super) async fn code(api: &Api, params: Value) -> String {
    let request = api.request(Method::POST, "/api/login-links").json(&params);
    let made = api.answer(request).await;
    assert_eq!(made.status, 200, "{}", made.body);
    assert_eq!(made.body["expiresInMs"], 600_000);
    made.body["code"].as_str().unwrap().to_owned()
}

/// A login as the page sends it.
pub(super) fn log_in(app: &App, code: &str) -> Request {
    let request = Request::new(app, "POST", "/api/login").without("authorization");
    let request = request.json(json!({"code": code}).to_string());
    request.with("sec-fetch-site", "same-origin")
}

/// What a browser sends back after an answer, `name=value`.
pub(super) fn kept(answer: &Response) -> String {
    let set = answer.header("set-cookie").unwrap();
    set.split(';').next().unwrap().to_owned()
}

/// A browser that is logged in: its cookie.
pub(super) async fn cookie(app: &App, params: Value) -> String {
    let code = code(app, params).await;
    let answer = log_in(app, &code).send().await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    kept(&answer)
}

/// A request that brings this cookie in place of a token.
pub(super) fn with_cookie(app: &App, verb: &str, path: &str, cookie: &str) -> Request {
    let request = Request::new(app, verb, path).without("authorization");
    request.with("cookie", cookie)
}

/// The same as the server's own page sends it.
pub(super) fn of_own_page(app: &App, verb: &str, path: &str, cookie: &str) -> Request {
    with_cookie(app, verb, path, cookie).with("sec-fetch-site", "same-origin")
}

async fn names(app: &App) -> Vec<String> {
    let listed = app.get("/api/tokens").await.body;
    let listed = listed.as_array().unwrap().iter();
    let names = listed.map(|token| token["name"].as_str().unwrap().to_owned());
    names.collect()
}

async fn revoke(app: &App, name: &str) {
    let request = app.request(Method::DELETE, &format!("/api/tokens/{name}"));
    assert_eq!(app.answer(request).await.status, 200);
}

// proves TL-11
#[tokio::test]
async fn a_login_is_a_token_that_is_listed_kept_as_a_hash_and_revoked() {
    let app = app().await;
    let request = app
        .request(Method::POST, "/api/login-links")
        .json(&json!({}));
    let made = app.answer(request).await.body;
    let code = made["code"].as_str().unwrap();
    let url = format!("http://{}/#login={code}", app.address());
    assert_eq!(made["url"], url);

    let answer = log_in(&app, code).send().await;
    let me = answer.json();
    let id = me["serverId"].as_str().unwrap();
    let workspace = app.config().workspace.display().to_string();
    let expected = json!({
        "name": "browser", "scope": "admin", "by": "cookie", "serverId": id,
        "version": env!("CARGO_PKG_VERSION"), "workspace": workspace,
    });
    assert_eq!(me, expected);
    let set = answer.header("set-cookie").unwrap();
    let (cookie, attributes) = set.split_once("; ").unwrap();
    assert_eq!(
        attributes,
        "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"
    );
    let (name, token) = cookie.split_once('=').unwrap();
    assert_eq!((name, token.len()), (&*format!("samovar_{id}"), 64));
    let kept = std::fs::read_to_string(app.data_dir().join("tokens.json")).unwrap();
    assert!(!kept.contains(token), "{kept}");
    assert!(
        !answer.body.contains(token),
        "no script of the page sees it"
    );

    let seen = of_own_page(&app, "GET", ME, cookie).send().await;
    assert_eq!((seen.status, seen.json()), (200, expected));
    let listed = app.get("/api/tokens").await.body;
    assert_eq!(listed[0]["name"], "browser");
    let life = listed[0]["expiresAt"].as_i64().unwrap() - listed[0]["createdAt"].as_i64().unwrap();
    assert_eq!(life, 2_592_000_000);

    // It outlives the server.
    let (app, cookie) = (app.restart().await, cookie.to_owned());
    let seen = of_own_page(&app, "POST", STATS, &cookie).send().await;
    assert_eq!(seen.status, 200, "{}", seen.body);
    revoke(&app, "browser").await;
    let over = of_own_page(&app, "GET", ME, &cookie).send().await;
    assert_eq!((over.status, &*over.code()), (401, "unauthorized"));
    assert_eq!(over.why(), request::login_over());

    let audit = app.get("/api/audit?limit=500").await.body;
    let events = audit["items"].as_array().unwrap().iter();
    let about = events.filter(|event| event["about"] == "browser");
    let about: Vec<_> = about
        .map(|event| (&event["event"], &event["who"]))
        .collect();
    let of_owner = |event: &str| (json!(event), json!("owner"));
    let (made, ended) = (of_owner("token_made"), of_owner("token_revoked"));
    assert_eq!(about, [(&made.0, &made.1), (&ended.0, &ended.1)]);
}

// proves TL-11
#[tokio::test]
async fn a_login_has_the_scope_of_its_link_and_a_name_of_its_own() {
    let app = app().await;
    for (params, name, scope, status) in [
        (json!({}), "browser", "admin", 200),
        (json!({"scope": "read"}), "browser-2", "read", 403),
        (
            json!({"name": "phone", "scope": "use"}),
            "phone",
            "use",
            403,
        ),
        (json!({"name": "phone"}), "phone-2", "admin", 200),
        (json!({"name": "owner"}), "owner-2", "admin", 200),
        (
            json!({"name": "f".repeat(64), "scope": "approve"}),
            &"f".repeat(64),
            "approve",
            403,
        ),
        (
            json!({"name": "f".repeat(64), "scope": "relay:a:host"}),
            &*format!("{}-2", "f".repeat(62)),
            "relay:a:host",
            403,
        ),
    ] {
        let cookie = cookie(&app, params).await;
        let me = of_own_page(&app, "GET", ME, &cookie).send().await.json();
        assert_eq!((&me["name"], &me["scope"]), (&json!(name), &json!(scope)));
        assert_eq!(me["workspace"].is_null(), scope.starts_with("relay"));
        let tokens = of_own_page(&app, "GET", "/api/tokens", &cookie);
        assert_eq!(tokens.send().await.status, status, "{scope}");
    }
    for scope in ["read", "approve", "use"] {
        let guest = client(&app, scope).await;
        let request = guest.request(Method::POST, "/api/login-links");
        let refused = guest.answer(request.json(&json!({}))).await;
        assert_eq!((refused.status, refused.code()), (403, "forbidden"));
    }
}

// proves TL-11, FC-6
#[tokio::test]
async fn a_refused_code_says_why_and_what_to_do() {
    let app = app().await;
    let used = code(&app, json!({})).await;
    assert_eq!(log_in(&app, &used).send().await.status, 200);
    for (code, status, name, why) in [
        (&*used, 410, "login_used", login::used()),
        ("nothing", 404, "unknown_login", login::unknown()),
        ("", 404, "unknown_login", login::unknown()),
        (&used[1..], 404, "unknown_login", login::unknown()),
        (&used.to_uppercase(), 404, "unknown_login", login::unknown()),
    ] {
        let refused = log_in(&app, code).send().await;
        assert_eq!((refused.status, &*refused.code()), (status, name), "{code}");
        assert_eq!(refused.why(), why);
        assert!(why.contains("samovar open"), "{why}");
        assert_eq!(refused.header("set-cookie"), None);
    }
    let audit = app.get("/api/audit?limit=500").await.body;
    let failed = audit["items"].as_array().unwrap().iter();
    let failed = failed.filter(|event| event["event"] == "logins_failed");
    let counted = failed.map(|event| event["about"].as_str().unwrap().parse::<u64>().unwrap());
    assert_eq!(counted.sum::<u64>(), 5);
}

// proves TL-11
#[tokio::test]
async fn of_two_who_open_a_link_at_once_one_is_let_in() {
    let app = app().await;
    for _ in 0..4 {
        let code = code(&app, json!({})).await;
        let (one, other) = (log_in(&app, &code), log_in(&app, &code));
        let (one, other) = tokio::join!(one.send(), other.send());
        let mut answers = [one, other].map(|answer| (answer.status, answer.code()));
        answers.sort();
        let used = (410, "login_used".to_owned());
        assert_eq!(answers, [(200, String::new()), used]);
    }
    assert_eq!(names(&app).await.len(), 4);
}

// proves TL-11
#[tokio::test]
async fn a_new_login_replaces_that_of_the_same_browser_and_many_end_the_oldest() {
    let app = app().await;
    make(&app, "script", "read").await;
    let first = cookie(&app, json!({})).await;
    let code = code(&app, json!({})).await;
    let again = log_in(&app, &code).with("cookie", &first).send().await;
    let second = kept(&again);
    assert_eq!(names(&app).await, ["script", "browser"]);
    let over = of_own_page(&app, "GET", ME, &first).send().await;
    assert_eq!(over.status, 401);

    for _ in 0..15 {
        cookie(&app, json!({})).await;
    }
    let seen = of_own_page(&app, "GET", ME, &second).send().await;
    assert_eq!(seen.status, 200, "there are sixteen");
    cookie(&app, json!({})).await;
    let over = of_own_page(&app, "GET", ME, &second).send().await;
    assert_eq!(over.status, 401);
    let names = names(&app).await;
    assert_eq!((names.len(), &*names[0]), (17, "script"));
}

// proves TL-11
#[tokio::test]
async fn a_login_that_is_too_old_counts_no_more() {
    let app = app().await;
    let cookie = cookie(&app, json!({})).await;
    let mut app = app;
    app.stop_now().await;
    let path = app.data_dir().join("tokens.json");
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    kept[0]["expires_at"] = json!(1_000);
    std::fs::write(&path, kept.to_string()).unwrap();
    let app = app.restart().await;
    let over = of_own_page(&app, "GET", ME, &cookie).send().await;
    assert_eq!(
        (over.status, over.why()),
        (401, request::login_over().into())
    );
    assert_eq!(names(&app).await, [""; 0]);
}

// proves TL-11
#[tokio::test]
async fn a_browser_logs_out_and_a_program_cannot() {
    let app = app().await;
    let cookie = cookie(&app, json!({"scope": "read"})).await;
    let elsewhere = with_cookie(&app, "POST", "/api/logout", &cookie);
    assert_eq!(elsewhere.send().await.code(), "origin_refused");
    let gone = of_own_page(&app, "POST", "/api/logout", &cookie)
        .send()
        .await;
    assert_eq!((gone.status, &*gone.body), (200, "null"));
    let name = cookie.split_once('=').unwrap().0;
    let cleared = format!("{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    assert_eq!(gone.header("set-cookie"), Some(&*cleared));
    assert_eq!(names(&app).await, [""; 0]);
    let over = of_own_page(&app, "GET", ME, &cookie).send().await;
    assert_eq!(over.status, 401);
    let program = Request::new(&app, "POST", "/api/logout").send().await;
    assert_eq!((program.status, &*program.code()), (400, "invalid_params"));
}

// proves TL-11
#[tokio::test]
async fn over_tls_the_cookie_is_bound_to_its_host_and_to_tls() {
    let builder = AppBuilder::new().with(|config| {
        config.server.behind_proxy = true;
        config.hosts = vec!["samovar.example".parse().unwrap()];
    });
    let app = builder.start(Vec::<Rule>::new()).await;
    let link = app.server().login_link().unwrap();
    let code = link
        .strip_prefix("https://samovar.example/#login=")
        .unwrap();
    let login = log_in(&app, code).set("host", "samovar.example");
    let answer = login.send().await;
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-samovar_"), "{set}");
    assert!(
        set.ends_with("; HttpOnly; SameSite=Strict; Secure"),
        "{set}"
    );
    let cookie = kept(&answer);
    let plain = cookie.strip_prefix("__Host-").unwrap();
    let own = "https://samovar.example";
    for (cookie, host, origin, status) in [
        (&*cookie, "samovar.example", own, 200),
        (&cookie, "samovar.example", "http://samovar.example", 403),
        (plain, "samovar.example", own, 401),
        (&cookie, "", "", 401),
        (plain, "", "", 200),
    ] {
        let mut request = of_own_page(&app, "POST", STATS, cookie);
        if !host.is_empty() {
            request = request.set("host", host).with("origin", origin);
        }
        assert_eq!(
            request.send().await.status,
            status,
            "{cookie} {host} {origin}"
        );
    }
}
