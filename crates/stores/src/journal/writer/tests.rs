use samovar_core::journal::{Batch, LogNo};
use samovar_core::{Journal, SessionId};
use tempfile::TempDir;

use super::super::LmdbJournal;
use super::*;

// proves DU-12
#[tokio::test]
async fn after_a_failed_fsync_nothing_more_is_taken_for_kept() {
    let dir = TempDir::new().unwrap();
    let (journal, _) = LmdbJournal::open(dir.path(), 1000).unwrap();
    let (_jobs, receiver) = mpsc::channel(1);
    let mut writer = Writer {
        shared: journal.shared.clone(),
        jobs: receiver,
        held: None,
        sweep: None,
        failed: None,
    };
    let batch = Batch {
        log: LogNo(1),
        session: SessionId::new("s").unwrap(),
        events: Vec::new(),
        folded: Vec::new(),
        open_from: None,
    };
    let batch = PackedBatch::pack(&batch, journal.epoch()).unwrap();
    writer.fail(heed::MdbError::MapFull.into());
    assert_eq!(
        writer.keep(std::slice::from_ref(&batch)),
        Ok(()),
        "room can come back"
    );
    let read_only = writer.fail(std::io::Error::from_raw_os_error(30).into());
    assert!(matches!(read_only, Broken::ReadOnly(_)), "{read_only:?}");
    assert_eq!(writer.keep(std::slice::from_ref(&batch)), Ok(()));

    let commits = journal.commits();
    let failed = writer.fail(std::io::Error::from_raw_os_error(5).into());
    assert!(matches!(failed, Broken::Io(_)), "{failed:?}");
    assert_eq!(writer.keep(&[batch]), Err(failed.clone()));
    let mut sweep = Sweep::new(Millis(i64::MAX));
    assert_eq!(writer.sweep_step(&mut sweep), Err(failed.clone()));
    assert_eq!(journal.shared.disk.failed().await, failed, "and it is told");
    assert_eq!(journal.commits(), commits);
}
