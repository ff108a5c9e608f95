//! The table of attacks, `cases.tsv`, on every route: none is let in, and none is held open.
//!
//! The routes are those of the server's own table, so a new one is tried without a change here.

mod case;
mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reqwest::Method;
use samovar_model_server::Rule;
use samovar_server::route::{self, Route, Scope, Verb};
use samovar_testkit::{App, AppBuilder};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::STATS;
use case::{Case, unescaped};
use line::{Line, all_of};

use super::named::{client, make};
use super::tickets::ticket;
use crate::raw::{HANG, Request, encoded};

/// A server, and what the placeholders of the table stand for there.
struct Target {
    app: App,
    values: BTreeMap<&'static str, String>,
}

impl Target {
    async fn start() -> Self {
        let builder = AppBuilder::new().with(|config| {
            config.hosts = vec!["samovar.example".parse().unwrap()];
            let pages = ["http://localhost:5173", "https://app.example"];
            config.origins = pages.map(|page| page.parse().unwrap()).to_vec();
        });
        let app = builder.start(Vec::<Rule>::new()).await;
        let revoked = make(&app, "revoked", "admin").await.body["token"]
            .as_str()
            .unwrap()
            .to_owned();
        let guest = client(&app, "admin").await;
        let of_revoked = ticket(&guest).await;
        for name in ["revoked", "for-admin"] {
            let revoke = app.request(Method::DELETE, &format!("/api/tokens/{name}"));
            assert_eq!(app.answer(revoke).await.status, 200);
        }
        let (used, good) = (ticket(&app).await, ticket(&app).await);
        assert!(opens(&app, &used).await, "a ticket counts once");
        let (port, token) = (app.address().port(), app.token());
        // What a thief of the list of tokens has.
        assert_eq!(make(&app, "kept", "admin").await.status, 200);
        let list = std::fs::read(app.data_dir().join("tokens.json")).unwrap();
        let list: Value = serde_json::from_slice(&list).unwrap();
        let hash = list[0]["sha256"].as_str().unwrap().to_owned();
        let values = [
            ("host", app.address().to_string()),
            ("ip", app.address().ip().to_string()),
            ("port", port.to_string()),
            ("other", (port ^ 1).to_string()),
            ("token", token.to_owned()),
            ("short", token[..token.len() - 1].to_owned()),
            ("upper", token.to_uppercase()),
            ("hash", hash),
            // `owner:` and the token in base64.
            (
                "basic",
                "b3duZXI6YS10b2tlbi1mb3ItdGVzdHMtb2YtMzItbGV0dGVycy0=".to_owned(),
            ),
            ("revoked", revoked),
            ("revoked-ticket", of_revoked),
            ("used", used),
            ("short-ticket", good[1..].to_owned()),
            ("upper-ticket", good.to_uppercase()),
            ("encoded-ticket", encoded(&good)),
            ("ticket", good),
            ("long", "x".repeat(64 * 1024)),
            ("fits", "x".repeat(63 * 1024)),
        ];
        Self {
            app,
            values: values.into(),
        }
    }

    fn cases(&self, kind: &str) -> Vec<Case> {
        let rows = Case::all().filter(|case| case.kind == kind);
        let filled = rows.map(|mut case| {
            for change in &mut case.changes {
                for (name, value) in &self.values {
                    *change = change.replace(&format!("{{{name}}}"), value);
                }
            }
            case
        });
        filled.collect()
    }

    /// What would be different if a request had been let in.
    async fn state(&self) -> Vec<Value> {
        let mut state = Vec::new();
        for path in [
            STATS,
            "/api/tokens",
            "/api/tools",
            "/api/agents",
            "/api/calls",
            "/api/turns",
            "/api/relay/rooms",
            "/chat/state",
        ] {
            let answer = self.app.get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            state.push(answer.body);
        }
        state
    }

