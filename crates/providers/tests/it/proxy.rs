//! Models behind a proxy, which sees the requests, and models that must not be asked through one.

use samovar_core::ProviderEvent;
use samovar_core::error::FaultCode;
use samovar_doubles::talk::user;
use samovar_providers::{Proxy, ProxyConfig, ProxySetting};

use crate::asking::{ask, config, prompt, registry_of, summary};
use crate::local::{Local, response};

const FAR: &str = "http://model.example/v1";
const FAR_BY_TLS: &str = "https://model.example/v1";

const HELLO: &str = "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"hello\"},\
                     \"finish_reason\":\"stop\"}]}";

/// Asks a model at an address, with this proxy for everything that is elsewhere.
async fn asked(base: &str, proxy: &str) -> Vec<ProviderEvent> {
    let setting = ProxySetting {
        origin: "ALL_PROXY".to_owned(),
        proxy: Proxy::parse(proxy),
    };
    let mut config = config(base);
    config.proxies = ProxyConfig {
        http: Some(setting.clone()),
        https: Some(setting),
        ..ProxyConfig::default()
    };
    ask(&registry_of(config), prompt("gpt-test", vec![user("hi")])).await
}

/// The address of a proxy, with a user.
fn with_user(proxy: &Local) -> String {
    let address = proxy.base.replace("http://", "http://me:a%40pass@");
    address.replace("/v1", "")
}

/// The beginnings of the lines that a proxy was sent: the request's own, and what is for the proxy.
fn head(proxy: &Local) -> Vec<String> {
    let requests = proxy.asked();
    let lines = requests.iter().flat_map(|request| request.lines());
    let is_told = |line: &&str| {
        ["POST ", "CONNECT ", "proxy-"]
            .iter()
            .any(|start| line.to_lowercase().starts_with(&start.to_lowercase()))
    };
    lines.filter(is_told).map(str::to_owned).collect()
}

// proves MD-5
#[tokio::test]
async fn a_model_elsewhere_is_asked_through_the_proxy_with_its_user() {
    let proxy = Local::json(HELLO);
    let answer = asked(FAR, &with_user(&proxy)).await;
    assert_eq!(summary(&answer), "|hello|stop");
    let sent = head(&proxy);
    assert_eq!(
        sent[0],
        "POST http://model.example/v1/chat/completions HTTP/1.1"
    );
    // me:a@pass
    assert_eq!(
        sent[1].to_lowercase(),
        "proxy-authorization: basic bwu6yubwyxnz"
    );

    let proxy = Local::answering(|_| response("403 Forbidden", "text/html", "<html>"));
    asked(FAR_BY_TLS, &with_user(&proxy)).await;
    let sent = head(&proxy);
    assert_eq!(sent[0], "CONNECT model.example:443 HTTP/1.1");
    assert_eq!(
        sent[1].to_lowercase(),
        "proxy-authorization: basic bwu6yubwyxnz"
    );
    assert!(
        !proxy.asked()[0].contains("sk-"),
        "the key is for the model"
    );
}

// proves MD-5
#[tokio::test]
async fn a_model_of_this_machine_is_never_asked_through_the_proxy() {
    let proxy = Local::json(HELLO);
    let model = Local::json(HELLO);
    let by_name = model.base.replace("127.0.0.1", "localhost");
    for base in [&model.base, &by_name] {
        let answer = asked(base, &proxy.base).await;
        assert_eq!(summary(&answer), "|hello|stop");
    }
    assert_eq!((proxy.asked().len(), model.asked().len()), (0, 2));
}

/// What a proxy answers, the address of the model, the code, and a part of the sentence.
type Row<'a> = (Vec<u8>, &'a str, FaultCode, &'a str);

// proves MD-5
#[tokio::test]
async fn a_failure_names_the_proxy_without_its_password() {
    use FaultCode::{BadResponse, ProviderError, ProviderRejected, ProviderUnreachable, StreamCut};
    let page = |status| response(status, "text/html", "<html><h1>Blocked</h1>");
    let moved =
        b"HTTP/1.1 302 Found\r\nlocation: http://login.example/\r\ncontent-length: 0\r\n\r\n";
    let rows: [Row<'_>; 9] = [
        (page("200 OK"), FAR, BadResponse, "a web page"),
        (page("502 Bad Gateway"), FAR, ProviderError, "a web page"),
        (page("508 Loop Detected"), FAR, ProviderError, "508"),
        (
            page("407 Proxy Authentication Required"),
            FAR,
            ProviderRejected,
            "a user name and a password",
        ),
        (moved.to_vec(), FAR, BadResponse, "http://login.example/"),
        (Vec::new(), FAR, StreamCut, "closed the connection"),
        (
            page("407 Proxy Authentication Required"),
            FAR_BY_TLS,
            ProviderRejected,
            "a user name and a password",
        ),
        (
            page("403 Forbidden"),
            FAR_BY_TLS,
            ProviderUnreachable,
            "unsuccessful",
        ),
        (Vec::new(), FAR_BY_TLS, ProviderUnreachable, "end of file"),
    ];
    for (answer, base, wanted, words) in rows {
        let proxy = Local::answering(move |_| answer.clone());
        let events = asked(base, &with_user(&proxy)).await;
        let Some(ProviderEvent::Failed { code, message, .. }) = events.last() else {
            panic!("{events:?}");
        };
        let address = proxy.base.replace("/v1", "");
        let named = format!("; it was asked through the proxy {address}, which ALL_PROXY sets");
        assert_eq!(*code, wanted, "{message}");
        assert!(message.ends_with(&named), "{message}");
        assert!(message.contains(words), "{words}: {message}");
        assert!(!message.contains("pass@"), "{message}");
    }
}

// proves MD-5
#[tokio::test]
async fn a_failure_says_why_a_proxy_was_not_used() {
    let events = asked(
        "http://model.invalid/v1",
        "socks5://me:a-pass@127.0.0.1:1080",
    )
    .await;
    let said = summary(&events);
    let wanted = "; it was asked without a proxy, because that of ALL_PROXY cannot be used: \
                  socks5 proxies are not supported, only http and https";
    assert!(said.ends_with(wanted), "{said}");
}
