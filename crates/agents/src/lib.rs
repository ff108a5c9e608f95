//! The definitions of agents: where they come from, whether they are valid, which are in force.
//!
//! Here: [`built_in`], the definitions that are part of the program; [`parse`], a definition as a
//! Markdown file; [`parse_skill`], a skill as one; [`Draft`], what a person or a program writes, and [`Draft::define`], which makes
//! an [`Agent`] of it; [`Catalogue`], which merges code, files and rows and is the port [`Agents`];
//! [`graph`], who may call which agent. Not here: how an agent runs, where rows are kept, HTTP.
//!
//! Start at [`Catalogue`].
//!
//! [`Agent`]: samovar_core::Agent
//! [`Agents`]: samovar_core::Agents

mod built_in;
mod catalogue;
mod check;
mod draft;
mod folder;
mod graph;
mod markdown;
mod skill;

pub use built_in::{ADAPTIVE, built_in};
pub use catalogue::{Catalogue, Listed, ToolNames};
pub use check::{KNOWN_TOOLS, check};
pub use draft::{ALL, Draft, ModelDraft};
pub use folder::{FOLDER, FileDefinition, read_folder};
pub use graph::{Branch, Node, graph};
pub use markdown::parse;
pub use skill::{SkillDraft, parse_skill, skill_name};
