//! What a turn costs, against the bare loop of the same run: the rows, and what is compared in each.

use anyhow::Result;
use futures_util::FutureExt;

use self::load::{Arena, Cost, DELTAS, Kind, Load, Way};
use crate::figures::{Experiment, told, within};
use crate::program::Program;
use crate::sample::Sample;

mod asked;
mod load;

/// Values of a row, each of one run of every server.
const VALUES: u32 = 3;

/// The end of the name of each row that is a multiple of the bare loop's cost.
pub(crate) const TO_THE_LOOP: &str = "to the bare loop's";

/// A load on Samovar and on the bare loop: the multiple, and both costs.
macro_rules! to_the_loop {
    ($budget:literal, $unit:literal, $name:literal, $load:expr, $figure:expr) => {
        Experiment {
            figures: &[
                within(concat!($name, " to the bare loop's"), "×", $budget),
                told(concat!($name, ": Samovar"), $unit),
                told(concat!($name, ": bare loop"), $unit),
            ],
            measure: |program| {
                compare(program, $load, $figure, [Way::Service, Way::Loop]).boxed_local()
            },
        }
    };
}

/// Every row about the cost of a turn.
pub(crate) const COSTS: &[Experiment] = &[
    to_the_loop!(
        1.4,
        "µs",
        "CPU of a text turn of 200 deltas, 16 clients",
        TEXT,
        cpu
    ),
    to_the_loop!(
        1.8,
        "µs",
        "CPU of a text turn of 200 deltas, 1 client",
        Load::new(Kind::Words, 1, 200),
        cpu
    ),
    to_the_loop!(
        1.5,
        "µs",
        "CPU of a delta each 5 ms, 100 clients",
        Load::new(Kind::Paced, 100, 200),
        per_delta
    ),
    to_the_loop!(
        2.0,
        "µs",
        "CPU of a delta each 5 ms, 16 clients",
        Load::new(Kind::Paced, 16, 32),
        per_delta
    ),
    to_the_loop!(
        1.8,
        "µs",
        "CPU of a delta each 5 ms, 1 client",
        Load::new(Kind::Paced, 1, 3),
        per_delta
    ),
    to_the_loop!(
        2.0,
        "µs",
        "CPU of a turn with five calls, 16 clients",
        Load::new(Kind::Rounds, 16, 320),
        cpu
    ),
    to_the_loop!(
        2.0,
        "µs",
        "CPU of a turn with five calls, 1 client",
        Load::new(Kind::Rounds, 1, 100),
        cpu
    ),
    to_the_loop!(
        1.6,
        "ms",
        "request to first delta, 1 client, p50",
        Load::new(Kind::Short, 1, 200),
        |cost| cost.first
    ),
    // 0.9 of its turns in a second are 1.11 of its time for each.
    to_the_loop!(
        1.11,
        "µs",
        "time for each text turn of 200 deltas, 128 clients",
        Load::new(Kind::Words, 128, 1_280),
        |cost| cost.wall
    ),
    Experiment {
        figures: &[
            told("CPU of a text turn of the bare loop to the proxy's", "×"),
            told("CPU of a text turn of the bare loop, 16 clients", "µs"),
            told("CPU of a text turn of the byte proxy, 16 clients", "µs"),
        ],
        measure: |program| compare(program, TEXT, cpu, [Way::Loop, Way::Proxy]).boxed_local(),
    },
    Experiment {
        figures: &[
            told("CPU of a text turn as a UI stream to the service's", "×"),
            told("CPU of a text turn as a UI stream, 16 clients", "µs"),
        ],
        measure: |program| compare(program, TEXT, cpu, [Way::Ui, Way::Service]).boxed_local(),
    },
    Experiment {
        figures: &[
            within("CPU of a session's turn 200 to that of its first", "×", 1.2),
            told("what turn 200 adds for its longer prompt", "µs"),
        ],
        measure: |program| asked::grown(program).boxed_local(),
    },
    Experiment {
        figures: &[
            told("decision about a call to the next delta, p50", "ms"),
            told("CPU of a turn with a call that a person allows", "µs"),
        ],
        measure: |program| asked::allowed(program).boxed_local(),
    },
    Experiment {
        figures: &[
            told("CPU that recall among 100 notes adds to a turn", "ms"),
            told("time that it adds to the first delta, p50", "ms"),
        ],
        measure: |program| asked::recalled(program).boxed_local(),
    },
];

const TEXT: Load = Load::new(Kind::Words, 16, 400);

fn cpu(cost: &Cost) -> f64 {
    cost.cpu
}

fn per_delta(cost: &Cost) -> f64 {
    cost.cpu / f64::from(DELTAS)
}

/// The cost of a load on the first server divided by that on the second, then the cost on each.
/// The servers take turns, so that what else the machine does meets all of them.
async fn compare(
    program: &Program<'_>,
    load: Load,
    figure: fn(&Cost) -> f64,
    ways: [Way; 2],
) -> Result<Vec<Sample>> {
    let arena = Arena::start(program).await?;
    for way in ways {
        arena.warm(way, load).await?;
    }
    let mut values = [const { Vec::new() }; 3];
    for value in 0..program.values(VALUES) {
        let mut costs = [0.0; 2];
        for turn in 0..2 {
            let at = ((value + turn) % 2) as usize;
            let cost = arena.cost(ways[at], load, &value.to_string()).await?;
            costs[at] = figure(&cost);
        }
        let [first, second] = costs;
        for (values, value) in values.iter_mut().zip([first / second, first, second]) {
            values.push(value);
        }
    }
    arena.stop().await?;
    values.into_iter().map(Sample::of).collect()
}
