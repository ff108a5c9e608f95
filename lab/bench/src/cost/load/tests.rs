use rusqlite::Connection;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::*;
use crate::floor::router;
use crate::model::serve;

/// A floor in this process, before a model.
async fn floor(kind: &str, model: &Model, folder: &TempDir) -> (ServerAccess, JoinSet<()>) {
    let router = router(kind, model.address, folder.path()).unwrap();
    let (address, server) = serve(router).await.unwrap();
    (ServerAccess::at(address), server)
}

async fn says(way_in: &ServerAccess, way: Way, kind: Kind) -> Result<usize> {
    let load = Load::new(kind, 2, 4);
    let firsts = speak(way_in, way, load, &format!("{kind:?}")).await?;
    Ok(firsts.len())
}

// proves PF-1
#[tokio::test]
async fn both_floors_give_the_answers_that_rows_are_checked_for() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(FILE), CONTENT).unwrap();
    let model = model().await.unwrap();
    let (proxy, _proxy) = floor(PROXY, &model, &folder).await;
    let (bare, _bare) = floor(LOOP, &model, &folder).await;

    for kind in [Kind::Words, Kind::Paced, Kind::Rounds, Kind::Short] {
        let said = says(&bare, Way::Loop, kind).await;
        assert_eq!(said.unwrap(), 4, "{kind:?}");
    }
    for kind in [Kind::Words, Kind::Paced, Kind::Short] {
        let said = says(&proxy, Way::Proxy, kind).await;
        assert_eq!(said.unwrap(), 4, "{kind:?}");
    }

    let kept = Connection::open(folder.path().join("loop.db")).unwrap();
    let session = format!("{:?}-0", Kind::Rounds);
    let query = "SELECT group_concat(role, ' ') FROM message WHERE session = ?1";
    let roles: String = kept.query_row(query, [session], |row| row.get(0)).unwrap();
    let rounds = " call result".repeat(ROUNDS);
    assert_eq!(roles, format!("user{rounds} assistant"));
}

// proves PF-1
#[tokio::test]
async fn an_answer_with_other_words_fails_its_row() {
    let folder = TempDir::new().unwrap();
    let quick = Model::start(async |talk| {
        talk.say("word 0 ", 1).await?;
        talk.end().await
    });
    let quick = quick.await.unwrap();
    let (bare, _bare) = floor(LOOP, &quick, &folder).await;

    let said = says(&bare, Way::Loop, Kind::Words).await;

    let why = said.unwrap_err().to_string();
    assert_eq!(why, r#"Loop answered "word 0 ""#);

    let model = model().await.unwrap();
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(FILE), "something else").unwrap();
    let (bare, _bare) = floor(LOOP, &model, &folder).await;
    let said = says(&bare, Way::Loop, Kind::Rounds).await;
    assert_eq!(said.unwrap_err().to_string(), r#"Loop answered "wrong""#);
}
