//! What other pages and other machines cannot do.

use std::net::{IpAddr, Ipv4Addr};

use samovar_model_server::say;
use samovar_server::route::{self, Scope, Verb};
use samovar_server::{Address, Config, Lack, Server, StartError, Token};
use samovar_testkit::App;
use serde_json::json;

use super::{STATS, app};
use crate::raw::Request;

const TOKEN: &str = "the-token-of-an-operator";

// proves TL-12
#[tokio::test]
async fn a_host_that_is_not_this_server_is_refused() {
    let app = app().await;
    let port = app.address().port();
    let other_port = if port == 65535 { port - 1 } else { port + 1 };
    let good = Request::new(&app, "GET", STATS);
    for host in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        let request = good.clone().set("host", format!("{host}:{port}"));
        assert_eq!(request.send().await.status, 200, "{host}");
    }
    let foreign = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.:{port}"),
        format!("localhost:{port}.evil.example"),
        format!("127.0.0.1:{other_port}"),
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
        String::new(),
        format!("0.0.0.0:{port}"),
        format!("127.0.0.2:{port}"),
    ];
    for host in foreign {
        refused(&good.clone().set("host", &host), "host_refused").await;
    }
    let other = good.clone().set("host", "evil.example").send().await;
    let said = other.json()["error"].as_str().unwrap().to_owned();
    let address = app.address().to_string();
    assert_eq!(said.matches(&address).count(), 1, "{said}");
    for second in [&address, "evil.example"] {
        let two = good.clone().with("host", second).send().await;
        assert_eq!((two.status, two.code().as_str()), (400, "invalid_params"));
    }
    refused(&good.clone().without("host"), "host_refused").await;
    refused(&good.clone().without("host").http_1_0(), "host_refused").await;
    assert_eq!(good.clone().http_1_0().send().await.status, 200);
}

// proves TL-12
#[tokio::test]
async fn the_authority_of_an_absolute_target_counts_as_its_host() {
    let app = app().await;
    let address = app.address();
    let absolute =
        |authority: &str| Request::new(&app, "GET", &format!("http://{authority}{STATS}"));
    let ours = absolute(&address.to_string()).send().await;
    assert_eq!(ours.status, 200);
    // The host header is a good one in all of these.
    for authority in ["evil.example", &format!("x@{address}"), "127.0.0.1"] {
        refused(&absolute(authority), "host_refused").await;
    }
}

// proves TL-12
#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    let app = app().await;
    let port = app.address().port();
    let good = Request::new(&app, "GET", STATS);
    for host in ["127.0.0.1", "localhost"] {
        let own = good.clone().with("origin", format!("http://{host}:{port}"));
        assert_eq!(own.send().await.status, 200, "{host}");
    }
    let foreign = [
        "http://evil.example".to_owned(),
        format!("https://127.0.0.1:{port}"),
        "http://127.0.0.1".to_owned(),
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}.evil.example"),
        "null".to_owned(),
        String::new(),
        "file://".to_owned(),
    ];
    for origin in foreign {
        refused(&good.clone().with("origin", &origin), "origin_refused").await;
    }
    let two = good
        .clone()
        .with("origin", format!("http://127.0.0.1:{port}"))
        .with("origin", "http://evil.example");
    refused(&two, "origin_refused").await;
    for site in ["cross-site", "same-site", "nonsense"] {
        refused(&good.clone().with("sec-fetch-site", site), "origin_refused").await;
    }
    for site in ["same-origin", "none"] {
        let own = good.clone().with("sec-fetch-site", site);
        assert_eq!(own.send().await.status, 200, "{site}");
    }
}

// proves TL-12
#[tokio::test]
async fn hosts_and_origins_are_checked_on_every_route() {
    let app = app().await;
    for route in route::table() {
        for verb in route.verbs {
            let good = Request::new(&app, verb.as_str(), &route.path);
            refused(&good.clone().set("host", "evil.example"), "host_refused").await;
            refused(
                &good.with("origin", "http://evil.example"),
                "origin_refused",
            )
            .await;
        }
    }
}

async fn refused(request: &Request, code: &str) {
    let response = request.send().await;
    let sent = String::from_utf8_lossy(&request.bytes()).into_owned();
    assert_eq!(
        (response.status, response.code().as_str()),
        (403, code),
        "{sent}"
    );
}

// proves TL-12
#[tokio::test]
async fn a_body_must_say_that_it_is_json() {
    let app = app().await;
    for route in route::table() {
        let mut verbs = route.verbs.iter();
        let with_body = verbs.find(|verb| matches!(verb, Verb::Post | Verb::Put));
        let Some(verb) = with_body.filter(|_| route.scope != Scope::Public) else {
            continue;
        };
        let good = Request::new(&app, verb.as_str(), &route.path);
        let not_json = [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonp",
            "text/plain; application/json",
            "",
        ];
        for content_type in not_json {
            let response = good.clone().set("content-type", content_type).send().await;
            let got = (response.status, response.code());
            assert_eq!(
                got,
                (415, "unsupported_media_type".to_owned()),
                "{content_type}"
            );
        }
        let response = good.clone().without("content-type").send().await;
        assert_eq!(response.status, 415, "{}", route.path);
        for content_type in ["application/json; charset=utf-8", "Application/JSON"] {
            let response = good.clone().set("content-type", content_type).send().await;
            assert_ne!(response.status, 415, "{content_type}");
        }
    }
}

