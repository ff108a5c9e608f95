//! A memory that was deleted is in no recall and no request to the model, over kills at each step of its
//! deletion, of two servers that share the person's own file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use reqwest::Method;
use samovar_model_server::{ModelServer, When, say};
use samovar_testkit::{Program, Serving};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::setup::with_model;

/// The points of a deletion, and at the end none: the server is killed after it has answered.
const POINTS: [&str; 4] = [
    "memory.forget.before",
    "memory.forget.marked",
    "memory.forget.after",
    "",
];

/// What a server recalls for a word.
async fn recalled(server: &Serving, word: &str) -> Value {
    server.ok("searchMemory", json!({ "query": word })).await
}

/// What the model is sent for a message in a new session.
async fn told(server: &Serving, model: &ModelServer) -> String {
    let session = server.session().await;
    server.turn(&session, "hello").await;
    let prompts = model.prompts();
    prompts.last().unwrap().body().to_string()
}

async fn delete(server: &Serving, id: &str) -> bool {
    let path = format!("/api/memory/{id}");
    let sent = server.request(Method::DELETE, &path).json(&json!({}));
    sent.send().await.is_ok_and(|answer| answer.status() == 200)
}

/// A line in the person's own file, as a hand or another store writes it.
fn write_own(file: &Path, number: usize, fact: &str) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    writeln!(file, "- {fact} <!-- m{number:010x} 2026-11-29 -->").unwrap();
}

/// Deletes a memory a kill, and looks for it so many times after it.
#[expect(
    clippy::print_stdout,
    reason = "it says where it was, if it comes to no end"
)]
async fn looked_for(kills: usize, looks: usize) {
    let folder = TempDir::new().unwrap();
    let own = folder.path().join("samovar/MEMORY.md");
    fs::create_dir(own.parent().unwrap()).unwrap();
    let shared = folder.path().to_str().unwrap().to_owned();
    let rule = || vec![say("fine").when(When::user("hello")).forever()];
    let (program, model) = with_model(rule()).await;
    let (second, other_model) = with_model(rule()).await;
    let mut program: Program = program.set("XDG_CONFIG_HOME", &shared);
    let second = second.set("XDG_CONFIG_HOME", &shared);
    let other = second.serve(&[]).await;
    let begun = Instant::now();
    for kill in 0..kills {
        println!("kill {kill} after {:.0?}", begun.elapsed());
        let (word, point) = (format!("zebra{kill}"), POINTS[kill % POINTS.len()]);
        let is_own = (kill / POINTS.len()).is_multiple_of(2);
        program = program.set("SAMOVAR_FAILPOINT", point);
        let server = program.serve(&[]).await;
        let fact = format!("The person likes {word}.");
        if is_own {
            write_own(&own, kill, &fact);
            assert_eq!(recalled(&other, &word).await[0]["text"], fact);
            assert!(told(&other, &other_model).await.contains(&word));
        } else {
            server.ok("updateMemory", json!({ "facts": [fact] })).await;
        }
        let id = recalled(&server, &word).await[0]["id"].clone();
        let id = id.as_str().unwrap();
        assert!(told(&server, &model).await.contains(&word));
        assert_eq!(delete(&server, id).await, point.is_empty(), "{point}");
        server.kill().await;

        program = program.set("SAMOVAR_FAILPOINT", "");
        let server = program.serve(&[]).await;
        if point == POINTS[0] {
            assert_eq!(
                recalled(&server, &word).await[0]["id"],
                id,
                "nothing was done"
            );
            assert!(delete(&server, id).await);
        }
        for _ in 0..looks {
            let (own, others) = tokio::join!(recalled(&server, &word), recalled(&other, &word));
            assert!(!own.to_string().contains("zebra"), "{point}: {own}");
            assert!(!others.to_string().contains("zebra"), "{point}: {others}");
        }
        for (server, model) in [(&server, &model), (&other, &other_model)] {
            let told = told(server, model).await;
            assert!(!told.contains("zebra"), "{point}: {told}");
        }
        server.kill().await;
    }
}

// proves MD-13, FC-10
#[tokio::test]
async fn what_was_deleted_is_found_and_told_no_more_by_two_servers_over_kills() {
    looked_for(8, 10).await;
}

/// The figure: 10,000 looks over 50 kills.
mod proof {
    // proves MD-13
    #[tokio::test]
    async fn what_was_deleted_is_in_none_of_ten_thousand_recalls_over_fifty_kills() {
        super::looked_for(50, 100).await;
    }
}
