//! Where it follows.

use samovar_egress::{Client, HeaderMap, HeaderValue, MAX_REDIRECTS, Method, Problem, header};

use crate::desk::{Desk, ask, get, on_to, say};

// proves TL-9
#[tokio::test]
async fn each_redirect_is_checked_anew() {
    let hidden = Desk::open([say("200 OK", "", b"hidden")]).await;
    for location in [
        hidden.url("/"),
        hidden.url("/").replace("http:", ""),
        format!("http://localhost:{}/", hidden.address.port()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://[::1]/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://me:pw@127.0.0.1/".to_owned(),
        format!("http://8.8.8.8/{}", "a".repeat(3_000)),
    ] {
        let desk = Desk::open([on_to(302, &location)]).await;
        let client = Client::new(vec![desk.range()]);

        let failure = get(&client, &desk.url("/")).await.unwrap_err();

        assert!(
            matches!(
                failure.problem,
                Problem::NotPublic { .. } | Problem::Target(_)
            ),
            "{location}: {failure}"
        );
        assert!(!failure.was_sent, "{location}");
    }
    assert!(hidden.asked().is_empty());
}

// proves TL-9
#[tokio::test]
async fn five_redirects_are_followed_and_a_sixth_is_not() {
    let hops = (0..MAX_REDIRECTS).map(|hop| on_to(301, &format!("/{hop}")));
    let desk = Desk::open(hops.chain([say("200 OK", "", b"there")])).await;
    let client = Client::new(vec![desk.range()]);
    let answer = get(&client, &desk.url("/")).await.unwrap();
    assert_eq!(answer.body, b"there");
    assert!(answer.target.expose().ends_with("/4"));

    let desk = Desk::open([on_to(308, "/again")]).await;
    let client = Client::new(vec![desk.range()]);
    let failure = get(&client, &desk.url("/")).await.unwrap_err();
    assert!(
        matches!(failure.problem, Problem::Redirects(_)),
        "{failure}"
    );
    assert_eq!(desk.asked().len(), MAX_REDIRECTS + 1);
}

// proves TL-9
#[tokio::test]
async fn what_may_be_a_credential_stays_with_the_origin_that_it_was_meant_for() {
    let other = Desk::open([say("200 OK", "", b"other")]).await;
    let desk = Desk::open([on_to(307, "/here"), on_to(307, &other.url("/"))]).await;
    let client = Client::new(vec![desk.range(), other.range()]);
    let mut headers = HeaderMap::new();
    for name in ["authorization", "cookie", "x-api-key"] {
        headers.insert(name, HeaderValue::from_static("s3cret"));
    }
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/plain"));

    let answer = ask(&client, Method::POST, &desk.url("/"), headers)
        .await
        .unwrap();

    assert_eq!(answer.body, b"other");
    for asked in desk.asked() {
        assert_eq!(asked.matches("s3cret").count(), 3, "{asked}");
    }
    let asked = other.asked().remove(0);
    assert!(!asked.contains("s3cret"), "{asked}");
    assert!(asked.contains("accept: text/plain"), "{asked}");
    assert!(
        asked.starts_with("POST / ") && asked.ends_with("the body"),
        "{asked}"
    );
}

// proves TL-9
#[tokio::test]
async fn a_post_is_never_made_a_get() {
    for status in [301, 302, 303] {
        let desk = Desk::open([on_to(status, "/elsewhere")]).await;
        let client = Client::new(vec![desk.range()]);

        let answer = ask(&client, Method::POST, &desk.url("/"), HeaderMap::new()).await;

        assert_eq!(answer.unwrap().status.as_u16(), status);
        assert_eq!(desk.asked().len(), 1);
    }
}
