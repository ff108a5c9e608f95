//! The tools for the web, against real servers on loopback.

mod charsets;
mod fetch;
mod hostile_pages;
mod search;
mod site;