    /// Tries every case of a kind on each of these requests, and says what went wrong.
    async fn tried(&self, kind: &str, requests: Vec<(Request, String)>) -> usize {
        let before = self.state().await;
        let cases: Vec<_> = self
            .cases(kind)
            .into_iter()
            .filter(Case::is_attack)
            .collect();
        let cases = Arc::new(cases);
        let count = cases.len() * requests.len();
        let mut trying = JoinSet::new();
        for (good, path) in requests {
            let cases = cases.clone();
            trying.spawn(async move {
                let mut line = Line::new(&good);
                let mut wrong = Vec::new();
                for case in cases.iter() {
                    let request = case.apply(&good, &path);
                    if let Err(how) = line.refuses(case, &request).await {
                        let how = format!("{how}: {} {path}: {}", request.name(), case.line);
                        wrong.push(how);
                    }
                }
                wrong
            });
        }
        let wrong: Vec<_> = trying.join_all().await.into_iter().flatten().collect();
        let shown = wrong
            .iter()
            .take(20)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n");
        assert_eq!(wrong.len(), 0, "of {count}:\n{shown}");
        assert_eq!(self.state().await, before);
        count
    }

    /// Tries the cases of a kind that are no attack.
    async fn controls(&self, kind: &str, good: &Request) {
        let path = STATS;
        for case in self.cases(kind).iter().filter(|case| !case.is_attack()) {
            let answer = case.apply(good, path).send().await;
            assert_eq!(answer.status, 200, "{}: {}", case.line, answer.body);
        }
    }

    /// Good requests, one for each verb of these routes, and one that upgrades where a browser may
    /// open a stream.
    fn requests(&self, wanted: impl Fn(&Route, Verb) -> bool) -> Vec<(Request, String)> {
        let mut requests = Vec::new();
        for route in route::table() {
            for &verb in route.verbs.iter().filter(|verb| wanted(&route, **verb)) {
                let path = route.path.clone();
                let good = Request::new(&self.app, verb.as_str(), &path).without("connection");
                if route.takes_tickets && verb == Verb::Get {
                    let upgrades = crate::handshake::handshake(&self.app, &path);
                    let upgrades = upgrades.set("connection", "upgrade");
                    requests.push((upgrades, path.clone()));
                }
                requests.push((good, path));
            }
        }
        assert!(!requests.is_empty());
        requests
    }
}

/// Whether a ticket opens a stream.
async fn opens(app: &App, ticket: &str) -> bool {
    let stream = format!("/chat/stream?ticket={ticket}");
    let mut line = Line::new(&Request::new(app, "GET", &stream));
    let asked = Request::new(app, "GET", &stream).without("authorization");
    let answer = line.answer(&asked.bytes(), false).await;
    matches!(answer, Ok(Some(response)) if response.status == 200)
}

fn needs_token(route: &Route, _: Verb) -> bool {
    route.scope != Scope::Public
}

/// Tries the cases of a kind on all these routes.
async fn try_all(kind: &str, wanted: impl Fn(&Route, Verb) -> bool) {
    let target = Target::start().await;
    let good = Request::new(&target.app, "POST", STATS);
    target.controls(kind, &good).await;
    let tried = target.tried(kind, target.requests(wanted)).await;
    assert!(tried > 100, "{tried}");
    let is_left = opens(&target.app, &target.values["ticket"]).await;
    assert!(is_left, "no case has used the ticket up");
}

// proves TL-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_name_of_another_server_is_let_in() {
    try_all("host", |_, _| true).await;
}

// proves TL-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_of_another_origin_is_let_in() {
    try_all("origin", |_, _| true).await;
}

// proves TL-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_of_another_site_is_let_in_without_an_origin() {
    // A link to the page is for everybody; `files.rs` has what is not.
    try_all("site", |route, _| route.path != "/").await;
}

// proves TL-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_a_token_in_its_place_is_let_in() {
    try_all("token", needs_token).await;
}

// proves TL-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_let_in_on_a_get_of_its_routes_alone() {
    try_all("ticket", |route, verb| {
        needs_token(route, verb) && !(route.takes_tickets && verb == Verb::Get)
    })
    .await;
}

