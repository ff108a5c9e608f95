#!/bin/sh
# Stands in for cargo: tells what it was asked, and fails the command that FAILS names.
echo "asked: $* [RUSTDOCFLAGS=${RUSTDOCFLAGS-}] [CARGO_PKG_NAME=${CARGO_PKG_NAME-}]"
test "$1" != "${FAILS-}"
