//! `samovar open`, and the page that `serve` has for it.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use reqwest::{Client, Method};
use samovar_testkit::{Program, Serving};
use serde_json::{Value, json};

use crate::setup::{ended_with, program};

/// A browser that only writes down what it is to show, and ends with this exit code.
fn browser(program: &Program, exit: i32) -> PathBuf {
    let path = program.home().join(format!("browser-{exit}"));
    let script = format!("#!/bin/sh\necho \"$@\" >> \"$0.shown\"\nexit {exit}\n");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

/// What a browser was to show.
fn shown(browser: &std::path::Path) -> String {
    let shown = std::fs::read_to_string(browser.with_extension("shown"));
    shown.unwrap_or_default().trim().to_owned()
}

/// Logs in with a link, as the page does: what the server answers.
async fn log_in(server: &Serving, link: &str) -> Value {
    let begin = format!("http://{}/#login=", server.address);
    let code = link.strip_prefix(&begin);
    let code = code.unwrap_or_else(|| panic!("{link} is no link of {begin}"));
    let url = format!("http://{}/api/login", server.address);
    let client = Client::builder().no_proxy().build().unwrap();
    let asked = client.post(url).json(&json!({"code": code}));
    asked.send().await.unwrap().json().await.unwrap()
}

// proves FC-1, TL-11
#[tokio::test]
async fn a_link_is_opened_or_printed_and_logs_one_browser_in() {
    let program = program();
    let (good, bad) = (browser(&program, 0), browser(&program, 1));
    let server = program.serve(&[]).await;

    let (good_name, bad_name) = (good.display().to_string(), bad.display().to_string());
    let program = program.set("BROWSER", &format!("{bad_name}:{good_name}"));
    let said = program.run(["open"]).await.exits(0);
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("was opened"), "{said:?}");
    let link = shown(&good);
    assert_eq!(shown(&bad), link);
    let me = log_in(&server, &link).await;
    assert_eq!(
        (&me["name"], &me["scope"]),
        (&json!("browser"), &json!("admin"))
    );
    assert_eq!(log_in(&server, &link).await["code"], "login_used");

    let said = program.run(["open", "--print"]).await.exits(0);
    let printed = said.stdout.strip_suffix('\n').unwrap();
    assert_eq!((shown(&good), said.stderr.as_str()), (link.clone(), ""));
    assert_eq!(log_in(&server, printed).await["name"], "browser-2");

    let said = program
        .run(["open", "--json", "--scope", "read"])
        .await
        .exits(0);
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(answer["schema"], "samovar.login_link/1");
    assert_eq!(
        (&answer["opened"], &answer["expiresInMs"]),
        (&json!(true), &json!(600_000))
    );
    let me = log_in(&server, answer["url"].as_str().unwrap()).await;
    assert_eq!(me["scope"], "read");

    let mut program = program;
    for browser in [&*bad_name, "there-is-no-such-browser"] {
        program = program.set("BROWSER", browser);
        let said = program.run(["open"]).await.exits(0);
        assert!(
            said.stderr.contains("no browser could be started"),
            "{said:?}"
        );
        let me = log_in(&server, said.stdout.trim()).await;
        assert_eq!(me["by"], "cookie");
    }
}

// proves FC-1, TL-11
#[tokio::test]
async fn a_login_is_listed_with_its_end_and_revoked_like_every_token() {
    let program = program();
    let server = program.serve(&[]).await;
    let said = program.run(["open", "--print"]).await.exits(0);
    log_in(&server, said.stdout.trim()).await;
    let said = program.run(["token", "list"]).await.exits(0);
    let words: Vec<_> = said.stdout.split_whitespace().collect();
    assert_eq!(
        (words[0], words[1], words[4]),
        ("browser", "admin", "until")
    );
    program.run(["token", "revoke", "browser"]).await.exits(0);
    let said = program.run(["token", "list"]).await.exits(0);
    assert_eq!(said.stdout, "");
    let said = program.run(["audit", "show"]).await.exits(0);
    assert!(said.stdout.contains("token_made"), "{said:?}");
}

// proves FC-1
#[tokio::test]
async fn a_server_opens_its_page_when_it_is_told_to() {
    let program = program();
    let browser = browser(&program, 0);
    let program = program.set("BROWSER", &browser.display().to_string());
    let server = program.serve(&["--open"]).await;
    let link = loop {
        match shown(&browser) {
            link if !link.is_empty() => break link,
            _ => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    };
    assert_eq!(log_in(&server, &link).await["by"], "cookie");
}

// proves FC-1, FC-6
#[tokio::test]
async fn without_a_page_it_says_what_to_do() {
    let program = program();
    let said = program.run(["open"]).await;
    ended_with(&said, 8, "server_unreachable");
    assert!(said.stderr.contains("samovar serve --open"), "{said:?}");

    let server = program.serve(&["--no-ui"]).await;
    assert!(
        server.banner.contains("\npage: off (--no-ui)\n"),
        "{}",
        server.banner
    );
    let said = program.run(["open"]).await;
    ended_with(&said, 2, "page_off");
    assert!(said.stderr.contains("samovar serve --open"), "{said:?}");
    let page = server.answer(server.request(Method::GET, "/")).await;
    assert_eq!(page.status, 404);
    let said = program.run(["doctor", "-v"]).await.exits(0);
    assert!(said.stdout.contains("--no-ui"), "{said:?}");

    let said = program.run(["serve", "--open", "--no-ui"]).await;
    assert_eq!(said.code, Some(2), "{said:?}");
}
