#!/usr/bin/env bash
# A binary keeps its symbols as soon as its own package has any override in Cargo's profile.
#
# Cargo 1.95.0. `[profile.release] strip = "symbols"` holds for a binary, and `[profile.release.package.NAME]`
# takes over what it does not name itself, say `debug`; but with an override that names only `opt-level`, `strip`
# goes back to its default for that package without a warning: `cargo build -v` shows `-C strip=debuginfo`, and
# the program has its whole table of symbols, which were 16 of 84 MB where it was noticed. An override that
# repeats `strip` is obeyed.
#
# Seen, for a profile that strips: without override stripped, with opt-level in one not stripped, with
# opt-level and strip stripped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
echo 'fn main() {}' >src/main.rs
cargo --version
seen=
for override in '' 'opt-level = "s"' $'opt-level = "s"\nstrip = "symbols"'; do
    printf '[package]\nname = "small"\nversion = "0.0.0"\nedition = "2021"\n[profile.release]\nstrip = "symbols"\n' >Cargo.toml
    if [ -n "$override" ]; then
        printf '[profile.release.package.small]\n%s\n' "$override" >>Cargo.toml
    fi
    CARGO_TARGET_DIR=target cargo build --quiet --release
    # The table of symbols is a section of the file.
    if grep --quiet --text '\.symtab' target/release/small; then
        seen="$seen kept"
    else
        seen="$seen stripped"
    fi
done
echo "without override, with opt-level, with strip, too:$seen"
[ "$seen" = ' stripped kept stripped' ]
