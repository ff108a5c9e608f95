//! `samovar relay`, and the tokens that open a room.

use reqwest::{Client, StatusCode};
use samovar_testkit::install_tls;
use serde_json::Value;

use crate::setup::program;

// proves RL-5, TL-11, FC-1
#[tokio::test]
async fn a_token_for_a_room_is_made_and_listed_by_its_scope_and_opens_nothing_else() {
    let program = program();
    let server = program.serve(&[]).await;
    let made = program
        .run([
            "token",
            "create",
            "booking",
            "--scope",
            "relay:two:halls:frontend",
        ])
        .await;

    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(
        made.stderr,
        "booking may join the room two:halls as its host, and nothing else; this is shown once:\n"
    );
    install_tls();
    let url = format!("http://{}/api/tokens", server.address);
    let asked = Client::new().get(&url).bearer_auth(made.stdout.trim());
    assert_eq!(asked.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let listed = program.run(["token", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["items"][0]["scope"], "relay:two:halls:host");
    let shown = program.run(["token", "list"]).await;
    assert!(
        shown.stdout.starts_with("booking  relay:two:halls:host  "),
        "{shown:?}"
    );
    let plain = program.run(["token", "create", "ci"]).await;
    assert_eq!(plain.stderr, "ci may use; this is shown once:\n");
}
