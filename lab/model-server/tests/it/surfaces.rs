//! What the server tells about itself, as each local server would.

use samovar_model_server::{
    Answered, Builder, ExchangeEnd, Model, ModelServer, Reply, Surface, endless, page, reset, say,
    silent,
};
use serde_json::{Value, json};

use crate::client::{ANTHROPIC, BodyEnd, Client, DIALECTS, OPENAI, Response};

/// Three models: one that calls tools, one that does not and is not loaded, one for embeddings.
fn with_models(surface: Surface) -> Builder {
    ModelServer::builder()
        .surface(surface)
        .model(Model::new("qwen3:8b").with_tools())
        .model(Model::new("gemma3:4b").not_loaded())
        .model(Model::new("nomic-embed").for_embeddings())
}

async fn start(builder: Builder) -> ModelServer {
    builder.start([say("fine").forever()]).await.unwrap()
}

async fn get(server: &ModelServer, path: &str) -> Response {
    send(server, "GET", path, "").await
}

async fn send(server: &ModelServer, method: &str, path: &str, body: &str) -> Response {
    let mut client = Client::connect(server).await;
    client.send(method, path, &[], body).await;
    client.response().await
}

fn strings<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item[field].as_str().unwrap()).collect()
}

#[tokio::test]
async fn ollama_shows_the_capabilities_of_each_model() {
    let server = start(with_models(Surface::Ollama)).await;

    assert_eq!(get(&server, "/").await.text(), "Ollama is running");
    assert!(get(&server, "/api/version").await.json()["version"].is_string());
    let tags = get(&server, "/api/tags").await.json();
    let names = ["qwen3:8b", "gemma3:4b", "nomic-embed"];
    assert_eq!(strings(&tags["models"], "name"), names);
    let digests = strings(&tags["models"], "digest");
    assert!(digests[0].len() == 64 && digests[0] != digests[1]);
    let list = get(&server, "/v1/models").await.json();
    assert_eq!(strings(&list["data"], "id"), names);

    let table = [
        ("qwen3:8b", json!(["completion", "tools"])),
        ("gemma3:4b", json!(["completion"])),
        ("nomic-embed", json!(["embedding"])),
    ];
    for (name, capabilities) in table {
        for field in ["model", "name"] {
            let body = json!({field: name}).to_string();
            let shown = send(&server, "POST", "/api/show", &body).await;
            assert_eq!(shown.json()["capabilities"], capabilities);
        }
    }
    let unknown = send(&server, "POST", "/api/show", r#"{"model":"x"}"#).await;
    assert_eq!(unknown.head.status, 404);
    assert_eq!(unknown.json(), json!({"error": "model 'x' not found"}));
    assert_eq!(
        send(&server, "POST", "/api/show", "{}").await.head.status,
        400
    );
    assert_eq!(get(&server, "/api/show").await.head.status, 405);
    let nowhere = get(&server, "/api/v0/models").await;
    assert_eq!(
        (nowhere.head.status, nowhere.text()),
        (404, "404 page not found")
    );
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.answered() == &Answered::Models)
    );
}

#[tokio::test]
async fn ollama_refuses_tools_for_a_model_without_them() {
    let server = start(with_models(Surface::Ollama)).await;
    let mut body = OPENAI.plain("hi");
    body["tools"] = json!([{"type": "function", "function": {"name": "t"}}]);
    for (model, status) in [("qwen3:8b", 200), ("gemma3:4b", 400), ("x", 404)] {
        body["model"] = model.into();
        let response = OPENAI.ask(&server, &body).await;
        assert_eq!(response.head.status, status, "{model}");
        if status == 400 {
            let message = "registry.ollama.ai/library/gemma3:4b does not support tools";
            assert_eq!(response.json()["error"]["message"], message);
        }
    }
    body.as_object_mut().unwrap().shift_remove("tools");
    body["model"] = "gemma3:4b".into();
    assert_eq!(OPENAI.ask(&server, &body).await.head.status, 200);
}

