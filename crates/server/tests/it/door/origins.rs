//! What other pages and other machines cannot do.

use std::net::{IpAddr, Ipv4Addr};

use samovar_model_server::say;
use samovar_server::{Address, Config, Lack, Server, StartError, Token};
use samovar_testkit::App;
use serde_json::json;

use super::STATS;
use crate::raw::Request;

const TOKEN: &str = "the-token-of-an-operator";

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
        (config.server.host, config.server.port) = (host, 0);
        config.token = token.and_then(Token::new);
        config.server.behind_proxy = behind_proxy;
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
    (config.server.host, config.server.port) = (mapped.into(), 0);
    (config.token, config.server.behind_proxy) = (Token::new(TOKEN), true);
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
