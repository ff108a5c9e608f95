//! What is measured, and how.

use std::future::ready;

use anyhow::Result;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, TryFutureExt};

use crate::model::MODEL;
use crate::program::Program;
use crate::sample::Sample;
use crate::started::{added, cpu, fill, idle_memory, size, start, starts};
use crate::{
    burst, caged, called, cancelled, commits, copied, crowded, killed, memory, pieces, posted,
    readers, relayed, repeated, soak, stalled,
};

/// One row of the table.
pub(crate) struct Figure {
    /// What a reader calls it; no other row has this name.
    pub(crate) name: &'static str,
    /// What a value counts; 1 MB has 1,000,000 bytes, 1 KiB has 1024.
    pub(crate) unit: &'static str,
    /// The upper limit of the median; none if the row is for information alone.
    pub(crate) budget: Option<f64>,
}

/// What is measured together.
pub(crate) struct Experiment {
    pub(crate) figures: &'static [Figure],
    /// Returns a sample for each figure, in their order.
    pub(crate) measure: for<'p> fn(&'p Program<'p>) -> LocalBoxFuture<'p, Result<Vec<Sample>>>,
}

/// Every row. To add one, add it here with the function that measures it: below, or in its own file
/// if it needs turns.
pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        figures: &[within("size of the binary", "MB", 62.0)],
        measure: |program| one(ready(size(program))),
    },
    Experiment {
        figures: &[
            within(
                "added by the sandbox to the first output of a command",
                "ms",
                5.0,
            ),
            told("added by the sandbox to the end of a command", "ms"),
        ],
        measure: |program| caged::measure(program).boxed_local(),
    },
    Experiment {
        figures: &[within("CPU of `samovar --help`", "ms", 10.0)],
        measure: |program| one(cpu(program, &["--help"], 100)),
    },
    Experiment {
        figures: &[within(
            "CPU of `samovar sessions list`, 50 sessions",
            "ms",
            40.0,
        )],
        measure: |program| {
            one(async {
                fill(program, 50).await?;
                cpu(program, &["sessions", "list"], 25).await
            })
        },
    },
    Experiment {
        figures: &[within(
            "added to `samovar run` by model servers that hang",
            "ms",
            250.0,
        )],
        measure: |program| {
            one(async {
                let program = program.looking();
                // A named model is not looked for.
                let named = format!("vllm/{MODEL}");
                let without = async || program.run(&["run", "hi", "--model", &named]).await;
                added(without, async || program.run(&["run", "hi"]).await).await
            })
        },
    },
    Experiment {
        // The budget is for noise: a server that waits for them adds 250 ms.
        figures: &[within(
            "added to the first `/readyz` by model servers that hang",
            "ms",
            10.0,
        )],
        measure: |program| {
            let with = async || start(&program.looking()).await;
            one(added(async || start(program).await, with))
        },
    },
    Experiment {
        // It executes itself again without them.
        figures: &[within(
            "added to the first `/readyz` by keys in the environment",
            "ms",
            5.0,
        )],
        measure: |program| {
            let with = async || start(&program.with_keys()).await;
            one(added(async || start(program).await, with))
        },
    },
    Experiment {
        figures: &[within(
            "start to the first `/readyz`, no session",
            "ms",
            50.0,
        )],
        measure: |program| one(starts(program, 0)),
    },
    Experiment {
        figures: &[within(
            "start to the first `/readyz`, 10,000 sessions",
            "ms",
            30.0,
        )],
        measure: |program| one(starts(program, 10_000)),
    },
    Experiment {
        figures: &[within("memory of an idle server, no session", "MB", 3.0)],
        measure: |program| one(Sample::take(5, async || idle_memory(program).await)),
    },
    Experiment {
        figures: &[
            within("synced commits of a text turn", "commits", 2.0),
            within(
                "synced commits of a turn with a call that reads",
                "commits",
                4.0,
            ),
            within(
                "synced commits of a turn with a call that writes",
                "commits",
                5.0,
            ),
        ],
        measure: |program| commits::measure(program).boxed_local(),
    },
    Experiment {
        figures: &[within(
            "cancel to quiet, p99 of 200, 10 at once",
            "ms",
            500.0,
        )],
        measure: |program| cancelled::measure(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "memory during 6,000 text turns, each in its session",
                "MB",
                64.0,
            ),
            within("memory 30 s after them", "MB", 24.0),
        ],
        measure: |program| memory::text_turns(program).boxed_local(),
    },
    Experiment {
        figures: &[within(
            "CPU of a turn with an event of 2 MB in pieces of 1,400 bytes",
            "ms",
            100.0,
        )],
        measure: |program| pieces::large_event(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within("fork of a session with 10,000 messages", "ms", 1000.0),
            within("more memory meanwhile", "MiB", 32.0),
        ],
        measure: |program| copied::forks(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within("memory while the history is locked, 60 turns/s", "MB", 64.0),
            within("sessions that it lacks afterwards", "sessions", 0.0),
        ],
        measure: |program| soak::locked_history(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within("memory while 1,200 sessions get 1 MB each", "MB", 400.0),
            told("memory 30 s after that", "MB"),
        ],
        measure: |program| memory::long_messages(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "memory with 1,200 messages of 1 MB at once, budget 256 MiB",
                "MB",
                400.0,
            ),
            within(
                "of those clients, without an answer, 256 MiB",
                "clients",
                0.0,
            ),
            within("largest gap in a stream beside them, 256 MiB", "ms", 1000.0),
            within("`/readyz` beside them, p99, 256 MiB", "ms", 100.0),
            told("of those messages, accepted, 256 MiB", "messages"),
        ],
        measure: |program| burst::of_messages(program, 256).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "memory with 1,200 messages of 1 MB at once, budget 32 MiB",
                "MB",
                160.0,
            ),
            within(
                "of those clients, without an answer, 32 MiB",
                "clients",
                0.0,
            ),
            within("largest gap in a stream beside them, 32 MiB", "ms", 1000.0),
            within("`/readyz` beside them, p99, 32 MiB", "ms", 100.0),
            told("of those messages, accepted, 32 MiB", "messages"),
        ],
        measure: |program| burst::of_messages(program, 32).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "not all right of 1,500 streams, soft limit 1,024",
                "streams",
                0.0,
            ),
            within("poisoned results of their 3,000 calls", "results", 0.0),
        ],
        measure: |program| crowded::usual(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "poisoned results with 600 streams, hard limit 256",
                "results",
                0.0,
            ),
            within(
                "of those streams, begun and not ended whole",
                "streams",
                0.0,
            ),
            told("of those streams, refused", "streams"),
        ],
        measure: |program| crowded::low(program).boxed_local(),
    },
    Experiment {
        figures: &[within(
            "`/readyz` beside 5,000 silent sockets",
            "ms",
            1000.0,
        )],
        measure: |program| crowded::silent(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "memory of a stalled reader, with the system's buffers",
                "KiB",
                1024.0,
            ),
            told("of that in the system's buffers", "KiB"),
        ],
        measure: |program| stalled::measure(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within("second turns of 100,000 duplicate submits", "turns", 0.0),
            told("CPU of a duplicate submit", "µs"),
        ],
        measure: |program| repeated::measure(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "`kill -9` with 1,000 turns of 200 deltas to `/readyz`",
                "ms",
                500.0,
            ),
            told("CPU of the new process until then", "ms"),
            told("the same kill until all 1,000 turns have resumed", "ms"),
        ],
        measure: |program| killed::measure(program).boxed_local(),
    },
    Experiment {
        figures: &[within(
            "first word of a called agent to its reader, p50",
            "ms",
            5.0,
        )],
        measure: |program| called::first_word(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "CPU per delta of a called agent at depth 3, to the master's",
                "×",
                1.3,
            ),
            told("the latter", "µs"),
        ],
        measure: |program| called::per_delta(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within("CPU of a delta for a further reader", "µs", 10.0),
            within("the same for a reader of the UI message stream", "µs", 10.0),
        ],
        measure: |program| readers::further(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "CPU of reading a tree of 6,000 deltas again, as chunks",
                "ms",
                100.0,
            ),
            within("the same as messages", "ms", 300.0),
        ],
        measure: |program| readers::replayed(program).boxed_local(),
    },
    Experiment {
        figures: &[within(
            "ids that 1,000 posts at once leave out",
            "messages",
            0.0,
        )],
        measure: |program| posted::all_at_once(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "missed, repeated or misplaced by 500 readers of 2,000",
                "messages",
                0.0,
            ),
            told("CPU of a delivered message", "µs"),
        ],
        measure: |program| posted::delivered(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within("post to reader, 20 readers at 100 posts/s, p50", "ms", 2.0),
            within("the same, p99", "ms", 20.0),
        ],
        measure: |program| posted::read(program).boxed_local(),
    },
    Experiment {
        figures: &[
            // The chat keeps at most 32 MiB of messages.
            within("memory after 1,000,000 posts of 1 KiB", "MB", 34.0),
            within("of that after the first 100,000", "MB", 4.0),
            within(
                "memory after 100,000 posts of 4 KiB, which fill 32 MiB",
                "MB",
                34.0,
            ),
            told("CPU of a post", "µs"),
        ],
        measure: |program| posted::kept(program).boxed_local(),
    },
    Experiment {
        figures: &[
            within(
                "misdirected answers of 200,000 calls in 100 rooms",
                "messages",
                0.0,
            ),
            within("rows that their study logs lack", "rows", 0.0),
            told("CPU of a call over the relay", "µs"),
        ],
        measure: |program| relayed::crowded(program).boxed_local(),
    },
    Experiment {
        figures: &[within("added to a call by the relay, p50", "ms", 1.0)],
        measure: |program| relayed::added(program).boxed_local(),
    },
    Experiment {
        figures: &[told("memory of a room in which nothing happens", "KiB")],
        measure: |program| relayed::idle(program).boxed_local(),
    },
];