#[tokio::test]
async fn lm_studio_tells_kind_state_and_tools_and_calls_errors_200() {
    let server = start(with_models(Surface::LmStudio)).await;

    let v0 = get(&server, "/api/v0/models").await.json();
    assert_eq!(strings(&v0["data"], "type"), ["llm", "llm", "embeddings"]);
    assert_eq!(
        strings(&v0["data"], "state"),
        ["loaded", "not-loaded", "loaded"]
    );
    assert_eq!(v0["data"][0]["capabilities"], json!(["tool_use"]));
    assert_eq!(v0["data"][1].get("capabilities"), None);
    assert_eq!(v0["data"][1].get("loaded_context_length"), None);
    let v1 = get(&server, "/api/v1/models").await.json();
    assert_eq!(strings(&v1["models"], "type"), ["llm", "llm", "embedding"]);
    let trained =
        |index: usize| v1["models"][index]["capabilities"]["trained_for_tool_use"].clone();
    assert_eq!(
        (trained(0), trained(1), trained(2)),
        (json!(true), json!(false), Value::Null)
    );
    assert_eq!(v1["models"][1]["loaded_instances"], json!([]));
    assert_eq!(v1["models"][0]["loaded_instances"][0]["id"], "qwen3:8b");
    let list = get(&server, "/v1/models").await.json();
    assert_eq!(
        strings(&list["data"], "owned_by"),
        ["organization_owner"; 3]
    );

    let nowhere = get(&server, "/api/tags").await;
    assert_eq!(nowhere.head.status, 200);
    let error = "Unexpected endpoint or method. (GET /api/tags)";
    assert_eq!(nowhere.json(), json!({"error": error}));
}

#[tokio::test]
async fn llama_cpp_tells_what_its_template_can_do() {
    let builder = ModelServer::builder().surface(Surface::LlamaCpp);
    let loading = start(builder.clone()).await;
    for path in ["/health", "/props", "/v1/models"] {
        let response = get(&loading, path).await;
        assert_eq!(response.head.status, 503);
        assert_eq!(response.json()["error"]["type"], "unavailable_error");
    }
    for (model, has_tools) in [
        (Model::new("m").with_tools(), true),
        (Model::new("m"), false),
    ] {
        let server = start(builder.clone().model(model)).await;
        let props = get(&server, "/props").await.json();
        let caps = &props["chat_template_caps"];
        assert_eq!(caps["supports_tools"], has_tools);
        assert_eq!(caps["supports_tool_calls"], has_tools);
        let template = props["chat_template"].as_str().unwrap();
        assert_eq!(template.contains("tools"), has_tools);
        let list = get(&server, "/v1/models").await.json();
        assert_eq!(strings(&list["data"], "owned_by"), ["llamacpp"]);
        assert_eq!(
            get(&server, "/health").await.json(),
            json!({"status": "ok"})
        );
        let nowhere = get(&server, "/api/tags").await;
        assert_eq!(nowhere.head.status, 404);
        assert_eq!(nowhere.json()["error"]["type"], "not_found_error");
    }
}

#[tokio::test]
async fn vllm_and_jan_tell_who_owns_a_model_and_no_more() {
    let server = start(with_models(Surface::Vllm)).await;
    let list = get(&server, "/v1/models").await.json();
    assert_eq!(strings(&list["data"], "owned_by"), ["vllm"; 3]);
    assert!(list["data"][0]["max_model_len"].is_u64());
    assert!(get(&server, "/version").await.json()["version"].is_string());
    assert_eq!(get(&server, "/health").await.head.status, 200);
    let nowhere = get(&server, "/props").await;
    assert_eq!(nowhere.head.status, 404);
    assert_eq!(nowhere.json(), json!({"detail": "Not Found"}));

    let server = start(with_models(Surface::Jan)).await;
    let list = get(&server, "/v1/models").await.json();
    assert_eq!(strings(&list["data"], "id"), ["qwen3:8b", "nomic-embed"]);
    assert_eq!(strings(&list["data"], "owned_by"), ["llama.cpp"; 2]);
    let nowhere = get(&server, "/api/version").await;
    assert_eq!((nowhere.head.status, nowhere.text()), (404, "Not Found"));
}

