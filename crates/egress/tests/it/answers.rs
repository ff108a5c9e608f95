//! How much it takes.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use samovar_egress::{Bounds, Client, HeaderMap, Method, Problem, Request, Target};

use crate::desk::{BOUNDS, Desk, Say, get, say};

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn answer(say: Say) -> Result<(Vec<u8>, bool), Problem> {
    let desk = Desk::open([say]).await;
    let client = Client::new(vec![desk.range()]);
    match get(&client, &desk.url("/")).await {
        Ok(answer) => Ok((answer.body, answer.is_cut)),
        Err(failure) => {
            assert!(failure.was_sent, "{failure}");
            Err(failure.problem)
        }
    }
}

// proves TL-9
#[tokio::test]
async fn a_body_is_read_to_its_bound_and_what_is_beyond_is_said() {
    let whole = vec![b'a'; 1_000];
    let more = vec![b'a'; 1_001];
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let chunk = [b"400\r\n".as_slice(), &[b'a'; 0x400], b"\r\n"].concat();
    for (say, body, is_cut) in [
        (say("200 OK", "", b""), &whole[..0], false),
        (say("200 OK", "", &whole), &whole[..], false),
        (say("200 OK", "", &more), &whole[..], true),
        (Say::Endless(chunked, chunk), &whole[..], true),
    ] {
        assert_eq!(answer(say).await.unwrap(), (body.to_vec(), is_cut));
    }
}

// proves TL-9
#[tokio::test]
async fn a_packed_body_is_bounded_by_what_it_unpacks_to() {
    let gzip = "content-encoding: gzip";
    let small = say("200 OK", gzip, &packed(b"hello"));
    assert_eq!(answer(small).await.unwrap(), (b"hello".to_vec(), false));
    let bomb = packed(&vec![0; 64 * 1024 * 1024]);
    assert!(bomb.len() < 100_000);
    let bomb = answer(say("200 OK", gzip, &bomb)).await.unwrap();
    assert_eq!(bomb, (vec![0; 1_000], true));
    let endless = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".to_vec();
    let endless = answer(Say::Endless(endless, packed(&[0; 100])))
        .await
        .unwrap();
    assert_eq!(endless, (vec![0; 1_000], true));
}

// proves TL-9
#[tokio::test]
async fn a_body_that_cannot_be_unpacked_is_no_answer() {
    let whole = packed(b"hello hello hello");
    for (headers, body) in [
        ("content-encoding: gzip", &whole[..whole.len() - 9]),
        ("content-encoding: gzip", b"plain".as_slice()),
        ("content-encoding: br", b"x"),
        ("content-encoding: gzip\r\ncontent-encoding: gzip", &whole),
        ("content-encoding: gzip, gzip", &whole),
    ] {
        let problem = answer(say("200 OK", headers, body)).await.unwrap_err();
        assert!(
            matches!(problem, Problem::Encoding { status: 200 }),
            "{headers}: {problem}"
        );
    }
}

// proves TL-9
#[tokio::test]
async fn a_body_of_a_type_that_was_not_asked_for_is_not_taken() {
    for kind in [
        "text/html; charset=utf-8",
        "TEXT/plain",
        "application/json",
        "",
    ] {
        let header = format!("content-type: {kind}");
        let header = if kind.is_empty() { "" } else { &header };
        assert!(answer(say("200 OK", header, b"x")).await.is_ok(), "{kind}");
    }
    for kind in [
        "image/png",
        "application/jsonx",
        "text",
        "application/octet-stream",
    ] {
        let header = format!("content-type: {kind}");
        let problem = answer(say("201 Created", &header, b"x")).await.unwrap_err();
        let Problem::ContentType { status, found } = problem else {
            panic!("{kind}: {problem}");
        };
        assert_eq!((status, found.as_str()), (201, kind));
        // Nothing has no type.
        assert!(answer(say("204 No Content", &header, b"")).await.is_ok());
    }
}

// proves TL-9
#[tokio::test]
async fn a_server_that_is_slow_silent_or_breaks_off_ends_the_request() {
    for begin in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
    ] {
        let desk = Desk::open([Say::Silence(begin.into())]).await;
        let client = Client::new(vec![desk.range()]);
        let request = Request {
            method: Method::POST,
            target: Target::parse(&desk.url("/")).unwrap(),
            headers: HeaderMap::new(),
            body: "body".into(),
        };
        let timeout = Duration::from_millis(300);
        let failure = client.send(request, &Bounds { timeout, ..BOUNDS }).await;
        let failure = failure.unwrap_err();
        assert!(matches!(failure.problem, Problem::Late { .. }), "{failure}");
        assert!(failure.was_sent, "{begin}");
    }
    let header = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    for broken in [
        String::new(),
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc".to_owned(),
        "SSH-2.0-OpenSSH\r\n".to_owned(),
        header,
    ] {
        let problem = answer(Say::Bytes(broken.into_bytes())).await.unwrap_err();
        assert!(matches!(problem, Problem::Broken { .. }), "{problem}");
    }
}
