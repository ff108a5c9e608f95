//! The tests of the tasks, and the rules of the house as tests of the whole tree.

mod dist;
mod house;
mod tasks;