// proves TL-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_json_is_taken_as_a_body() {
    try_all("type", |route, verb| {
        needs_token(route, verb) && matches!(verb, Verb::Post | Verb::Put)
            || route.path == "/api/login"
    })
    .await;
}

// proves TL-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_head_above_64_kib_is_taken() {
    try_all("size", |_, _| true).await;
}

// proves TL-11
#[tokio::test]
async fn no_path_has_a_verb_beside_those_of_the_table() {
    let target = Target::start().await;
    let mut verbs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for route in route::table() {
        let of_path = verbs.entry(route.path).or_default();
        of_path.extend(route.verbs.iter().map(|verb| verb.as_str()));
        // A GET without its body.
        if of_path.contains("GET") {
            of_path.insert("HEAD");
        }
    }
    let before = target.state().await;
    for case in target.cases("verb") {
        for (path, verbs) in &verbs {
            let request = case.apply(&Request::new(&target.app, "POST", path), path);
            if !verbs.contains(request.name()) {
                let refused = Line::new(&request).refuses(&case, &request).await;
                assert_eq!(refused, Ok(()), "{path}: {}", case.line);
            }
        }
    }
    assert_eq!(target.state().await, before);
}

// proves TL-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_inside_a_refused_one_is_not_answered() {
    let target = Target::start().await;
    let inner = Request::new(&target.app, "GET", STATS).bytes();
    let cases = Arc::new(target.cases("smuggling"));
    let mut trying = JoinSet::new();
    for (good, path) in target.requests(needs_token) {
        let outer = good.without("authorization").without("content-length");
        let outer = outer.without("upgrade").bytes();
        let end = outer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let (head, inner, cases) = (outer[..end].to_vec(), inner.clone(), cases.clone());
        let address = target.app.address();
        trying.spawn(async move {
            for case in cases.iter() {
                let bytes = smuggling(case, &head, &inner);
                let read = timeout(HANG, all_of(address, &bytes)).await;
                let read = read.unwrap_or_else(|_| panic!("HELD OPEN: {path}: {}", case.line));
                let answers = String::from_utf8_lossy(&read);
                let is_in = answers.contains("HTTP/1.1 200");
                assert_eq!(is_in, !case.is_attack(), "{path}: {}: {answers}", case.line);
            }
        });
    }
    trying.join_all().await;
}

/// A request without a token whose body is another request, by one of two ways to read its length.
fn smuggling(case: &Case, head: &[u8], inner: &[u8]) -> Vec<u8> {
    let (how, lines) = case.changes.split_first().unwrap();
    let chunk = format!("{:x}\r\n", inner.len());
    let (length, before, after) = match how.as_str() {
        "cl.te" => (5 + inner.len(), "0\r\n\r\n", ""),
        "te.cl" => (chunk.len(), chunk.as_str(), "\r\n0\r\n\r\n"),
        // Two requests in a row, which are two for everybody.
        _ => (0, "", ""),
    };
    let mut bytes = [head, format!("\r\ncontent-length: {length}").as_bytes()].concat();
    for line in lines {
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&unescaped(line));
    }
    [
        &bytes,
        &b"\r\n\r\n"[..],
        before.as_bytes(),
        inner,
        after.as_bytes(),
    ]
    .concat()
}

#[test]
fn the_table_is_whole() {
    let rows: Vec<_> = Case::all().collect();
    assert!(rows.len() > 200);
    let different: BTreeSet<_> = rows.iter().map(|case| case.line).collect();
    assert_eq!(different.len(), rows.len(), "no row comes twice");
    let kinds: BTreeSet<_> = rows.iter().map(|case| case.kind).collect();
    let tried = [
        "host",
        "origin",
        "site",
        "token",
        "ticket",
        "type",
        "size",
        "verb",
        "smuggling",
    ];
    assert_eq!(kinds, tried.into());
}