/// Rows of the experiments of a quick run, besides those that a floor is in.
pub(crate) const QUICK_ROWS: &[&str] = &[
    "CPU of a session's turn 200 to that of its first",
    "size of the binary",
    "start to the first `/readyz`, no session",
    "memory of an idle server, no session",
    "synced commits of a text turn",
];

/// Rows that take half an hour, measured only when they are named.
pub(crate) const LONG: &[Experiment] = &[Experiment {
    figures: &[
        within("soak: memory, last third to second", "×", 1.1),
        within("soak: descriptors, last third to second", "×", 1.1),
        within("soak: journal, last third to second", "×", 1.1),
        within("soak: operations that failed", "", 0.0),
    ],
    measure: |program| soak::half_an_hour(program).boxed_local(),
}];

pub(crate) const fn within(name: &'static str, unit: &'static str, budget: f64) -> Figure {
    Figure {
        name,
        unit,
        budget: Some(budget),
    }
}

pub(crate) const fn told(name: &'static str, unit: &'static str) -> Figure {
    Figure {
        name,
        unit,
        budget: None,
    }
}

/// An experiment of one figure.
fn one<'p>(
    measured: impl Future<Output = Result<Sample>> + 'p,
) -> LocalBoxFuture<'p, Result<Vec<Sample>>> {
    measured.map_ok(|sample| vec![sample]).boxed_local()
}

#[cfg(test)]
mod tests;
