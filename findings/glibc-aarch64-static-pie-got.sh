#!/usr/bin/env bash
# With Debian's glibc a static PIE for aarch64 cannot have more than 32 KiB of addresses in its table.
#
# Debian's glibc 2.36 and GCC 12 for aarch64. A program is compiled with `-fPIC`, the large model, whose table of
# global addresses may be of any size, and links; a bigger one does not: `libc.a` itself was compiled with
# `-fpic`, the small model, and its files come last into the one table of the program, where their short offsets
# no longer reach. The linker advises "recompile with -fPIC" to those who have done so. A large Rust program with
# `-C target-feature=+crt-static` meets it. At a fixed place the same sources link, because then they need no
# table; so do they on x86_64, where no such limit exists.
#
# Seen: 6,000 outside variables, static PIE: "too many GOT entries"; 3,000: links; 6,000 at a fixed place: links.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
gcc=12.2.0-14cross1 libc=2.36-8cross1
apt-get download -q "gcc-12-aarch64-linux-gnu=$gcc" "cpp-12-aarch64-linux-gnu=$gcc" \
    "libgcc-12-dev-arm64-cross=$gcc" "libc6-dev-arm64-cross=$libc" "libc6-arm64-cross=$libc" \
    linux-libc-dev-arm64-cross binutils-aarch64-linux-gnu >download.txt 2>&1
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH=$PWD/usr/lib/x86_64-linux-gnu PATH=$PWD/usr/bin:$PATH

# A program that reads so many variables of another file.
write() {
    seq "$1" | sed 's/.*/int v&;/' >variables.c
    {
        seq "$1" | sed 's/.*/extern int v&;/'
        echo 'int main(void) { int sum = 0;'
        seq "$1" | sed 's/.*/sum += *(volatile int *)\&v&;/'
        echo 'return sum; }'
    } >main.c
}
links() {
    if aarch64-linux-gnu-gcc-12 --sysroot="$PWD" -B "$PWD/usr/aarch64-linux-gnu/lib/" -L "$PWD/usr/aarch64-linux-gnu/lib" \
        "$@" -o program main.c variables.c 2>said.txt; then
        echo links
    else
        grep -o 'too many GOT entries' said.txt | head -1
    fi
}
write 6000
big=$(links -fPIC -static-pie)
fixed=$(links -fno-pie -no-pie -static)
write 3000
small=$(links -fPIC -static-pie)
echo "6000: $big; 3000: $small; 6000 at a fixed place: $fixed"
[ "$big" = "too many GOT entries" ] && [ "$small" = links ] && [ "$fixed" = links ]
echo "as seen"
