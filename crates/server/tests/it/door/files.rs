//! The files of the web page, which everybody gets.

use samovar_locale::{login, request, server};
use samovar_model_server::Rule;
use samovar_server::route::{self, Scope};
use samovar_testkit::{App, AppBuilder};
use serde_json::json;

use super::logins::{code, cookie, log_in, of_own_page};
use super::{STATS, app};
use crate::raw::{Request, Response};

fn files() -> Vec<String> {
    let public = route::table().into_iter();
    let public = public.filter(|route| route.scope == Scope::Public);
    let paths = public.map(|route| route.path);
    paths
        .filter(|path| path == "/" || path.starts_with("/ui/"))
        .collect()
}

fn stranger(app: &App, verb: &str, path: &str) -> Request {
    Request::new(app, verb, path).without("authorization")
}

fn is_sealed(response: &Response) {
    let policy = response.header("content-security-policy").unwrap();
    let policy: Vec<_> = policy.split("; ").collect();
    let expected = [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ];
    assert_eq!(policy, expected);
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-cache"),
    ] {
        assert_eq!(response.header(name), Some(value));
    }
}

// proves TL-11, TL-12
#[tokio::test]
async fn the_files_of_the_page_need_no_token_and_are_not_sent_twice() {
    let app = app().await;
    let paths = files();
    for path in ["/", "/ui/page.js", "/ui/style.css"] {
        assert!(paths.iter().any(|other| other == path), "{path}");
    }
    for path in paths {
        let whole = stranger(&app, "GET", &path).send().await;
        assert_eq!(whole.status, 200, "{path}");
        is_sealed(&whole);
        let kind = whole.header("content-type").unwrap();
        match path.rsplit_once('.') {
            None => assert_eq!(kind, "text/html; charset=utf-8"),
            Some((_, "js")) => assert_eq!(kind, "text/javascript; charset=utf-8"),
            Some((_, "css")) => assert_eq!(kind, "text/css; charset=utf-8"),
            Some(_) => assert_ne!(kind, "application/octet-stream", "{path}"),
        }
        let length = whole.header("content-length").unwrap().to_owned();
        assert_eq!(length, whole.body.len().to_string(), "{path}");
        let head = stranger(&app, "HEAD", &path).send().await;
        assert_eq!((head.status, &*head.body), (200, ""), "{path}");
        assert_eq!(head.header("content-length"), Some(&*length), "{path}");

        let tag = whole.header("etag").unwrap();
        for (known, status) in [
            (tag.to_owned(), 304),
            (format!("W/{tag}"), 304),
            (format!("\"x\", {tag}"), 304),
            ("\"x\"".to_owned(), 200),
            (tag.trim_matches('"').to_owned(), 200),
        ] {
            for verb in ["GET", "HEAD"] {
                let again = stranger(&app, verb, &path).with("if-none-match", &known);
                let again = again.send().await;
                assert_eq!(again.status, status, "{verb} {path} {known}");
                assert_eq!(again.header("etag"), Some(tag));
                let has_body = status == 200 && verb == "GET";
                assert_eq!(again.body.is_empty(), !has_body, "{verb} {path}");
                is_sealed(&again);
            }
        }
    }
}

// proves TL-11
#[tokio::test]
async fn the_files_say_the_same_to_everybody_on_every_server() {
    let (one, other) = (app().await, app().await);
    let cookie = cookie(&one, json!({})).await;
    for path in files() {
        let first = stranger(&one, "GET", &path).send().await.body;
        let logged_in = of_own_page(&one, "GET", &path, &cookie).send().await.body;
        let second = Request::new(&other, "GET", &path).send().await.body;
        assert_eq!((&first, &first), (&logged_in, &second), "{path}");
        let post = Request::new(&one, "POST", &path).send().await;
        assert_eq!((post.status, &*post.code()), (405, "wrong_verb"), "{path}");
    }
    for path in [
        "/ui",
        "/ui/",
        "/ui/nothing.js",
        "/ui/../ui/page.js",
        "/ui/%70age.js",
    ] {
        let missing = stranger(&one, "GET", path).send().await;
        assert_eq!(missing.status, 401, "{path}");
    }
}

// proves TL-12
#[tokio::test]
async fn a_link_leads_to_the_page_and_no_other_page_shows_or_loads_it() {
    let app = app().await;
    for (path, mode, dest, status) in [
        ("/", "navigate", "document", 200),
        ("/", "navigate", "iframe", 403),
        ("/", "no-cors", "script", 403),
        ("/ui/page.js", "navigate", "document", 403),
        ("/ui/page.js", "no-cors", "script", 403),
        ("/ui/style.css", "no-cors", "style", 403),
    ] {
        for site in ["cross-site", "same-site"] {
            let asked = stranger(&app, "GET", path).with("sec-fetch-site", site);
            let asked = asked
                .with("sec-fetch-mode", mode)
                .with("sec-fetch-dest", dest);
            assert_eq!(asked.send().await.status, status, "{path} {mode} {dest}");
        }
    }
    let rebound = stranger(&app, "GET", "/").set("host", "evil.example");
    assert_eq!(rebound.send().await.code(), "host_refused");
}

// proves TL-11, FC-1
#[tokio::test]
async fn without_its_page_a_server_says_so_and_no_browser_logs_in() {
    let app = app().await;
    let (cookie, waiting) = (cookie(&app, json!({})).await, code(&app, json!({})).await);
    let app = app.restart_with(|config| config.page = false).await;
    let page = stranger(&app, "GET", "/").send().await;
    assert_eq!(page.status, 404);
    assert!(page.body.ends_with(server::page_off()), "{}", page.body);
    is_sealed(&page);
    for path in ["/ui/page.js", "/ui/style.css"] {
        assert_eq!(stranger(&app, "GET", path).send().await.status, 401);
        let missing = Request::new(&app, "GET", path).send().await;
        assert_eq!((missing.status, &*missing.code()), (404, "unknown_method"));
    }
    for request in [
        log_in(&app, &waiting),
        Request::new(&app, "POST", "/api/login-links"),
    ] {
        let refused = request.send().await;
        assert_eq!((refused.status, &*refused.code()), (404, "page_off"));
        assert_eq!(refused.why(), login::page_off());
    }
    let refused = of_own_page(&app, "GET", STATS, &cookie).send().await;
    assert_eq!(
        (refused.status, refused.why()),
        (401, request::no_token().into())
    );
    let info = app.get("/api/server").await.body;
    assert_eq!(info["page"], false);
    let builder = AppBuilder::new().start(Vec::<Rule>::new()).await;
    assert_eq!(builder.get("/api/server").await.body["page"], true);
}
