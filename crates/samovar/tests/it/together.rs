//! Commands beside each other on one data directory.

use samovar_model_server::{Gate, When, say};
use samovar_testkit::{Finished, Signal};
use tokio::io::AsyncWriteExt;

use crate::setup::with_model;

// proves FC-1
#[tokio::test]
async fn a_chat_goes_on_by_itself_when_the_command_that_let_it_in_has_left() {
    let held = Gate::new("held");
    let (program, model) = with_model([
        say("the first is done")
            .hold_after(1, &held)
            .when(When::user("first")),
        say("the second is done").when(When::user("second")),
        say("the third is done").when(When::user("third")),
    ])
    .await;
    let first = program.command(["run", "first"]).spawn().unwrap();
    model.seen(1).await;

    let mut second = program.command(["chat"]);
    let mut second = second.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = second.stdin.take().unwrap();
    stdin.write_all(b"second\n").await.unwrap();
    model.seen(2).await;
    model.open(&held).unwrap();
    let first = Finished::of(first).await;
    stdin.write_all(b"third\n").await.unwrap();
    drop(stdin);
    let second = Finished::of(second).await;

    assert_eq!(first.stdout, "the first is done\n", "{first:?}");
    assert_eq!(
        second.stdout, "the second is done\nthe third is done\n",
        "{second:?}"
    );
    assert_eq!((first.code, second.code), (Some(0), Some(0)));
}

// proves FC-1
#[tokio::test]
async fn commands_that_begin_at_once_all_get_their_answer() {
    let (program, _model) = with_model([say("done").forever()]).await;
    let started: Vec<_> = (0..6)
        .map(|_| program.command(["run", "go"]).spawn().unwrap())
        .chain((0..3).map(|_| program.command(["sessions", "list"]).spawn().unwrap()))
        .collect();
    for (number, child) in started.into_iter().enumerate() {
        let said = Finished::of(child).await;
        assert_eq!(said.code, Some(0), "{number}: {said:?}");
        if number < 6 {
            assert_eq!(said.stdout, "done\n", "{said:?}");
        }
    }
    let said = program.run(["stats", "--json"]).await;
    let stats: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        (&stats["sessions"], &stats["messages"]),
        (&6.into(), &12.into()),
        "every message has its answer, and none is kept twice"
    );
}

// proves FC-1, FC-2
#[tokio::test]
async fn a_server_that_stands_still_is_given_up() {
    let program = crate::setup::program();
    let server = program.serve(&[]).await;
    server.send(Signal::STOP);
    let said = program.run(["sessions", "list"]).await;
    crate::setup::ended_with(&said, 8, "data_dir_busy");
    let said = program.run(["run", "--timeout", "1", "go"]).await;
    crate::setup::ended_with(&said, 124, "timeout");
    server.send(Signal::CONT);
    assert_eq!(program.run(["sessions", "list"]).await.code, Some(0));
}

// proves FC-1, FC-2
#[tokio::test]
async fn a_turn_that_takes_too_long_is_a_document_too() {
    let never = Gate::new("never");
    let (program, _model) = with_model([say("half of it").hold_after(1, &never)]).await;
    let said = program
        .run(["run", "-o", "json", "--timeout", "1", "go"])
        .await;
    assert_eq!(said.code, Some(124), "{said:?}");
    let turn: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(turn["finishReason"], "cancelled");
    assert_eq!(turn["schema"], "samovar.turn/1");
}
