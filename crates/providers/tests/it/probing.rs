//! The model servers of this machine, as they are found when nobody names a model.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::provider::ModelKind;
use samovar_core::{Code, LimitSource, Models as _};
use samovar_providers::{
    DemoUse, ProbeOutcome, ProbeReport, Probing, ProviderConfig, Reason, Secret,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::asking::{self, registry_of};
use crate::local::{Local, nobody, ok, response};

/// Nothing but these servers at the usual addresses of these rows. No test waits for the limit,
/// unless it sets the clock.
fn config(addresses: &[(&str, &str)]) -> ProviderConfig {
    asking::install_tls();
    let addresses = addresses
        .iter()
        .map(|(row, base)| ((*row).to_owned(), (*base).to_owned()));
    let mut config = ProviderConfig {
        probing: Probing::At(addresses.collect()),
        ..ProviderConfig::default()
    };
    config.timeouts.probe = Duration::from_hours(1);
    config
}

/// The same servers, as somebody who set them by hand.
fn by_hand(addresses: &[(&str, &str)]) -> ProviderConfig {
    let mut config = config(&[]);
    for (row, base) in addresses {
        config
            .base_urls
            .insert((*row).to_owned(), (*base).to_owned());
    }
    config
}

fn seen<'a>(probed: &'a ProbeReport, row: &str) -> &'a ProbeOutcome {
    &probed.look(row).unwrap().seen
}

fn names(probed: &ProbeReport) -> Vec<&str> {
    probed
        .models
        .iter()
        .map(|model| model.name.as_str())
        .collect()
}

