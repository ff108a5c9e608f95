//! What the audit costs: `cargo run --release -p samovar-stores --example audit_cost`.
//!
//! Appends the two records of a call, its start and its result, 100,000 times in a fresh data
//! directory, in batches as the projector makes them, and prints the user and system time for each
//! call and the bytes that it takes. No sync is in it: the projector makes one in five seconds.

#![expect(
    clippy::print_stdout,
    reason = "it is a measurement that a person reads"
)]

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use samovar_core::audit::{Audit, AuditedCall, What};
use samovar_core::{
    CallId, Clock, Durability, Ids, Millis, SessionId, Status, TurnId, audit::Decision,
};
use samovar_stores::damage::Reports;
use samovar_stores::{DataDir, Options, SmallFiles, open};

const CALLS: u64 = 100_000;

/// How many calls of how many sessions come together.
const BATCHES: [u64; 3] = [1, 8, 64];

struct Files(PathBuf);

struct Fixed;

#[derive(Default)]
struct Counted(AtomicU64);

impl SmallFiles for Files {
    fn of(&self, folder: &Path) -> io::Result<Arc<dyn SmallFiles>> {
        Ok(Arc::new(Self(folder.to_owned())))
    }

    fn read(&self, name: &str, _max_bytes: u64) -> io::Result<Option<String>> {
        match std::fs::read_to_string(self.0.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        std::fs::write(self.0.join(name), bytes)
    }

    fn write_synced(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write(name, bytes)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.0.join(name))
    }
}

impl Clock for Fixed {
    fn now(&self) -> Millis {
        Millis(1_795_311_059_999)
    }
}

impl Ids for Counted {
    fn uuid(&self) -> String {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        format!("019a0000-0000-7000-8000-{number:012}")
    }
}

/// The two decisions of a call.
fn decisions(ids: &Counted) -> [Decision; 2] {
    let call = AuditedCall {
        call: CallId::fresh(ids),
        session: SessionId::new(&ids.uuid()).ok(),
        turn: Some(TurnId::fresh(ids)),
        agent: Some("master/writer".to_owned()),
    };
    let started = Decision {
        call: Some(call.clone()),
        args: Some("0123456789abcdef".repeat(4)),
        ..Decision::new(What::CallStarted, "policy", Fixed.now())
    };
    let closed = Decision {
        call: Some(call),
        result: Some(Status::Done),
        ..Decision::new(What::CallClosed, "system", Fixed.now())
    };
    [
        started.of_tool("write_file").by_rule("level:auto"),
        closed.of_tool("write_file"),
    ]
}

/// User and system time of this process, in ticks of 10 ms.
fn ticks() -> io::Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name may contain spaces; it ends with a bracket.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = fields.split_whitespace().skip(11).take(2);
    Ok(fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let folder = tempfile::tempdir()?;
    let dir = DataDir {
        path: folder.path().to_owned(),
        files: Arc::new(Files(folder.path().to_owned())),
        clock: Arc::new(Fixed),
    };
    runtime.block_on(async {
        let reports = Arc::new(Reports::open(&dir));
        let stores = open(Options {
            dir,
            durability: Durability::Power,
            walker: None,
            reports,
        })
        .await?;
        let (ids, file) = (Counted::default(), folder.path().join("audit.jsonl"));
        for batch in BATCHES {
            let (bytes, before) = (std::fs::metadata(&file)?.len(), ticks()?);
            for _ in 0..CALLS / batch {
                let calls = (0..batch).map(|_| decisions(&ids));
                stores.audit.append(calls.flatten().collect()).await?;
            }
            let micros = (ticks()? - before) * 10_000;
            let bytes = std::fs::metadata(&file)?.len() - bytes;
            let (cpu, bytes) = (micros / CALLS, bytes / CALLS);
            println!("{batch:>3} calls at once: {cpu} µs of CPU and {bytes} bytes a call");
        }
        let before = ticks()?;
        let verdict = stores.audit.verify(None).await?;
        let millis = (ticks()? - before) * 10;
        let records = verdict.records;
        println!(
            "verified {records} records in {millis} ms: {}",
            verdict.is_whole()
        );
        stores.close().await;
        Ok(())
    })
}
