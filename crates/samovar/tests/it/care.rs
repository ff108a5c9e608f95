//! A kill while the stores themselves are taken care of: a backup is put back, something damaged is
//! set aside, tables are made.

use std::fs;
use std::path::Path;

use reqwest::Method;
use samovar_model_server::{ModelServer, say};
use samovar_testkit::{Program, Serving, Signal};
use samovar_wire::agent::Attachment;
use serde_json::{Value, json};

use crate::setup::{messages, with_model};

/// The variable that names the point.
const ARMED: &str = "SAMOVAR_FAILPOINT";
const SESSION: &str = "s";
const BEFORE: [&str; 2] = ["user: first", "assistant: an answer"];
const AFTER: [&str; 4] = [BEFORE[0], BEFORE[1], "user: second", "assistant: an answer"];

/// A data directory in which something was said after its backup was made.
struct Saved {
    program: Program,
    _model: ModelServer,
}

impl Saved {
    async fn new() -> Self {
        let (program, model) = with_model([say("an answer").forever()]).await;
        let server = serve(&program, "data").await;
        let session = json!({"sessionId": SESSION});
        server.ok("createSession", session).await;
        server.turn(SESSION, "first").await;
        program
            .run(["backup", "saved", "--data-dir", "data"])
            .await
            .exits(0);
        server.turn(SESSION, "second").await;
        // Read, it is in the history.
        assert_eq!(messages(&server, SESSION).await, AFTER);
        server.kill().await;
        Self {
            program,
            _model: model,
        }
    }

    /// Another copy of it.
    fn copy(&self, name: &str) -> String {
        let folder = self.program.folder();
        copy_all(&folder.join("data"), &folder.join(name));
        name.to_owned()
    }

    /// The same program, to be killed when it comes to a point for so many times.
    fn armed(self, point: &str, visit: u32) -> Self {
        let program = self.program.set(ARMED, &format!("{point}:{visit}"));
        Self { program, ..self }
    }

    fn disarmed(self) -> Self {
        let program = self.program.set(ARMED, "");
        Self { program, ..self }
    }
}

async fn serve(program: &Program, data: &str) -> Serving {
    program.serve(&["--data-dir", data]).await
}

