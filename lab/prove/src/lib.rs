//! The proof that nothing accepted is lost: real servers under load, killed again and again, and an
//! oracle outside them that counts what became of every message, effect and frame.
//!
//! Here: [`Plan`], what is to be proved; [`Proof`], a run of it; [`Report`], what it counted, and
//! each promise that was broken as a [`Violation`].
//! Not here: anything of the server's own. Servers are processes of the binary that is named; all
//! that is known of them comes over HTTP, from the model and the webhooks that they ask, and from
//! the files that tools were to write. So whatever is wrong in the server cannot hide itself here.
//!
//! Start at `run.rs` for a whole run, `arena.rs` for one data directory, `driver.rs` for the load,
//! `oracle.rs` for the judge, which is pure and has tests of its own: a proof that cannot fail
//! proves nothing.

mod agent;
mod arena;
mod client;
mod count;
mod damage;
mod dice;
mod driver;
mod effects;
mod host;
mod killer;
mod listener;
mod observed;
mod oracle;
mod orphans;
mod passer;
mod person;
mod plan;
mod reader;
mod report;
mod retelling;
mod rooms;
mod run;
mod scene;
mod server;
mod socket;
mod stage;
mod table;
mod ticker;
mod told;
mod violation;
mod words;

pub use count::{Asked, Counts, Studies};
pub use observed::Spool;
pub use plan::{AtBroken, Needs, Plan, Point};
pub use report::{MOST_TOLD, Report, Starts, Told};
pub use run::Proof;
pub use violation::{Broken, Violation};
