//! The ways in of `ssrf.tsv`: none leads anywhere, and each would if its border were open.
//!
//! The network is a double: every address that is not public leads to one canary, which no request
//! may reach, and every public one to a server that says what the row needs.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use samovar_egress::{
    Answer, Bounds, Client, Dial, Dialing, Failure, HeaderMap, Method, Problem, Request, Resolve,
    Resolving, Target, private,
};
use tokio::net::TcpStream;
use url::Url;

use crate::desk::{BOUNDS, Desk, Say, on_to, say};

const TABLE: &str = include_str!("ssrf.tsv");

/// The rows of a class, without its name.
fn rows(class: &str) -> Vec<Vec<String>> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|line| line.split('\t').map(unescaped).collect::<Vec<_>>());
    let rows = rows.filter(|row| row[0] == class);
    rows.map(|row| row[1..].to_vec()).collect()
}

fn unescaped(text: &str) -> String {
    let pairs = [("\\r", "\r"), ("\\n", "\n"), ("\\t", "\t")];
    pairs
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn addresses(text: &str) -> Vec<IpAddr> {
    text.split(',').map(|one| one.parse().unwrap()).collect()
}

/// The network: who is asked for a connection is noted.
struct Wires {
    canary: SocketAddr,
    /// The server at every public address; none answers there without it.
    public: Option<SocketAddr>,
    dialled: Mutex<Vec<IpAddr>>,
}

impl Dial for Wires {
    fn dial(&self, address: SocketAddr) -> Dialing<'_> {
        self.dialled.lock().unwrap().push(address.ip());
        let server = match private(address.ip()) {
            Some(_) => Some(self.canary),
            None => self.public,
        };
        Box::pin(async move {
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            TcpStream::connect(server.ok_or_else(refused)?).await
        })
    }
}

/// The addresses of every name: those of its first look, and those of each later one.
struct Lookups {
    first: Vec<IpAddr>,
    later: Vec<IpAddr>,
    count: Mutex<usize>,
}

impl Resolve for Lookups {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        let mut count = self.count.lock().unwrap();
        *count += 1;
        let found = if host == "public.example" {
            vec![IpAddr::from([8, 8, 8, 8])]
        } else if *count == 1 {
            self.first.clone()
        } else {
            self.later.clone()
        };
        Box::pin(async move { Ok(found) })
    }
}

/// A client in this network, with its border or without.
struct Stage {
    client: Client,
    wires: Arc<Wires>,
    lookups: Arc<Lookups>,
}

impl Stage {
    fn new(is_open: bool, canary: &Desk, public: Option<&Desk>, looks: [&[IpAddr]; 2]) -> Self {
        let ranges = if is_open {
            &["0.0.0.0/0", "::/0"][..]
        } else {
            &[]
        };
        let wires = Arc::new(Wires {
            canary: canary.address,
            public: public.map(|desk| desk.address),
            dialled: Mutex::default(),
        });
        let [first, later] = looks.map(<[IpAddr]>::to_vec);
        let count = Mutex::default();
        let lookups = Arc::new(Lookups {
            first,
            later,
            count,
        });
        let ranges = ranges.iter().map(|range| range.parse().unwrap()).collect();
        let client = Client::with_network(ranges, lookups.clone(), wires.clone());
        Self {
            client,
            wires,
            lookups,
        }
    }

    async fn get(&self, url: &str) -> Result<Answer, Failure> {
        self.get_within(url, &BOUNDS).await
    }

    async fn get_within(&self, url: &str, bounds: &Bounds) -> Result<Answer, Failure> {
        let target = Target::parse(url).map_err(|error| Failure {
            was_sent: false,
            problem: error.into(),
        })?;
        let request = Request {
            method: Method::GET,
            target,
            headers: HeaderMap::new(),
            body: Vec::new().into(),
        };
        self.client.send(request, bounds).await
    }

    /// Whether a connection with an address that is not public was asked for.
    fn strayed(&self) -> bool {
        let dialled = self.wires.dialled.lock().unwrap();
        dialled.iter().any(|address| private(*address).is_some())
    }
}

async fn canary() -> Desk {
    Desk::open([say("200 OK", "", b"canary")]).await
}

/// Asks with the border, which nothing passes, and without it, where the address is asked.
async fn check(url: &str, canary: &Desk, public: Option<Say>, looks: &[IpAddr], leads: IpAddr) {
    let before = canary.asked().len();
    let opened = match &public {
        Some(say) => Some(Desk::open([say.clone()]).await),
        None => None,
    };
    let shut = Stage::new(false, canary, opened.as_ref(), [looks, looks]);
    let refusal = shut.get(url).await.expect_err(url);
    assert!(
        matches!(refusal.problem, Problem::NotPublic { .. }),
        "{url}: {refusal}"
    );
    assert!(!refusal.was_sent && !shut.strayed(), "{url}");
    assert_eq!(canary.asked().len(), before, "{url}");

    let open = Stage::new(true, canary, opened.as_ref(), [looks, looks]);
    let answer = open.get(url).await;
    let dialled = open.wires.dialled.lock().unwrap().clone();
    assert_eq!(dialled.last(), Some(&leads), "{url}: {dialled:?}");
    // Over TLS the canary cannot say who it is, but it was asked.
    assert_eq!(canary.asked().len(), before + 1, "{url}");
    assert!(
        answer.is_err() || answer.unwrap().body == b"canary",
        "{url}"
    );
}

