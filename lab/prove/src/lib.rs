//! The proof that nothing accepted is lost: real servers under load, killed again and again, and an
//! oracle outside them that counts what happened to every message, effect and frame.
//!
//! Here: [`Plan`], what to prove; [`Proof`], a run of it; [`Report`], its counts, and each broken
//! promise as a [`Violation`]. Not here: any of the server's own code. Servers are processes of the
//! named binary; everything known of them comes over HTTP, from the model and the webhooks that
//! they call, and from the files that tools were to write. So a fault in the server cannot hide
//! itself here.
//!
//! Start at `run.rs` for a whole run, `arena.rs` for one data directory, `driver.rs` for the load,
//! `oracle.rs` for the judge, which is pure and has its own tests: a proof that cannot fail proves
//! nothing.

mod agent;
mod arena;
mod client;
mod copier;
mod count;
mod damage;
mod dice;
mod driver;
mod effects;
mod host;
mod keeper;
mod killer;
mod listener;
mod observed;
mod oracle;
mod orphans;
mod passer;
mod person;
mod picture;
mod plan;
mod reader;
mod report;
mod retelling;
mod rooms;
mod run;
mod scene;
mod server;
mod shown;
mod socket;
mod stage;
mod table;
mod ticker;
mod turn_record;
mod verdict;
mod violation;
mod web;
mod words;

pub use count::{ApprovalCounts, CopyCounts, Counts, QuestionCounts, Studies, TreeCounts};
pub use observed::Spool;
pub use plan::{AtBroken, Needs, Plan, Point};
pub use report::{MOST_TOLD, Report, ReportedViolation, StartTimes};
pub use run::Proof;
pub use shown::WebCounts;
pub use violation::{Broken, Violation};
