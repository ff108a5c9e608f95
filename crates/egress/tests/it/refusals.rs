//! Whom it asks, and whom it does not.

use std::time::Duration;

use samovar_egress::{Client, Problem, Target};

use crate::desk::{Desk, Names, get, say};

// proves TL-9
#[tokio::test]
async fn an_address_that_is_not_public_is_never_connected_to_however_it_is_written() {
    let desk = Desk::open([say("200 OK", "", b"hello")]).await;
    let port = desk.address.port();
    let client = Client::new(Vec::new());
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "０x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "0.0.0.0",
        "[::]",
        "localhost",
        "LOCALHOST.",
    ] {
        let failure = get(&client, &format!("http://{host}:{port}/"))
            .await
            .unwrap_err();
        assert!(!failure.was_sent, "{host}");
        let is_refused = matches!(failure.problem, Problem::NotPublic { .. });
        // A machine need not know the name with a dot.
        let is_unknown = matches!(failure.problem, Problem::Unresolved { .. });
        assert!(
            is_refused || (is_unknown && host.ends_with('.')),
            "{host}: {failure}"
        );
        assert!(
            is_unknown || failure.to_string().contains("egress.allow"),
            "{failure}"
        );
    }
    assert!(desk.asked().is_empty());
}

// proves TL-9
#[tokio::test]
async fn one_address_that_is_not_public_refuses_the_whole_name() {
    let desk = Desk::open([say("200 OK", "", b"hello")]).await;
    let names = Names::saying([&["127.0.0.1", "10.0.0.1"]]);
    let client = Client::with_resolver(vec![desk.range()], names.clone());
    let url = format!("http://two.example:{}/", desk.address.port());

    let failure = get(&client, &url).await.unwrap_err();

    let Problem::NotPublic {
        host,
        address,
        what,
    } = failure.problem
    else {
        panic!("{failure}");
    };
    assert_eq!((host.as_str(), what), ("two.example", "private"));
    assert_eq!(address.to_string(), "10.0.0.1");
    assert!(desk.asked().is_empty());
}

// proves TL-9
#[tokio::test]
async fn a_name_is_resolved_once_and_the_address_that_was_checked_is_the_one_that_is_asked() {
    let desk = Desk::open([say("200 OK", "", b"hello")]).await;
    // Who resolved again for the connection would come to the second address.
    let names = Names::saying([&["127.0.0.1"], &["10.0.0.1"]]);
    let client = Client::with_resolver(vec![desk.range()], names.clone());
    let url = format!("http://rebound.example:{}/", desk.address.port());

    let answer = get(&client, &url).await.unwrap();
    assert_eq!(answer.body, b"hello");
    assert_eq!(*names.asked.lock().unwrap(), ["rebound.example"]);
    assert!(
        desk.asked()[0].contains("host: rebound.example:"),
        "{:?}",
        desk.asked()
    );

    let failure = get(&client, &url).await.unwrap_err();
    assert!(
        matches!(failure.problem, Problem::NotPublic { .. }),
        "{failure}"
    );
    assert_eq!(desk.asked().len(), 1);
}

#[tokio::test]
async fn a_name_is_looked_up_again_while_there_is_no_free_descriptor() {
    let desk = Desk::open([say("200 OK", "", b"hello")]).await;
    let names = Names::saying([&["127.0.0.1"]]);
    names.errors.lock().unwrap().extend([24, 24]);
    let client = Client::with_resolver(vec![desk.range()], names.clone());
    let url = format!("http://some.example:{}/", desk.address.port());

    assert_eq!(get(&client, &url).await.unwrap().body, b"hello");
    assert_eq!(names.asked.lock().unwrap().len(), 3);
}

// proves TL-9
#[tokio::test]
async fn a_range_that_was_opened_with_a_port_opens_no_other() {
    let (open, shut) = (
        Desk::open([say("200 OK", "", b"open")]).await,
        Desk::open([say("200 OK", "", b"shut")]).await,
    );
    let client = Client::new(vec![open.range()]);

    assert_eq!(get(&client, &open.url("/")).await.unwrap().body, b"open");
    let failure = get(&client, &shut.url("/")).await.unwrap_err();

    assert!(
        matches!(failure.problem, Problem::NotPublic { .. }),
        "{failure}"
    );
    assert!(shut.asked().is_empty());
}

// proves TL-9
#[tokio::test]
async fn what_would_be_refused_can_be_asked_before_and_an_unknown_name_is_no_refusal() {
    let names = Names::saying([&["192.168.0.1"], &[], &["8.8.8.8"]]);
    let client = Client::with_resolver(Vec::new(), names);
    let target = Target::parse("https://some.example/").unwrap();
    let patience = Duration::from_secs(20);

    assert!(client.check(&target, patience).await.is_err());
    assert!(client.check(&target, patience).await.is_ok());
    assert!(client.check(&target, patience).await.is_ok());
}

// proves TL-9
#[tokio::test]
async fn a_server_that_cannot_prove_who_it_is_is_sent_nothing() {
    let desk = Desk::open([say("200 OK", "", b"hello")]).await;
    let client = Client::new(vec![desk.range()]);
    let url = format!("https://{}/?key=s3cret", desk.address);

    let failure = get(&client, &url).await.unwrap_err();

    assert!(
        matches!(failure.problem, Problem::Unreachable { .. }),
        "{failure}"
    );
    assert!(!failure.was_sent, "{failure}");
    assert!(!failure.to_string().contains("s3cret"), "{failure}");
    assert!(desk.asked().iter().all(|asked| !asked.contains("s3cret")));
}
