//! Reads shell commands for the approval policy (TL-7).
//!
//! Here: [`parse`], a strict grammar that turns a command into a [`Script`], the words that the
//! shell hands to each program, or refuses it as [`Opaque`]; [`ReadOnly`], the programs that need
//! no approval because of what their arguments say. Not here: who is asked, and how a command
//! runs. Start at [`ReadOnly::judge`].
//!
//! # What "reads" promises
//! By its own arguments the command changes nothing, sends nothing out and runs no program that is
//! not in the list. The promise does not cover files that change what a program does. So programs
//! that take such settings from the folder they run in (cargo, npm, pip, make) are not in the
//! list, but for the version of some. git is: its settings are in `.git`, which no clone brings
//! along and no tool may write, as long as its commands run with [`GIT_ENVIRONMENT`]
//! ([`ReadOnly::with_git`]). Every command
//! runs in the sandbox: the policy saves questions, the sandbox holds.

mod git_environment;
mod grammar;
mod grants;
mod policy;
mod programs;
mod runners;
mod script;

pub use git_environment::GIT_ENVIRONMENT;
pub use grammar::{MAX_BYTES, MAX_COMMANDS, parse};
pub use policy::{ReadOnly, Verdict};
pub use script::{Command, Join, Opaque, Redirect, Script, Word};
