use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use samovar_core::Sender;
use samovar_core::error::Code;
use samovar_sandbox::Protected;

use super::*;
use crate::undo::UndoBounds;

/// What a person does in the folder.
type Later = fn(&Path);

fn opened(ws: &Path, data: &Path) -> Arc<Workspace> {
    let files = SmallFiles::of(data).unwrap();
    let jail = Jail::open(ws, &Protected::default()).unwrap();
    let workspace = Workspace::new(Arc::new(jail))
        .with_undo(UndoStore::new(files.clone(), UndoBounds::default()))
        .with_recorder(Recorder::new(files, Bounds::default()));
    Arc::new(workspace)
}

fn caller(call: &str, stop: &Stop) -> Caller {
    Caller {
        session: SessionId::new("s").unwrap(),
        turn: TurnId::new("t").unwrap(),
        call: CallId::new(call).unwrap(),
        stop: stop.clone(),
        reaches_out: false,
    }
}

// proves TL-2
#[test]
fn a_command_of_a_dropped_call_never_begins_or_is_waited_for() {
    let (ws, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = opened(ws.path(), data.path());
    let begin = |call: &str, stop: &Stop| {
        let recorder = workspace.recorder().unwrap();
        recorder.begin(&workspace, caller(call, stop)).0
    };
    let stop = Stop::default();
    let running = begin("running", &stop).unwrap();
    stop.set();
    assert!(
        begin("dropped", &stop).is_none(),
        "while the other one ends, too"
    );

    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            is_over.store(true, Ordering::Relaxed);
            drop(running);
        });
        assert!(begin("next", &Stop::default()).is_some());
        assert!(is_over.load(Ordering::Relaxed));
    });
}

// proves TL-2, DU-18
#[tokio::test]
async fn what_a_person_changed_after_a_kill_is_not_taken_back_with_the_command() {
    let (ws, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = ws.path().join("file");
    let (session, turn) = (SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
    // What the person does later, and what becomes of the undo: the files, or those that are refused.
    let rows: [(Later, Result<&str, &str>); 6] = [
        (|_| {}, Ok("before")),
        (
            |ws| fs::write(ws.join("others"), "person").unwrap(),
            Err("others"),
        ),
        (
            |ws| fs::write(ws.join("file"), "person").unwrap(),
            Err("file"),
        ),
        (|ws| fs::remove_file(ws.join("file")).unwrap(), Err("file")),
        (
            |ws| fs::remove_file(ws.join("in/a/file")).unwrap(),
            Err("in/a/file"),
        ),
        (
            |ws| fs::remove_dir_all(ws.join("in/a")).unwrap(),
            Err("in/a/file"),
        ),
    ];
    for (later, expected) in rows {
        fs::create_dir_all(ws.path().join("in/a")).unwrap();
        fs::write(&file, "before").unwrap();
        fs::write(ws.path().join("in/a/file"), "before").unwrap();
        drop(fs::remove_file(ws.path().join("others")));
        let killed = opened(ws.path(), data.path());
        let caller = caller("c", &Stop::default());
        let (recording, looked) = killed.recorder().unwrap().begin(&killed, caller);
        assert!(looked.unwrap().is_empty());
        fs::write(&file, "command").unwrap();
        // A killed server runs nothing more.
        std::mem::forget(recording);
        let folder = SmallFiles::of(data.path()).unwrap().folder(FOLDER).unwrap();
        let lived_until = folder.now().unwrap();
        // The clock of a file system has steps.
        while folder.now().unwrap() == lived_until {}
        later(ws.path());

        let next = opened(ws.path(), data.path());
        let recorder = next.recorder().unwrap();
        recorder.recover_from(&next, &folder, lived_until).unwrap();
        let turns = [turn.clone()];
        let changes = next.changes();
        let taken = changes
            .take_back(&Sender::CommandLine, &session, &turns, Vec::new())
            .await;
        match expected {
            Ok(content) => {
                taken.unwrap();
                assert_eq!(fs::read_to_string(&file).unwrap(), content);
            }
            Err(named) => {
                let refused = taken.unwrap_err();
                assert_eq!(refused.code, Code::FilesChanged, "{}", refused.message);
                assert!(refused.message.contains(named), "{}", refused.message);
            }
        }
        changes.forget(&session, &turns).await;
    }
}