// proves TL-9
#[tokio::test]
async fn no_spelling_of_an_address_that_is_not_public_is_asked() {
    let canary = canary().await;
    for row in rows("literal") {
        check(&row[0], &canary, None, &[], row[1].parse().unwrap()).await;
    }
}

// proves TL-9
#[tokio::test]
async fn no_name_of_an_address_that_is_not_public_is_asked() {
    let canary = canary().await;
    for row in rows("name") {
        let looks = addresses(&row[1]);
        check(&row[0], &canary, None, &looks, *looks.last().unwrap()).await;
    }
}

// proves TL-9
#[tokio::test]
async fn no_redirect_leads_to_an_address_that_is_not_public() {
    let canary = canary().await;
    let inner = addresses("10.9.9.9");
    for row in rows("redirect") {
        let gate = on_to(row[0].parse().unwrap(), &row[1]);
        let leads = row[2].parse().unwrap();
        check("http://public.example/", &canary, Some(gate), &inner, leads).await;
    }
}

// proves TL-9
#[tokio::test]
async fn a_name_that_changes_its_address_is_looked_up_once_for_each_request() {
    let canary = canary().await;
    for row in rows("rebind") {
        let (first, later) = (addresses(&row[1]), addresses(&row[2]));
        for is_open in [false, true] {
            let public = Desk::open([say("200 OK", "", b"public")]).await;
            let stage = Stage::new(is_open, &canary, Some(&public), [&first, &later]);
            let before = canary.asked().len();
            let answer = stage.get(&row[0]).await.unwrap();
            assert_eq!(answer.body, b"public", "{row:?}");
            assert_eq!(*stage.lookups.count.lock().unwrap(), 1, "{row:?}");

            let again = stage.get(&row[0]).await;
            assert_eq!(again.is_ok(), is_open, "{row:?}");
            assert_eq!(stage.strayed(), is_open, "{row:?}");
            let hits = canary.asked().len() - before;
            assert_eq!(hits, usize::from(is_open), "{row:?}");
        }
    }
}

// proves TL-9
#[tokio::test]
async fn what_is_no_plain_web_address_is_never_asked() {
    let canary = canary().await;
    let inner = addresses("10.9.9.9");
    for row in rows("refused") {
        let (text, host) = (&row[0], row[1].as_str());
        assert!(Target::parse(text).is_err(), "{text}");
        let Ok(mut careless) = Url::parse(text) else {
            assert_eq!(host, "!", "{text}");
            continue;
        };
        assert_eq!(careless.host_str().unwrap_or("-"), host, "{text}");
        // It is refused where a redirect leads there, too.
        let gate = Desk::open([on_to(302, text)]).await;
        let stage = Stage::new(true, &canary, Some(&gate), [&inner, &inner]);
        let refusal = stage.get("http://public.example/").await.unwrap_err();
        assert!(
            matches!(refusal.problem, Problem::Target(_)),
            "{text}: {refusal}"
        );
        assert!(!stage.strayed(), "{text}");
        // Without its user info it would be asked.
        if careless.scheme() == "http" && host != "public.example" {
            let before = canary.asked().len();
            careless.set_username("").unwrap();
            careless.set_password(None).unwrap();
            stage.get(careless.as_str()).await.unwrap();
            assert_eq!(canary.asked().len(), before + 1, "{text}");
        }
    }
}

