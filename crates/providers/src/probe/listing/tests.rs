use serde_json::json;

use super::*;

/// The models as `name`, `+` or `-` for tools that are known, `!` for what does not talk, `*` for
/// what is loaded.
fn told(listed: Result<Vec<ListedModel>, ProbeOutcome>) -> String {
    let models = match listed {
        Ok(models) => models,
        Err(seen) => return format!("{seen:?}"),
    };
    let model = |model: &ListedModel| {
        let tools = match model.abilities.tools {
            Some(true) => "+",
            Some(false) => "-",
            None => "",
        };
        let talks = if model.abilities.talks { "" } else { "!" };
        let loaded = if model.is_loaded { "*" } else { "" };
        format!("{}{tools}{talks}{loaded}", model.name)
    };
    models.iter().map(model).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_list_of_names_is_read_as_servers_send_it() {
    for (body, wanted) in [
        (
            json!({"object": "list", "data": [
                {"id": "Qwen/Qwen3-32B", "object": "model", "owned_by": "vllm", "max_model_len": 8},
                {"id": "text-embedding-nomic-embed-text-v1.5"},
                {"id": "BAAI/bge-m3"},
                {"id": "bgeometry"},
                {"id": "Qwen3-Reranker-4B"},
                {"id": "/models/ggml-model.gguf", "meta": {"n_params": 1}},
            ]}),
            "Qwen/Qwen3-32B text-embedding-nomic-embed-text-v1.5! BAAI/bge-m3! bgeometry \
             Qwen3-Reranker-4B! /models/ggml-model.gguf",
        ),
        (json!({"object": "list", "data": []}), ""),
        (json!({"object": "list", "data": null}), ""),
        (json!({"error": "Unexpected endpoint or method."}), "NoList"),
        (json!({"data": "none"}), "NoList"),
        (json!({"data": [{"id": "a"}, {"name": "b"}]}), "NoList"),
        (json!({"data": [1]}), "NoList"),
        (json!([{"id": "a"}]), "NoList"),
        (json!(null), "NoList"),
    ] {
        assert_eq!(told(names(&body)), wanted, "{body}");
    }
}

// proves AS-15
#[test]
fn a_window_is_read_where_servers_name_it_and_only_if_it_is_possible() {
    for (row, wanted) in [
        (
            json!({"meta": {"n_ctx": 8192, "n_ctx_train": 32768}}),
            Some(8192),
        ),
        (json!({"max_model_len": 4096}), Some(4096)),
        (
            json!({"loaded_context_length": 4096, "max_context_length": 131_072}),
            Some(4096),
        ),
        (json!({"max_context_length": 131_072}), None),
        (json!({"context_window": "131072"}), Some(131_072)),
        (
            json!({"context_length": null, "top_provider": {"context_length": 200_000}}),
            Some(200_000),
        ),
        (json!({"context_length": 0}), None),
        (json!({"context_length": 1_000_000_000_000_u64}), None),
        (json!({"context_length": -1}), None),
        (json!({"context_length": "large"}), None),
        (json!({}), None),
    ] {
        assert_eq!(window(&row), wanted, "{row}");
    }
}

#[test]
fn ollamas_list_leaves_out_what_runs_elsewhere() {
    let body = json!({"models": [
        {"name": "llama3.2:3b", "model": "llama3.2:3b", "size": 2, "details": {"family": "llama"}},
        {"name": "gpt-oss:120b-cloud", "remote_host": "https://ollama.com:443"},
        {"name": "all-minilm:latest"},
    ]});
    assert_eq!(told(ollama(&body)), "llama3.2:3b all-minilm:latest!");
    assert_eq!(told(ollama(&json!({"models": null}))), "");
    assert_eq!(told(ollama(&json!({"data": []}))), "NoList");
}

#[test]
fn ollama_tells_what_a_model_can_do() {
    for (listed, shown, talks, tools) in [
        (
            true,
            json!({"capabilities": ["completion", "tools"]}),
            true,
            Some(true),
        ),
        (
            true,
            json!({"capabilities": ["completion", "vision"]}),
            true,
            Some(false),
        ),
        (
            true,
            json!({"capabilities": ["embedding"]}),
            false,
            Some(false),
        ),
        (
            true,
            json!({"template": "{{ if .Tools }}x{{ end }}"}),
            true,
            Some(true),
        ),
        (
            false,
            json!({"template": "{{ .Prompt }}"}),
            false,
            Some(false),
        ),
        (true, json!({"template": ""}), true, None),
        (false, json!({"error": "no such model"}), false, None),
    ] {
        let listed = Abilities {
            talks: listed,
            tools: None,
            images: None,
        };
        let names = shown["capabilities"].as_array();
        let wanted = Abilities {
            talks,
            tools,
            images: names.map(|names| names.contains(&json!("vision"))),
        };
        assert_eq!(ollama_abilities(listed, &shown), wanted, "{shown}");
    }
}

#[test]
fn lm_studio_tells_what_a_model_is_can_do_and_whether_it_is_loaded() {
    let body = json!({"object": "list", "data": [
        {"id": "a", "type": "llm", "state": "not-loaded", "capabilities": ["tool_use"]},
        {"id": "b", "type": "vlm", "state": "loaded", "capabilities": []},
        {"id": "c", "type": "embeddings", "state": "loaded"},
        {"id": "d", "type": "llm", "state": "loaded"},
        {"id": "e"},
    ]});
    assert_eq!(told(lm_studio(&body)), "a+ b-* c-!* d-* e-");
    let old = json!({"data": [{"id": "a", "type": "llm", "state": "loaded"}]});
    assert_eq!(told(lm_studio(&old)), "a*");
    assert_eq!(told(lm_studio(&json!({"error": "x"}))), "NoList");
}

#[test]
fn llama_cpp_may_tell_which_of_its_models_make_vectors() {
    let told_of = |models: Value| {
        let data = json!([{"id": "a"}, {"id": "b"}]);
        told(llama_cpp(&json!({"data": data, "models": models})))
    };
    let rows = json!([{"capabilities": ["completion"]}, {"capabilities": ["embedding"]}]);
    assert_eq!(told_of(rows), "a b!");
    assert_eq!(told_of(json!([{}])), "a b");
    assert_eq!(told_of(json!("none")), "a b");
}

#[test]
fn llama_cpp_tells_by_its_template_whether_its_model_can_call_tools() {
    for (props, wanted) in [
        (
            json!({"chat_template_caps": {"supports_tools": true, "supports_tool_calls": true}}),
            Some(true),
        ),
        (
            json!({"chat_template_caps": {"supports_tools": true, "supports_tool_calls": false}}),
            Some(false),
        ),
        (
            json!({"chat_template_caps": {"supports_tools": false}, "chat_template": "tools"}),
            Some(false),
        ),
        (json!({"chat_template": "{%- if tools %}"}), Some(true)),
        (json!({"chat_template": "{{ messages }}"}), Some(false)),
        (json!({"chat_template": ""}), None),
        (json!({"chat_template_caps": {}}), None),
        (json!("tools"), None),
    ] {
        assert_eq!(llama_cpp_tools(&props), wanted, "{props}");
    }
}
