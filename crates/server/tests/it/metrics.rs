//! The server's numbers in Prometheus' text form, read as strictly as its format says.

use std::collections::{BTreeMap, BTreeSet};

use samovar_model_server::say;
use samovar_testkit::App;
use serde_json::json;

use crate::raw::{Request, Response};

/// The page that lists the names.
const DOCS: &str = include_str!("../../../../docs/deployment.md");

/// Every series with its number, and the families.
#[derive(Debug, Default)]
struct Page {
    series: BTreeMap<String, f64>,
    families: BTreeSet<String>,
}

impl Page {
    /// Reads a page: a family is its help, its type and then its series, and comes once.
    fn read(text: &str) -> Self {
        let mut page = Self::default();
        let (mut family, mut is_typed) = (String::new(), false);
        assert!(text.ends_with('\n'), "the last line ends, too");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, about) = help.split_once(' ').expect("a help has a text");
                assert!(is_name(name) && about.len() > 10, "{line}");
                assert!(page.families.insert(name.to_owned()), "{name} comes twice");
                (family, is_typed) = (name.to_owned(), false);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a type has a word");
                assert!(name == family && !is_typed, "{line}");
                let is_counter = name.ends_with("_total");
                assert_eq!(kind, if is_counter { "counter" } else { "gauge" });
                is_typed = true;
            } else {
                let (series, number) = line.rsplit_once(' ').expect("a series has a number");
                let name = series.split('{').next().unwrap();
                assert!(name == family && is_typed, "{line}");
                let labels = &series[name.len()..];
                assert!(labels.is_empty() || is_label(labels), "{line}");
                let number: f64 = number.parse().expect("a number");
                assert!(number >= 0.0 && number.is_finite(), "{line}");
                let is_new = page.series.insert(series.to_owned(), number).is_none();
                assert!(is_new, "{series} comes twice");
            }
        }
        page
    }

    fn number(&self, series: &str) -> f64 {
        let number = self.series.get(series);
        *number.unwrap_or_else(|| panic!("no {series}: {self:?}"))
    }
}

fn is_name(name: &str) -> bool {
    let all = |c: char| c.is_ascii_lowercase() || c == '_';
    !name.is_empty() && name.chars().all(all)
}

/// One label in braces.
fn is_label(text: &str) -> bool {
    let inside = text.strip_prefix('{').and_then(|it| it.strip_suffix("\"}"));
    let parts = inside.and_then(|inside| inside.split_once("=\""));
    parts.is_some_and(|(name, value)| is_name(name) && !value.contains(['"', '\\']))
}

async fn ask(app: &App) -> Response {
    Request::new(app, "GET", "/metrics").send().await
}

// proves FC-3
#[tokio::test]
async fn the_numbers_are_in_the_text_form_of_prometheus_and_grow_with_what_happens() {
    let app = App::start([say("well").forever()]).await;
    let before = Page::read(&ask(&app).await.body);
    app.ok("createSession", json!({"sessionId": "s"})).await;
    app.turn("s", "go").await;

    let answer = ask(&app).await;

    let media_type = answer.header("content-type");
    assert_eq!(media_type, Some("text/plain; version=0.0.4; charset=utf-8"));
    let page = Page::read(&answer.body);
    let grown = |series: &str| page.number(series) - before.number(series);
    let ended = |reason: &str| grown(&format!("samovar_turns_ended_total{{reason=\"{reason}\"}}"));
    assert!((ended("answered") - 1.0).abs() < 1e-9, "{page:?}");
    assert!(ended("error").abs() < 1e-9, "{page:?}");
    let read = grown("samovar_tokens_total{kind=\"input\"}");
    assert!(read > 0.0, "{page:?}");
    assert!(grown("samovar_journal_commits_total") >= 2.0, "{page:?}");
    assert!(page.number("process_open_fds") > 3.0, "{page:?}");
    assert!(page.number("samovar_memory_budget_bytes") > 1e6, "{page:?}");
}

// proves FC-3
#[tokio::test]
async fn the_documentation_lists_the_names_of_all_numbers_and_no_other() {
    let app = App::start([say("well")]).await;

    let page = Page::read(&ask(&app).await.body);

    let named = DOCS.lines().filter_map(|line| {
        let name = line.strip_prefix("| `")?.split(['`', '{']).next()?;
        let is_ours = name.starts_with("samovar_") || name.starts_with("process_");
        (is_ours && is_name(name)).then(|| name.to_owned())
    });
    assert_eq!(named.collect::<BTreeSet<_>>(), page.families);
}

// proves FC-3
#[tokio::test]
async fn only_a_token_that_may_read_sees_the_numbers() {
    let app = App::start([say("well")]).await;
    let request = Request::new(&app, "GET", "/metrics");

    let refused = request.clone().without("authorization").send().await;
    assert_eq!((refused.status, &*refused.code()), (401, "unauthorized"));
    let new = json!({"name": "prometheus", "scope": "read"}).to_string();
    let made = Request::new(&app, "POST", "/api/tokens").json(new);
    let token = made.send().await.json()["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let read = request.set("authorization", format!("Bearer {token}"));
    assert_eq!(read.send().await.status, 200);
}