/// Whether a server comes to serving there; it is killed then.
async fn lives(program: &Program, data: &str) -> bool {
    match program.try_serve(&["--data-dir", data]).await {
        Ok(server) => {
            server.kill().await;
            true
        }
        Err(ended) => {
            assert_eq!(ended.code, None, "{ended:?}");
            false
        }
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The names in a folder that begin so.
fn names(folder: &Path, begin: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(begin)).collect()
}

/// Whether a backup that was put back has its place; holds either way against what was there.
async fn is_restored(program: &Program, data: &str, what: &str) -> bool {
    let folder = program.folder().join(data);
    let mut told = Vec::new();
    // What the first start finds the second one keeps.
    for _ in 0..2 {
        let server = serve(program, data).await;
        told.push(messages(&server, SESSION).await);
        server.kill().await;
    }
    assert_eq!(told[0], told[1], "{what}");
    let leftovers = names(&folder, "restore");
    assert_eq!(leftovers, Vec::<String>::new(), "{what}");
    let replaced = names(&folder, "replaced-");
    let is_restored = told[0] == BEFORE;
    assert!(is_restored || told[0] == AFTER, "{what}: {told:?}");
    assert_eq!(replaced.len(), usize::from(is_restored), "{what}");
    for aside in replaced {
        // It is all there still: a start continues with it.
        let again = format!("{data}/{aside}");
        let server = serve(program, &again).await;
        assert_eq!(messages(&server, SESSION).await, AFTER, "{what}");
        server.kill().await;
    }
    is_restored
}

// proves DU-13
#[tokio::test]
async fn a_restore_that_is_killed_at_any_point_has_not_begun_or_is_finished_by_the_next_start() {
    const POINTS: [&str; 6] = [
        "restore.staged.before",
        "restore.staged.after",
        "aside.move.after",
        "restore.moved.after",
        "restore.run.after",
        "restore.unstaged.after",
    ];
    let mut saved = Saved::new().await;
    for point in POINTS {
        for visit in 1.. {
            let what = format!("{point}:{visit}");
            saved = saved.armed(point, visit);
            let data = saved.copy(&what);
            let args = ["restore", "saved", "--force", "--data-dir", &data];
            let ended = saved.program.run(args).await;
            saved = saved.disarmed();
            let is_done = is_restored(&saved.program, &data, &what).await;
            let is_begun = ended.code == Some(0) || point != "restore.staged.before";
            assert_eq!(is_done, is_begun, "{what}");
            fs::remove_dir_all(saved.program.folder().join(&data)).unwrap();
            if ended.code == Some(0) {
                assert!(visit > 1, "{point} is never reached");
                break;
            }
            assert_eq!(ended.code, None, "{ended:?}");
        }
    }
}

// proves DU-13
#[tokio::test]
async fn what_a_killed_restore_has_left_over_is_in_nobodys_way() {
    let saved = Saved::new().await.armed("restore.unstaged.after", 1);
    let args = ["restore", "saved", "--force", "--data-dir", "data"];
    assert_eq!(saved.program.run(args).await.code, None);
    // The kill came while it was being removed.
    let left = saved.program.folder().join("data/restore.part");
    fs::remove_file(left.join("plan.json")).unwrap();

    let saved = saved.disarmed();
    assert!(is_restored(&saved.program, "data", "half removed").await);

    let data = saved.program.folder().join("data");
    copy_all(
        &saved.program.folder().join("saved"),
        &data.join("restore.part"),
    );
    serve(&saved.program, "data").await.kill().await;
    assert!(!data.join("restore.part").exists(), "half a copy");
}

// proves DU-13
#[tokio::test]
async fn a_store_that_is_being_set_aside_when_a_kill_comes_is_told_of_and_the_rest_is_served() {
    let mut saved = Saved::new().await;
    for (file, kept) in [
        ("journal/data.mdb", "history.db"),
        ("history.db", "journal/data.mdb"),
    ] {
        for visit in 1.. {
            let what = format!("{file} {visit}").replace('/', " ");
            saved = saved.armed("aside.move.after", visit);
            let data = saved.copy(&what);
            let folder = saved.program.folder().join(&data);
            fs::write(folder.join(file), vec![0xff; 9000]).unwrap();
            // It would have the pages still.
            if file == "history.db" {
                fs::remove_file(folder.join("history.db-wal")).unwrap();
            }
            let is_over = lives(&saved.program, &data).await;
            saved = saved.disarmed();
            for _ in 0..2 {
                let server = serve(&saved.program, &data).await;
                let told = messages(&server, SESSION).await;
                assert_eq!(told, AFTER, "{what}: {kept} has it");
                server.kill().await;
            }
            let reports = names(&folder.join("damaged"), "").into_iter();
            let reports = reports
                .filter(|name| !name.contains("journal") && !name.contains("history"))
                .count();
            assert!((1..=2).contains(&reports), "{what}: {reports}");
            if is_over {
                assert!(visit > 1, "{what}: nothing was set aside");
                break;
            }
        }
    }
}

// proves DU-11, DU-13
#[tokio::test]
async fn a_kill_between_the_closing_of_the_two_stores_is_no_damage() {
    let mut saved = Saved::new().await;
    for point in ["close.before", "close.between", "close.after"] {
        saved = saved.armed(point, 1);
        let data = saved.copy(point);
        let server = serve(&saved.program, &data).await;
        server.send(Signal::TERM);
        assert_eq!(server.end().await.code, None, "{point}");
        saved = saved.disarmed();
        let server = serve(&saved.program, &data).await;
        assert_eq!(messages(&server, SESSION).await, AFTER, "{point}");
        let damage = server.request(Method::GET, "/api/damage");
        let damage = server.answer(damage).await.body;
        assert_eq!(damage["items"], json!([]), "{point}");
    }
}

/// A message with an image and a fixed id.
fn with_image() -> Value {
    let image = include_bytes!("../../src/model_test/red.png");
    let attachments = json!([Attachment::of(image)]);
    json!({"sessionId": SESSION, "content": "second", "messageId": "m", "attachments": attachments})
}

// proves AS-30, DU-13
#[tokio::test]
async fn a_kill_leaves_no_image_without_a_message_and_no_message_without_its_image() {
    let mut saved = Saved::new().await;
    for (point, is_told) in [
        ("blob.put.before", false),
        ("blob.put.after", false),
        ("blob.remove.after", true),
    ] {
        let data = saved.copy(point);
        let blobs = saved.program.folder().join(&data).join("blobs");
        let images = || names(&blobs, "").len();
        let undo = json!({"sessionId": SESSION});
        if is_told {
            let server = serve(&saved.program, &data).await;
            server.ok("undo", undo.clone()).await;
            server.ok("sendMessage", with_image()).await;
            server.kill().await;
            assert_eq!(images(), 1);
        }
        saved = saved.armed(point, 1);
        let server = serve(&saved.program, &data).await;
        let (method, params) = if is_told {
            ("undo", undo.clone())
        } else {
            ("sendMessage", with_image())
        };
        let path = format!("/services/agent/{method}");
        let sent = server
            .request(Method::POST, &path)
            .json(&params)
            .send()
            .await;
        assert!(is_told || sent.is_err(), "{point}: {sent:?}");
        assert_eq!(server.end().await.code, None, "{point}");
        saved = saved.disarmed();

        let server = serve(&saved.program, &data).await;
        while images() > 0 {
            tokio::task::yield_now().await;
        }
        if !is_told {
            server.ok("sendMessage", with_image()).await;
            assert_eq!(images(), 1, "{point}");
        }
        // Read, it is in the history.
        messages(&server, SESSION).await;
        server.kill().await;
        let deep = ["doctor", "--deep", "--json", "--data-dir", &data];
        let told = saved.program.run(deep).await;
        assert!(!told.stdout.contains("missing or damaged"), "{told:?}");
        if !is_told {
            for name in names(&blobs, "") {
                fs::write(blobs.join(name), "another image").unwrap();
            }
            let told = saved.program.run(deep).await;
            assert!(told.stdout.contains("missing or damaged"), "{told:?}");
        }
    }
}

// proves DU-13
#[tokio::test]
async fn tables_whose_making_is_killed_at_any_commit_are_made_by_the_next_start() {
    let (mut program, _model) = with_model([say("an answer").forever()]).await;
    for visit in 1.. {
        let data = format!("data {visit}");
        program = program.set(ARMED, &format!("history.migrate.before:{visit}"));
        let is_over = lives(&program, &data).await;
        program = program.set(ARMED, "");
        let server = serve(&program, &data).await;
        let session = server.session().await;
        server.turn(&session, "first").await;
        assert_eq!(messages(&server, &session).await, BEFORE, "{visit}");
        server.kill().await;
        assert!(!program.folder().join(&data).join("damaged").exists());
        if is_over {
            assert!(visit > 2, "every version has a commit of its own");
            break;
        }
    }
}
