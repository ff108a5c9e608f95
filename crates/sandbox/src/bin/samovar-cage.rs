//! A program that is nothing but a cage, for programs that cannot call
//! [`be_cage_if_asked`](samovar_sandbox::cage::be_cage_if_asked) themselves.

use std::process::ExitCode;

fn main() -> ExitCode {
    samovar_sandbox::cage::be_cage_if_asked();
    ExitCode::FAILURE
}