/// An Ollama with three models, of which the last one fetched cannot call tools.
fn ollama() -> Local {
    Local::answering(|request| {
        let capabilities = match request {
            _ if request.starts_with("GET /api/tags ") => {
                return ok(r#"{"models": [
                    {"name": "gemma:2b"}, {"name": "nomic-embed-text"}, {"name": "llama3.2:3b"}
                ]}"#);
            }
            _ if !request.starts_with("POST /api/show ") => {
                return response("404 Not Found", "text/plain", "404 page not found");
            }
            _ if request.contains("gemma") => r#"["completion"]"#,
            _ if request.contains("nomic") => r#"["embedding"]"#,
            _ => r#"["completion", "tools"]"#,
        };
        ok(&format!(r#"{{"capabilities": {capabilities}}}"#))
    })
}

/// A server of the dialect with this model.
fn serving(model: &'static str) -> Local {
    Local::answering(move |request| match request {
        _ if request.starts_with("GET /v1/models ") => ok(&format!(
            r#"{{"object": "list", "data": [{{"id": "{model}"}}]}}"#
        )),
        _ => response("404 Not Found", "application/json", "{}"),
    })
}

// proves AS-15
#[tokio::test]
async fn a_window_is_what_a_person_set_else_what_the_list_names() {
    let server =
        Local::json(r#"{"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}]}"#);
    let (gone, _socket) = nobody();
    for (set, name, wanted) in [
        (None, "openai/m", Some((8192, LimitSource::List))),
        // llama.cpp serves its one model under every name.
        (None, "openai/other", Some((8192, LimitSource::List))),
        (Some(4096), "openai/m", Some((4096, LimitSource::Setting))),
        (None, "custom/m", None),
    ] {
        let mut config = by_hand(&[("openai", &server.base), ("custom", &gone)]);
        config
            .windows
            .extend(set.map(|set| ("openai".to_owned(), set)));
        let model = registry_of(config).find(name).await.unwrap();
        let window = model.window.map(|window| (window.tokens, window.source));
        assert_eq!(window, wanted, "{set:?} {name}");
    }
}

// proves FC-4
#[tokio::test]
async fn of_two_models_the_one_that_can_call_tools_answers_without_any_setting() {
    let server = ollama();
    let registry = registry_of(config(&[("ollama", &server.base)]));

    let choice = registry.choice().await.unwrap();

    assert_eq!(choice.name, "ollama/llama3.2:3b");
    assert_eq!(choice.kind, ModelKind::Local);
    let Reason::Local { probed } = choice.reason else {
        panic!("{:?}", choice.reason);
    };
    assert_eq!(names(&probed), ["ollama/llama3.2:3b", "ollama/gemma:2b"]);
    let why = probed.why().unwrap();
    assert!(why.contains("Ollama") && why.contains("tools"), "{why}");
    let address = server.base.split('/').nth(2).unwrap();
    assert!(why.contains(address), "{why}");
    assert_eq!(registry.default_name().await.unwrap(), choice.name);
    // The model is asked where it was found.
    let model = registry.resolve(&choice.name).unwrap();
    assert_eq!(model.endpoint_name, "llama3.2:3b");
    let row = registry.overview().await;
    let row = row.iter().find(|row| row.is_chosen).unwrap();
    assert_eq!(
        (row.name, row.base_url.as_deref()),
        ("ollama", Some(server.base.as_str()))
    );
}

// proves FC-4
#[tokio::test]
async fn a_model_that_can_call_tools_beats_one_of_which_it_is_not_known_and_that_one_that_cannot() {
    let silent = Local::json(r#"{"data": [{"id": "silent"}]}"#);
    let without = Local::answering(|request| match request {
        _ if request.starts_with("GET /props ") => ok(r#"{"chat_template": "{{ messages }}"}"#),
        _ => ok(r#"{"data": [{"id": "without"}]}"#),
    });
    let studio = Local::json(
        r#"{"data": [
            {"id": "cold", "type": "llm", "state": "not-loaded", "capabilities": ["tool_use"]},
            {"id": "warm", "type": "llm", "state": "loaded", "capabilities": ["tool_use"]},
            {"id": "plain", "type": "llm", "state": "loaded", "capabilities": []}
        ]}"#,
    );
    let registry = registry_of(config(&[
        ("vllm", &silent.base),
        ("llama-cpp", &without.base),
        ("lm-studio", &studio.base),
        ("jan", &silent.base),
    ]));

    let probed = registry.probe().await;

    let wanted = [
        "lm-studio/warm",
        "lm-studio/cold",
        "jan/silent",
        "vllm/silent",
        "lm-studio/plain",
        "llama-cpp/without",
    ];
    assert_eq!(names(&probed), wanted);
    let rows: Vec<_> = probed.looked_at.iter().map(|look| look.provider).collect();
    assert_eq!(rows, ["lm-studio", "jan", "llama-cpp", "vllm"]);
}

#[tokio::test]
async fn a_server_that_does_not_know_its_own_list_is_asked_for_the_common_one() {
    let old = Local::answering(|request| match request {
        _ if request.starts_with("GET /v1/models ") => ok(r#"{"data": [{"id": "m"}]}"#),
        _ => ok(r#"{"error": "Unexpected endpoint or method."}"#),
    });
    for row in ["lm-studio", "ollama", "llama-cpp"] {
        let registry = registry_of(config(&[(row, &old.base)]));
        assert_eq!(names(&*registry.probe().await), [format!("{row}/m")]);
    }
}

// proves FC-4
#[tokio::test]
async fn where_nobody_listens_demo_answers_and_tells_where_it_looked() {
    let (base, _socket) = nobody();
    let registry = registry_of(config(&[("ollama", &base), ("vllm", &base)]));
    let choice = registry.choice().await.unwrap();
    assert_eq!(
        (choice.name.as_str(), choice.kind),
        ("demo", ModelKind::Demo)
    );
    let Reason::Nothing { probed, .. } = choice.reason else {
        panic!("{:?}", choice.reason);
    };
    assert_eq!(seen(&probed, "ollama"), &ProbeOutcome::Nobody);
    assert_eq!(seen(&probed, "vllm"), &ProbeOutcome::Nobody);

    let registry = registry_of(ProviderConfig {
        demo: DemoUse::Forbidden,
        ..config(&[("ollama", &base)])
    });
    let refused = registry.choice().await.unwrap_err();
    assert_eq!(refused.code, Code::UnusableModel);
    assert!(refused.message.contains("Ollama"), "{}", refused.message);
}

#[tokio::test]
async fn what_is_no_model_server_is_told_and_hides_no_other() {
    let good = serving("m");
    let endless = |request: &str| {
        assert!(request.starts_with("GET "), "{request}");
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[".to_vec();
        bytes.resize(5 << 20, b' ');
        bytes
    };
    let cut = |_: &str| {
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"data\""
            .to_vec()
    };
    let json = "application/json";
    let page = || response("200 OK", "text/html; charset=utf-8", "<!doctype html>");
    let away = "HTTP/1.1 302 Found\r\nlocation: /v1/models/\r\ncontent-length: 0\r\n\r\n";
    let deep = format!("{{\"data\": {}", "[".repeat(100_000));
    let rows = [
        (Local::answering(move |_| page()), "NotJson(\"text/html\")"),
        (Local::answering(endless), "TooLong"),
        (Local::answering(cut), "Broken"),
        (Local::json(r#"{"data": [{"id""#), "NoList"),
        (Local::json(r#"{"hello": "world"}"#), "NoList"),
        (Local::answering(move |_| ok(&deep)), "NoList"),
        (Local::answering(|_| b"SSH-2.0-x\r\n".to_vec()), "Broken"),
        (Local::answering(|_| Vec::new()), "Broken"),
        (Local::answering(move |_| away.into()), "Status(302)"),
        (
            Local::answering(move |_| response("401 Unauthorized", json, "{}")),
            "Locked",
        ),
        (
            Local::answering(move |_| response("503 Service Unavailable", json, "{}")),
            "Status(503)",
        ),
        (
            Local::json(r#"{"data": [{"id": "bge-m3"}, {"id": ""}, {"id": "a\u001b[2J"}]}"#),
            "Models(0)",
        ),
    ];
    for (odd, wanted) in &rows {
        for row in ["jan", "ollama", "lm-studio", "llama-cpp"] {
            let registry = registry_of(config(&[(row, &odd.base), ("vllm", &good.base)]));
            let probed = registry.probe().await;
            let found = format!("{:?}", seen(&probed, row));
            assert!(found.starts_with(wanted), "{row}: {found}, not {wanted}");
            assert_eq!(names(&probed), ["vllm/m"]);
            let told = probed.look(row).unwrap().to_string();
            assert!(told.contains(&odd.base), "{told}");
        }
    }
}

// proves FC-4
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_costs_no_more_than_the_budget_and_hides_no_other() {
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", hanging.local_addr().unwrap());
    let read = Arc::new(Notify::new());
    let good = Local::notifying(Arc::clone(&read), |_| ok(r#"{"data": [{"id": "m"}]}"#));
    let mut config = config(&[
        ("ollama", &base),
        ("llama-cpp", &base),
        ("vllm", &good.base),
    ]);
    config.timeouts = samovar_providers::Timeouts::default();
    let registry = registry_of(config);
    // The clock stands while a thread is busy: until the good server's answer was read.
    let (go_on, wait) = std::sync::mpsc::sync_channel::<()>(1);
    let busy = tokio::task::spawn_blocking(move || wait.recv());
    let began = Instant::now();

    let (probed, ()) = tokio::join!(registry.probe(), async {
        read.notified().await;
        go_on.send(()).unwrap();
    });

    assert_eq!(began.elapsed(), Duration::from_millis(240));
    assert_eq!(names(&probed), ["vllm/m"]);
    assert_eq!(seen(&probed, "ollama"), &ProbeOutcome::Late);
    assert_eq!(seen(&probed, "llama-cpp"), &ProbeOutcome::Late);
    busy.await.unwrap().unwrap();
}

// proves FC-4
#[tokio::test(start_paused = true)]
async fn an_ollama_that_lists_its_models_and_then_hangs_has_models() {
    let read = Arc::<Notify>::default();
    let (go_on, wait) = std::sync::mpsc::sync_channel::<()>(1);
    let asked = Arc::clone(&read);
    let server = Local::notifying(Arc::default(), move |request| {
        if request.starts_with("GET /api/tags ") {
            return ok(r#"{"models": [{"name": "m"}]}"#);
        }
        asked.notify_one();
        Vec::new()
    });
    let mut config = config(&[("ollama", &server.base)]);
    config.timeouts = samovar_providers::Timeouts::default();
    let registry = registry_of(config);
    let busy = tokio::task::spawn_blocking(move || wait.recv());

    let (probed, ()) = tokio::join!(registry.probe(), async {
        read.notified().await;
        go_on.send(()).unwrap();
    });

    assert_eq!(names(&probed), ["ollama/m"]);
    assert_eq!(probed.models[0].tools, None);
    assert!(server.asked()[1].starts_with("POST /api/show "));
    busy.await.unwrap().unwrap();
}

// proves FC-4
#[tokio::test]
async fn a_named_model_or_a_key_asks_no_server() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let base = format!("http://{}/v1", server.local_addr().unwrap());
    let key = || Secret::new("sk-test").unwrap();
    let mut named = config(&[("ollama", &base)]);
    named.default_model = Some("ollama/m".to_owned());
    let mut keyed = config(&[("ollama", &base)]);
    keyed.keys.insert("groq".to_owned(), key());
    keyed
        .key_origins
        .insert("groq".to_owned(), "GROQ_API_KEY".to_owned());
    let mut off = config(&[]);
    off.probing = Probing::Off;
    let mut wrong = config(&[("ollama", &base)]);
    wrong.default_model = Some("openai/gpt-4o".to_owned());

    let named = registry_of(named).choice().await.unwrap();
    let keyed = registry_of(keyed);
    let rows = keyed.overview().await;
    assert!(rows.iter().all(|row| row.look.is_none()));
    let keyed = keyed.choice().await.unwrap();
    let off = registry_of(off).choice().await.unwrap();
    let wrong = registry_of(wrong).choice().await.unwrap_err();

    assert!(matches!(named.reason, Reason::Asked), "{named:?}");
    assert_eq!(named.name, "ollama/m");
    let Reason::Key {
        provider, origin, ..
    } = &keyed.reason
    else {
        panic!("{keyed:?}");
    };
    assert_eq!(
        (*provider, origin.as_deref()),
        ("groq", Some("GROQ_API_KEY"))
    );
    assert_eq!(off.name, "demo");
    assert!(
        wrong.message.contains("OPENAI_API_KEY"),
        "{}",
        wrong.message
    );
    let came = server.accept().map(|(_, address)| address);
    assert_eq!(came.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

// proves FC-4
#[tokio::test]
async fn an_address_by_hand_is_asked_alone_and_with_its_key() {
    let (server, usual) = (serving("m"), serving("other"));
    let mut config = config(&[("ollama", &usual.base), ("jan", &usual.base)]);
    config
        .base_urls
        .insert("vllm".to_owned(), server.base.clone());
    for row in ["vllm", "jan"] {
        let key = Secret::new(&format!("sk-{row}")).unwrap();
        config.keys.insert(row.to_owned(), key);
    }
    let choice = registry_of(config).choice().await.unwrap();
    assert_eq!(choice.name, "vllm/m");
    assert_eq!(server.asked().len(), 1);
    let asked = server.asked()[0].to_lowercase();
    assert!(
        asked.contains("authorization: bearer sk-vllm\r\n"),
        "{asked}"
    );
    assert_eq!(usual.asked().len(), 0);
}

#[tokio::test]
async fn a_service_whose_address_by_hand_is_on_this_machine_is_asked_in_its_dialect() {
    for (row, path) in [("custom", "/v1"), ("anthropic", ""), ("anthropic", "/v1")] {
        let server = Local::answering(move |request| {
            let path = request.split(' ').nth(1).unwrap();
            assert_eq!(path, "/v1/models");
            ok(r#"{"data": [{"type": "model", "id": "m"}]}"#)
        });
        let base = server.base.replace("/v1", path);
        let mut config = by_hand(&[(row, &base)]);
        config.probing = Probing::On;
        let name = registry_of(config).default_name().await.unwrap();
        assert_eq!(name, format!("{row}/m"));
    }
}

#[tokio::test]
async fn no_key_goes_to_whoever_listens_at_a_usual_address() {
    let usual = serving("m");
    let mut config = config(&[("vllm", &usual.base)]);
    let key = Secret::new("sk-vllm").unwrap();
    config.keys.insert("vllm".to_owned(), key);
    let choice = registry_of(config).choice().await.unwrap();
    assert_eq!(choice.name, "vllm/m");
    let asked = usual.asked().join("");
    assert!(!asked.contains("sk-vllm"), "{asked}");
}

// proves FC-4
#[tokio::test]
async fn an_address_by_hand_without_a_model_is_refused_with_what_was_seen_there() {
    let (base, _socket) = nobody();
    let usual = serving("m");
    let secret = base.replace("http://", "http://user:pa55@") + "?key=pa55";
    for (row, base, says) in [
        ("ollama", base.as_str(), "is not running at"),
        ("custom", &base, "is not running at"),
        ("vllm", &secret, "is not running at"),
        ("ollama", "ftp://box", "not a URL"),
        // A service elsewhere is not asked.
        ("custom", "https://192.0.2.1/v1", "not the model"),
    ] {
        let mut config = by_hand(&[(row, base)]);
        config.probing = Probing::At([("jan".to_owned(), usual.base.clone())].into());
        let refused = registry_of(config).choice().await.unwrap_err();
        assert_eq!(refused.code, Code::UnusableModel);
        let way = format!("AGENT_MODEL={row}/MODEL");
        for part in [says, way.as_str()] {
            assert!(refused.message.contains(part), "{}", refused.message);
        }
        assert!(!refused.message.contains("pa55"), "{}", refused.message);
    }
    assert_eq!(usual.asked().len(), 0);
}

// proves FC-4
#[tokio::test]
async fn a_server_that_is_started_later_is_found_and_one_that_is_known_is_not_asked_again() {
    let (base, socket) = nobody();
    let registry = registry_of(config(&[("vllm", &base)]));
    assert_eq!(registry.default_name().await.unwrap(), "demo");
    let server = Local::at(socket, |_| ok(r#"{"data": [{"id": "m"}]}"#));
    assert_eq!(registry.default_name().await.unwrap(), "demo");

    forward(Duration::from_secs(10)).await;
    assert_eq!(registry.default_name().await.unwrap(), "vllm/m");
    forward(Duration::from_secs(59)).await;
    assert_eq!(registry.default_name().await.unwrap(), "vllm/m");
    assert_eq!(server.asked().len(), 1);
    forward(Duration::from_secs(1)).await;
    assert_eq!(registry.default_name().await.unwrap(), "vllm/m");
    assert_eq!(server.asked().len(), 2);
}

async fn forward(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn who_wants_a_model_at_the_same_time_waits_for_one_probe() {
    let server = serving("m");
    let registry = registry_of(config(&[("vllm", &server.base)]));
    let (one, other) = tokio::join!(registry.default_name(), registry.default_name());
    assert_eq!(
        (one.unwrap(), other.unwrap()),
        ("vllm/m".into(), "vllm/m".into())
    );
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn who_wants_to_see_what_is_there_sees_it_beside_the_chosen_key() {
    let server = ollama();
    let mut config = config(&[("ollama", &server.base)]);
    let key = Secret::new("sk-groq").unwrap();
    config.keys.insert("groq".to_owned(), key);
    let registry = registry_of(config);

    registry.probe().await;

    let rows = registry.overview().await;
    let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    let (ollama, groq) = (row("ollama"), row("groq"));
    assert!(groq.is_chosen && !ollama.is_chosen);
    assert_eq!(ollama.models.len(), 2);
    assert_eq!(ollama.look.as_ref().unwrap().seen, ProbeOutcome::Models(2));
    assert!(groq.look.is_none());
}
