#!/usr/bin/env bash
# With link-time optimization, a dependency with `opt-level = 3` is optimized with the level of the program.
#
# Cargo and Rust 1.95.0. A profile may give each package a level of its own, and Cargo passes it to the compiler:
# the dependency here is built with `-C opt-level=3`. But its code is optimized once more when the program is
# linked, and then with the level of the program's package alone: at "s" its loop is no longer turned into vector
# instructions, though nothing was said about the dependency. So a program whose own code matters little cannot
# be built for size without making its dependencies slower (turns of a server by 5 to 15 % where it was noticed).
# Thin and full optimization do the same; without either, the level of the dependency holds.
#
# Seen, vector instructions in the dependency's function, with the program at 3 and at "s": off 15 15, thin 15 0,
# fat 15 0.
set -euo pipefail
if [ "$(uname -m)" != x86_64 ]; then
    echo 'looks for the vector registers of x86_64'
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p src dep/src
printf '[package]\nname = "dep"\nversion = "0.0.0"\nedition = "2021"\n' >dep/Cargo.toml
cat >dep/src/lib.rs <<'RS'
#[inline(never)]
pub fn mixed(numbers: &[u32]) -> u32 {
    numbers.iter().fold(0, |all, number| all.wrapping_add(number ^ 0x55))
}
RS
cat >src/main.rs <<'RS'
fn main() {
    let lengths: Vec<u32> = std::env::args().map(|word| word.len() as u32).collect();
    println!("{}", dep::mixed(&lengths));
}
RS
rustc --version
seen=
for lto in off thin fat; do
    seen="$seen $lto"
    for level in 3 '"s"'; do
        cat >Cargo.toml <<TOML
[package]
name = "program"
version = "0.0.0"
edition = "2021"
[dependencies]
dep = { path = "dep" }
[profile.release]
lto = "$lto"
[profile.release.package.program]
opt-level = $level
TOML
        CARGO_TARGET_DIR=target cargo build --quiet --release
        found=$(objdump --disassemble --no-show-raw-insn target/release/program |
            awk '/^[0-9a-f]+ <.*dep.*mixed/ { inside = 1 } /^$/ { inside = 0 } inside' | grep -c xmm || true)
        if [ "$found" -gt 0 ]; then seen="$seen vectors"; else seen="$seen none"; fi
        echo "lto $lto, program at $level: $found instructions with vectors"
    done
done
[ "$seen" = ' off vectors vectors thin vectors none fat vectors none' ]