// proves TL-12
#[tokio::test]
async fn no_answer_is_sniffed_or_stored_or_shared_with_other_origins() {
    let app = App::start([say("hi")]).await;
    let session = app.session().await;
    let own = format!("http://{}", app.address());
    let message = json!({"sessionId": session, "content": "hello"}).to_string();
    let stream = Request::new(&app, "POST", "/services/agent/sendMessage/stream").json(message);
    let preflight = Request::new(&app, "OPTIONS", STATS)
        .with("access-control-request-method", "POST")
        .with("access-control-request-headers", "authorization");
    let requests = [
        (200, Request::new(&app, "GET", STATS)),
        (200, Request::new(&app, "GET", "/healthz")),
        (200, stream),
        (
            401,
            Request::new(&app, "GET", STATS).without("authorization"),
        ),
        (
            403,
            Request::new(&app, "GET", STATS).set("host", "evil.example"),
        ),
        (404, Request::new(&app, "GET", "/nothing")),
        (405, Request::new(&app, "PUT", STATS)),
        (405, preflight),
    ];
    for (status, request) in requests {
        let response = request.with("origin", &own).send().await;
        assert_eq!(response.status, status);
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        let stored = response.header("cache-control");
        let is_stream = response.header("content-type") == Some("text/event-stream");
        assert_eq!(
            stored,
            Some(if is_stream { "no-cache" } else { "no-store" })
        );
        let mut names = response.headers.iter().map(|(name, _)| name);
        assert!(
            !names.any(|name| name.starts_with("access-control-")),
            "{status}"
        );
    }
}

// proves TL-12
#[tokio::test]
async fn an_address_that_others_can_reach_is_refused_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let any = IpAddr::from(Ipv4Addr::UNSPECIFIED);
    let one = IpAddr::from([192, 0, 2, 1]);
    for (host, token, behind_proxy, missing) in [
        (any, None, true, Lack::Token),
        (one, None, false, Lack::Token),
        (any, Some(TOKEN), false, Lack::Proxy),
        (one, Some(TOKEN), false, Lack::Proxy),
        (any, Some(TOKEN), true, Lack::Hosts),
    ] {
        let data = folder.path().join("data");
        let mut config = Config::new(data.clone(), folder.path().to_owned());
        (config.host, config.port) = (host, 0);
        config.token = token.and_then(Token::new);
        config.behind_proxy = behind_proxy;
        let Err(refusal) = Server::start(config).await else {
            panic!("{host} is listened on");
        };
        assert!(
            matches!(refusal, StartError::Exposed { lack, .. } if lack == missing),
            "{refusal}"
        );
        assert_eq!(refusal.code(), "address_refused");
        assert!(refusal.to_string().contains(&host.to_string()), "{refusal}");
        assert!(!data.exists(), "nothing is made before that");
    }
}

// proves TL-12
#[tokio::test]
async fn behind_a_proxy_the_hosts_count_and_a_loopback_socket_stays_for_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut config = Config::new(data.clone(), folder.path().to_owned());
    // No loopback address by its form, and yet no other machine reaches it.
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    (config.host, config.port) = (mapped.into(), 0);
    (config.token, config.behind_proxy) = (Token::new(TOKEN), true);
    config.hosts = vec!["Samovar.Example".parse().unwrap()];
    let server = Server::start(config).await.unwrap();
    let public = server.address();

    let asked = Request::to(public, TOKEN, "GET", STATS).set("host", "samovar.example");
    assert_eq!(asked.send().await.status, 200);
    let own = asked.clone().with("origin", "https://samovar.example");
    assert_eq!(own.send().await.status, 200);
    refused(
        &asked.clone().with("origin", "http://samovar.example"),
        "origin_refused",
    )
    .await;
    let port = public.port();
    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("samovar.example:{port}"),
        "evil.example".to_owned(),
    ] {
        let other = asked.clone().set("host", host);
        let forwarded = other.with("x-forwarded-host", "samovar.example");
        let forwarded = forwarded.with("forwarded", "host=samovar.example");
        refused(&forwarded, "host_refused").await;
    }
    assert_eq!(asked.without("authorization").send().await.status, 401);

    let owners = Address::read(&data).unwrap();
    assert!(owners.address.ip().is_loopback());
    assert_eq!(owners.url, "https://samovar.example");
    assert!(owners.takes(&Token::new(TOKEN).unwrap()));
    assert!(
        !owners.takes(&owners.token),
        "that is the token of this run"
    );
    let asked = Request::to(owners.address, owners.token.expose(), "GET", STATS);
    assert_eq!(asked.send().await.status, 200);
    server.stop().await;
}
