//! A program that is nothing but a cage, for the tests of commands.

use std::process::ExitCode;

fn main() -> ExitCode {
    samovar_sandbox::cage::be_cage_if_asked();
    ExitCode::FAILURE
}
