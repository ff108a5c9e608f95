use samovar_core::event::Fragment;
use samovar_core::{AgentPath, Author, Epoch, Kind, MessageId, Millis, Seq};
use tempfile::TempDir;

use super::*;

fn spool(dir: &TempDir) -> Spool {
    Spool::new(
        dir.path().to_owned(),
        4096,
        Disk::with_ballast(dir.path(), 0),
    )
}

fn write(spool: &Spool, seq: u64) -> Result<(), Broken> {
    let event = Event {
        seq: Seq(seq),
        epoch: Epoch(1),
        at: Millis(1),
        turn: None,
        agent: AgentPath::root("master"),
        author: Author::Agent,
        kind: Kind::Delta {
            message: MessageId::new("m").unwrap(),
            part: 0,
            fragment: Fragment::Text("word".to_owned()),
        },
    };
    spool.write(LogNo(1), &[Arc::new(event)])
}

/// Lets the next write go to a disk without room, on which nothing can be taken back either.
fn be_full(spool: &Spool) {
    let file = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut state = spool.state();
    let number = state.last;
    state.current = Some(Segment {
        number,
        file,
        len: 0,
    });
}

fn seqs(dir: &TempDir) -> Vec<u64> {
    let segments = read_segments(dir.path()).unwrap();
    let frames = segments.iter().flat_map(|bytes| frames(bytes));
    frames.map(|frame| frame.seq.0).collect()
}

// proves DU-12
#[test]
fn a_torn_write_that_cannot_be_cut_off_yet_holds_the_spool_up_and_no_longer() {
    let dir = TempDir::new().unwrap();
    let spool = spool(&dir);
    write(&spool, 1).unwrap();
    be_full(&spool);
    for _ in 0..3 {
        let refused = write(&spool, 2).unwrap_err();
        assert!(refused.may_pass(), "who waits may try again: {refused}");
    }

    // Now it can be cut off.
    let cut = File::create(dir.path().join("cut")).unwrap();
    spool.state().torn.as_mut().unwrap().0.file = cut;

    write(&spool, 2).unwrap();
    assert_eq!(seqs(&dir), [1, 2]);
}

// proves DU-12
#[test]
fn a_write_without_room_leaves_no_empty_segment_behind() {
    let dir = TempDir::new().unwrap();
    let spool = spool(&dir);
    for number in 1..=3 {
        let mut state = spool.state();
        let segment = state.begin_segment(&spool).unwrap();
        assert_eq!(segment.number, number);
        let full = Broken::Full("no room".to_owned());
        state.take_back(segment, &full, &spool);
        assert_eq!(read_segments(dir.path()).unwrap().len(), 0);
    }
    write(&spool, 1).unwrap();
    assert_eq!(seqs(&dir), [1]);
}
