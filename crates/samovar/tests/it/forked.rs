//! Forks from the command line.

use samovar_model_server::say;
use serde_json::Value;

use crate::setup::with_model;

// proves AS-28
#[tokio::test]
async fn a_session_is_forked_whole_and_from_a_message() {
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let run = async |args: &[&str]| {
        let args = args.iter().copied().chain(["--data-dir", "data"]);
        program.run(args.collect::<Vec<_>>()).await
    };
    let json = async |args: &[&str]| -> Value {
        let told = run(&[args, &["--json"]].concat()).await;
        serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"))
    };
    run(&["run", "one"]).await;
    run(&["run", "--continue", "two"]).await;

    let told = run(&["run", "--continue", "--fork", "three"]).await;

    assert!(told.stderr.contains("was forked into"), "{told:?}");
    let listed = json(&["sessions", "list"]).await;
    let [fork, whole] = [0, 1].map(|at| &listed["items"][at]);
    assert_eq!(
        (&fork["messageCount"], &whole["messageCount"]),
        (&6.into(), &4.into())
    );
    assert_eq!(fork["forkedFrom"]["sessionId"], whole["id"]);
    let shown = run(&["sessions", "list"]).await;
    assert_eq!(
        shown.stdout.matches("one (fork of ").count(),
        1,
        "{shown:?}"
    );

    let whole = whole["id"].as_str().unwrap();
    let messages = json(&["sessions", "show", whole]).await;
    let second = messages["messages"][1]["id"].as_str().unwrap();
    let args = [
        "sessions", "fork", whole, "--at", second, "--into", "f", "--title", "A way",
    ];
    let made = json(&args).await;
    assert_eq!(
        (&made["id"], &made["title"]),
        (&"f".into(), &"A way".into())
    );
    assert_eq!(made["messageCount"], 2);
    let told = run(&["sessions", "fork", whole, "--at", "bogus"]).await;
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(
        told.stderr
            .contains("samovar sessions show ID --json lists"),
        "{told:?}"
    );
    let told = run(&["run", "--fork", "hello"]).await;
    assert_eq!(told.code, Some(2), "{told:?}");
}
