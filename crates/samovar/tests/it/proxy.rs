//! Models behind a proxy.

use samovar_model_server::{ModelServer, say};
use serde_json::{Value, json};

use crate::setup::{ended_with, program};

// proves MD-5, FC-1
#[tokio::test]
async fn the_proxy_of_the_shell_leads_to_models_and_its_password_is_never_shown() {
    let proxy = ModelServer::start([say("through the proxy")]);
    let proxy = proxy.await.unwrap();
    let with_password = proxy.origin().replace("://", "://me:a-pass-word@");
    let program = program()
        .set("http_proxy", &with_password)
        .set("ALL_PROXY", "socks5://me:a-pass-word@127.0.0.1:9")
        .set("NO_PROXY", "direct.example")
        .set("OPENAI_BASE_URL", "http://model.example/v1")
        .set("OPENAI_API_KEY", "sk-test-0123456789")
        .set("AGENT_MODEL", "openai/m")
        .set("SAMOVAR__MODELS__RETRIES", "0");

    let said = program.run(["run", "hi"]).await;
    assert_eq!(said.stdout, "through the proxy\n", "{said:?}");

    let failed = program.run(["run", "again"]).await;
    ended_with(&failed, 5, "provider_error");
    let named = format!("the proxy {}, which http_proxy sets", proxy.origin());
    assert!(failed.stderr.contains(&named), "{failed:?}");

    let doctor = program.run(["doctor", "--json"]).await;
    let document: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap().iter();
    let proxies = findings.filter(|finding| finding["what"] == "proxy");
    let proxies: Vec<_> = proxies
        .map(|finding| [&finding["ok"], &finding["fact"], &finding["reason"]])
        .collect();
    let used = format!("models elsewhere are asked through {}", proxy.origin());
    let exempt = "set by http_proxy; servers of this machine, and hosts of NO_PROXY, \
                  are asked directly";
    let ignored = "that of ALL_PROXY is not used: socks5 proxies are not supported, \
                   only http and https";
    let direct = "models are asked without a proxy; set models.proxy to an HTTP proxy";
    assert_eq!(
        json!(proxies),
        json!([[true, ignored, direct], [true, used, exempt]])
    );
    let explained = program
        .set("SAMOVAR__MODELS__PROXY", &with_password)
        .run(["config", "explain", "models.proxy"])
        .await;
    assert!(explained.stdout.contains("127.0.0.1"), "{explained:?}");
    for said in [said, failed, doctor, explained] {
        assert!(!format!("{said:?}").contains("a-pass-word"), "{said:?}");
    }
}
