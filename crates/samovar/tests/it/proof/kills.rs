//! `samovar prove` at its usual length.

use serde_json::Value;

use crate::prove::{is_empty, prover, run};

// proves DU-14, DU-17, DU-1, DU-3, DU-6, DU-7, CH-4, CH-10, RL-7, RL-12, RL-14, RL-15, RL-28
#[tokio::test]
async fn hundreds_of_kills_at_every_point_break_no_promise() {
    let (program, temporary) = prover();
    let report = program.folder().join("report.json");

    let said = run(
        &program,
        &[
            "--kills",
            "300",
            "--points",
            "all",
            "--report",
            report.to_str().unwrap(),
        ],
    )
    .await;

    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(
        said.stdout
            .contains("not covered by the promise: messages in the global chat"),
        "{}",
        said.stdout
    );
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let counts = &report["counts"];
    let number = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(report["is_whole"], true);
    let points: u64 = counts["points"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(points + number("random_kills"), 300);
    for counted in [
        "accepted",
        "steered",
        "continued",
        "resumed",
        "unsafe_effects",
        "resets",
        "calls",
        "questions",
        "asked_again",
        "answers_kept",
        "strays",
        "posted",
        "own_words",
    ] {
        assert!(number(counted) > 0, "{counted}: {counts:#}");
    }
    for counted in ["answered", "rows", "begun", "ended", "continued"] {
        let count = counts["relay"][counted].as_u64();
        assert!(count > Some(0), "{counted}: {counts:#}");
    }
    for counted in ["called", "nested", "resumed", "background", "results"] {
        let count = counts["trees"][counted].as_u64();
        assert!(count > Some(0), "{counted}: {counts:#}");
    }
    assert!(is_empty(&temporary), "nothing is left behind");
}