// proves TL-9
#[tokio::test]
async fn no_address_adds_a_line_to_the_request() {
    let canary = canary().await;
    for row in rows("header") {
        let public = Desk::open([say("200 OK", "", b"public")]).await;
        let stage = Stage::new(false, &canary, Some(&public), [&[], &[]]);
        stage.get(&row[0]).await.unwrap();
        let asked = public.asked().remove(0);
        let has_line = |text: &str| text.lines().any(|line| line.starts_with(&row[1]));
        assert!(!has_line(&asked), "{asked}");
        assert_eq!(
            asked.matches("HTTP/1.1").count() - row[0].matches("HTTP/1.1").count(),
            1
        );
    }
    // A client that sent what it was told would have sent the line.
    let raw = rows("header")
        .iter()
        .filter(|row| row[0].contains("\r\nx-injected"))
        .count();
    assert!(raw >= 3, "{raw}");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What the server of a row about sizes says.
fn too_much(row: &str, bomb: &[u8]) -> Say {
    let gzip = "content-encoding: gzip";
    let begin = |head: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").into_bytes();
    let chunk = [b"400\r\n".as_slice(), &[b'a'; 0x400], b"\r\n"].concat();
    match row {
        "plain" => say("200 OK", "", &vec![b'a'; 4_000_000]),
        "chunked endless" => Say::Endless(begin("transfer-encoding: chunked"), chunk),
        "gzip bomb" => say("200 OK", gzip, bomb),
        // A gibibyte in a megabyte.
        "gzip members" => say("200 OK", gzip, &bomb.repeat(64)),
        "gzip endless" => Say::Endless(begin(gzip), packed(&[0; 1_000])),
        "x-gzip bomb" => say("200 OK", "content-encoding: x-gzip", bomb),
        "length of a terabyte" => {
            Say::Endless(begin("content-length: 1099511627776"), vec![b'a'; 1_000])
        }
        "headers endless" => Say::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"x: y\r\n".to_vec()),
        "1xx endless" => Say::Endless(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()),
        other => unreachable!("{other}"),
    }
}

// proves TL-9
#[tokio::test]
async fn nothing_larger_than_its_bound_is_taken() {
    let canary = canary().await;
    let bomb = packed(&vec![0; 16 << 20]);
    for row in rows("size") {
        let row = row[0].as_str();
        let is_head = row == "headers endless" || row == "1xx endless";
        let timeout = if is_head {
            Duration::from_millis(300)
        } else {
            BOUNDS.timeout
        };
        for max_bytes in [1_000, 2_000_000] {
            let public = Desk::open([too_much(row, &bomb)]).await;
            let stage = Stage::new(false, &canary, Some(&public), [&[], &[]]);
            let bounds = Bounds {
                max_bytes,
                timeout,
                ..BOUNDS
            };
            let answer = stage.get_within("http://public.example/", &bounds).await;
            let Ok(answer) = answer else {
                assert!(is_head, "{row}");
                continue;
            };
            // With a wider bound the same body takes as much as that.
            assert_eq!(
                (answer.body.len(), answer.is_cut),
                (max_bytes, true),
                "{row}"
            );
            assert!(answer.body.capacity() <= 4 * max_bytes, "{row}");
        }
    }
}

// proves TL-9
#[tokio::test]
async fn nothing_of_another_type_is_taken() {
    let canary = canary().await;
    for row in rows("type") {
        let header = format!("content-type: {}", row[0]);
        let public = Desk::open([say("200 OK", &header, b"x")]).await;
        let stage = Stage::new(false, &canary, Some(&public), [&[], &[]]);
        let url = "http://public.example/";
        let refusal = stage.get(url).await.unwrap_err();
        assert!(
            matches!(refusal.problem, Problem::ContentType { .. }),
            "{row:?}: {refusal}"
        );
        let every = Bounds {
            content_types: &["*"],
            ..BOUNDS
        };
        let answer = stage.get_within(url, &every).await.unwrap();
        assert_eq!(answer.body, b"x", "{row:?}");
    }
}

// proves TL-9
#[tokio::test]
async fn a_server_that_comes_to_no_end_is_left() {
    let canary = canary().await;
    for row in rows("time") {
        let says = match row[0].as_str() {
            "silent" => vec![Say::Silence(Vec::new())],
            "half a head" => vec![Say::Silence(b"HTTP/1.1 200 OK\r\nx: ".to_vec())],
            "half a body" => {
                let half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc";
                vec![Say::Silence(half.to_vec())]
            }
            "redirects to itself" => vec![on_to(302, "/")],
            "redirects in a circle" => {
                let (to, back) = (on_to(301, "http://b.example/"), on_to(301, "/a"));
                [to, back].into_iter().cycle().take(12).collect()
            }
            other => panic!("{other}"),
        };
        let public = Desk::open(says).await;
        let looks = addresses("8.8.4.4");
        let stage = Stage::new(false, &canary, Some(&public), [&looks, &looks]);
        let bounds = Bounds {
            timeout: Duration::from_millis(300),
            ..BOUNDS
        };
        let end = stage
            .get_within("http://public.example/", &bounds)
            .await
            .unwrap_err();
        let is_late = matches!(end.problem, Problem::Late { .. });
        let is_circle = matches!(end.problem, Problem::Redirects(_));
        assert_eq!(is_circle, row[0].starts_with("redirects"), "{row:?}: {end}");
        assert!(is_late || public.asked().len() == 6, "{row:?}: {end}");
    }
}

#[test]
fn the_table_has_more_than_a_hundred_and_fifty_ways_in() {
    let classes = [
        "literal", "name", "redirect", "rebind", "refused", "header", "size", "type", "time",
    ];
    let counted: usize = classes.iter().map(|class| rows(class).len()).sum();
    let listed = TABLE.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(counted, listed);
    assert!(counted >= 150, "{counted}");
}