#[tokio::test]
async fn every_surface_answers_prompts_in_both_dialects() {
    let surfaces = [
        Surface::Ollama,
        Surface::LmStudio,
        Surface::LlamaCpp,
        Surface::Vllm,
        Surface::Jan,
    ];
    for surface in surfaces {
        let server = start(with_models(surface)).await;
        for dialect in DIALECTS {
            let mut body = dialect.plain("hi");
            body["model"] = "qwen3:8b".into();
            assert_eq!(dialect.ask(&server, &body).await.said(), "fine");
            body["model"] = "other".into();
            assert_eq!(dialect.ask(&server, &body).await.head.status, 404);
        }
        let empty = start(ModelServer::builder().surface(surface)).await;
        let any = OPENAI.ask(&empty, &OPENAI.plain("hi")).await;
        assert_eq!(any.head.status, 404, "{surface:?}");
    }
}

#[tokio::test]
async fn a_key_is_asked_for_on_every_surface() {
    let server = start(with_models(Surface::Ollama).key("k")).await;
    assert_eq!(get(&server, "/api/tags").await.head.status, 401);
    let mut client = Client::connect(&server).await;
    let key = [("authorization", "Bearer k")];
    client.send("GET", "/api/tags", &key, "").await;
    assert_eq!(client.response().await.head.status, 200);
}

fn always(reply: Reply) -> Builder {
    ModelServer::builder().always(reply)
}

#[tokio::test]
async fn a_page_may_be_the_answer_to_everything() {
    let login = "<!doctype html><title>Log in</title>";
    let server = start(always(page(200, "text/html", login)).surface(Surface::Ollama)).await;
    let table = [
        ("GET", "/api/tags", ""),
        ("GET", "/v1/models", ""),
        ("POST", OPENAI.path, "{}"),
        ("POST", ANTHROPIC.path, "{}"),
        ("PUT", "/nowhere", "x"),
    ];
    for (method, path, body) in table {
        let response = send(&server, method, path, body).await;
        assert_eq!(response.head.status, 200);
        assert_eq!(response.head.header("content-type"), Some("text/html"));
        assert_eq!(response.text(), login, "{method} {path}");
    }
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.answered() == &Answered::Always)
    );
    assert_eq!(server.prompts().len(), 2);
}

#[tokio::test]
async fn silence_or_a_reset_may_be_the_answer_to_everything() {
    let server = start(always(silent())).await;
    let mut client = Client::connect(&server).await;
    client.send("GET", "/v1/models", &[], "").await;
    let arrived = server.wait_for(|requests| !requests.is_empty()).await;
    assert_eq!(arrived[0].ended(), None);
    drop(client);
    assert_eq!(arrived[0].end().await, ExchangeEnd::ClientLeft);

    let server = start(always(reset())).await;
    let mut client = Client::connect(&server).await;
    client.send("GET", "/api/version", &[], "").await;
    assert_eq!(client.rest().await, (Vec::new(), BodyEnd::Reset));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_may_have_no_end() {
    let body = "{\"models\":[\"a\",";
    let server = start(always(endless("application/json", body))).await;
    let mut client = Client::connect(&server).await;
    client.send("GET", "/api/tags", &[], "").await;
    let head = client.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("application/json"));
    assert_eq!(head.header("content-length"), None);
    let mut read = Vec::new();
    while read.len() < 4 << 20 {
        read.extend(client.chunk().await.unwrap());
    }
    assert!(read.starts_with(body.repeat(2).as_bytes()));
    assert_eq!(server.requests()[0].ended(), None);

    drop(client);

    server.wait_for_disconnect().await;
    let server = start(always(endless("text/plain", ""))).await;
    assert_eq!(get(&server, "/").await.end, BodyEnd::Whole);
}
