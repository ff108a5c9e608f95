//! How far the file tools reach, and what they never do.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use samovar_model_server::{Reply, call, say};
use samovar_server::{FileAccess, Foreign, Owner, Ownership};
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};

use crate::shown::results;

/// A folder around the workspace, with files in it.
fn yard(builder: AppBuilder, reach: FileAccess) -> AppBuilder {
    builder.with(|config| {
        let around = config.workspace.parent().unwrap().to_owned();
        let folders = ["outside/kept", "home/config", "workspace/own-config"];
        for folder in folders {
            fs::create_dir_all(around.join(folder)).unwrap();
            fs::write(around.join(folder).join("note.txt"), "a note").unwrap();
        }
        fs::write(around.join("outside/.gitignore"), "kept\n").unwrap();
        fs::write(around.join("workspace/samovar.toml"), "").unwrap();
        fs::write(around.join("workspace/sub.toml"), "").unwrap();
        config.reach = reach;
        config.private = [
            "home/config",
            "home/later",
            "workspace/own-config",
            "workspace/later",
        ]
        .map(|folder| around.join(folder))
        .to_vec();
        config.guarded = vec![around.join("workspace/sub.toml")];
    })
}

/// What the calls of one answer come to.
async fn results_of(
    reach: FileAccess,
    calls: impl FnOnce(&Path) -> Vec<(&'static str, Value)>,
) -> (App, Vec<String>) {
    let mut around = None;
    let builder = yard(AppBuilder::new(), reach);
    let builder = builder.with(|config| around = config.workspace.parent().map(Path::to_owned));
    let calls = calls(&around.unwrap());
    let asked = calls
        .into_iter()
        .fold(None::<Reply>, |asked, (name, args)| {
            Some(match asked {
                Some(asked) => asked.and_call(name, args),
                None => call(name, args),
            })
        });
    let app = builder.start([asked.unwrap(), say("I see")]).await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    let results = results(&frames).into_iter().map(str::to_owned).collect();
    (app, results)
}

// proves TL-8
#[tokio::test]
async fn file_tools_stay_in_the_workspace_unless_the_system_is_opened() {
    let calls = |around: &Path| {
        vec![
            ("read_file", json!({"path": "../outside/kept/note.txt"})),
            (
                "read_file",
                json!({"path": around.join("outside/kept/note.txt")}),
            ),
            ("list_dir", json!({"path": around.join("outside")})),
            (
                "search_files",
                json!({"path": around.join("outside"), "pattern": "note"}),
            ),
            (
                "write_file",
                json!({"path": "../outside/new.txt", "content": "new"}),
            ),
        ]
    };
    let (app, shut) = results_of(FileAccess::Workspace, calls).await;
    assert!(
        shut.iter()
            .all(|result| result.contains("outside the workspace")),
        "{shut:?}"
    );
    assert!(!app.workspace().join("../outside/new.txt").exists());

    let (app, open) = results_of(FileAccess::System, calls).await;
    assert!(
        open[0].ends_with("a note") && open[1] == open[0],
        "{open:?}"
    );
    assert!(
        open[2].contains(".gitignore") && !open[2].contains("kept/"),
        "{open:?}"
    );
    assert!(open[3].contains("no match"), "{open:?}");
    let written = app
        .workspace()
        .canonicalize()
        .unwrap()
        .join("../outside/new.txt");
    let shown = written
        .parent()
        .unwrap()
        .canonicalize()
        .unwrap()
        .join("new.txt");
    assert_eq!(open[4], format!("created {} (3 bytes)", shown.display()));
    assert_eq!(fs::read_to_string(written).unwrap(), "new");
}

// proves TL-8, TL-18
#[tokio::test]
async fn what_the_person_keeps_is_out_of_reach_however_far_tools_reach() {
    for reach in [FileAccess::System, FileAccess::Workspace] {
        let (app, results) = results_of(reach, |around| {
            let data = around.join("data/token");
            vec![
                ("read_file", json!({"path": data})),
                ("write_file", json!({"path": data, "content": "x"})),
                ("read_file", json!({"path": "own-config/note.txt"})),
                (
                    "write_file",
                    json!({"path": "own-config/new.toml", "content": "x"}),
                ),
                (
                    "write_file",
                    json!({"path": "later/samovar.toml", "content": "x"}),
                ),
                ("write_file", json!({"path": "sub.toml", "content": "x"})),
                (
                    "write_file",
                    json!({"path": "samovar.toml", "content": "x"}),
                ),
                (
                    "read_file",
                    json!({"path": around.join("home/config/note.txt")}),
                ),
                (
                    "write_file",
                    json!({"path": around.join("home/later/x"), "content": "x"}),
                ),
            ]
        })
        .await;

        // Beyond the workspace nothing is even looked at, unless the system is opened.
        let beyond = |words| match reach {
            FileAccess::Workspace => "outside the workspace",
            FileAccess::System => words,
        };
        let (gone, kept) = ("does not exist", "protected");
        let expected = [
            beyond(gone),
            beyond(kept),
            gone,
            kept,
            kept,
            kept,
            kept,
            beyond(gone),
            beyond(kept),
        ];
        for (result, words) in results.iter().zip(expected) {
            assert!(result.contains(words), "{reach:?}: {words}: {results:#?}");
        }
        assert_eq!(results.len(), expected.len());
        assert!(!app.workspace().join("later").exists());
        assert_eq!(
            fs::read_to_string(app.workspace().join("sub.toml")).unwrap(),
            ""
        );
    }
}

// proves FC-3
#[tokio::test]
async fn a_data_directory_that_is_opened_is_marked_for_its_owner() {
    let mut marked = None;
    let builder = AppBuilder::new().with(|config| {
        let owner = Owner::new(config.workspace.with_file_name("state"));
        assert_eq!(owner.standing(&config.data_dir), Ownership::Free);
        marked = Some((owner.clone(), config.data_dir.clone()));
        config.owner = Some(owner);
    });
    let app = builder.start([say("hi")]).await;
    let (owner, data_dir) = marked.unwrap();

    assert_eq!(owner.standing(&data_dir), Ownership::Ours);
    assert_eq!(fs::metadata(&data_dir).unwrap().mode() & 0o777, 0o700);
    let stranger = Owner::new(data_dir.with_file_name("other"));
    assert_eq!(
        stranger.standing(&data_dir),
        Ownership::Foreign(Foreign::Unmarked)
    );
    drop(app);
}
