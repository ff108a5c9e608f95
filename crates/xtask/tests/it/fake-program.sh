#!/bin/sh
# Stands in for cargo and npm: tells what it was asked, and fails the command that FAILS names.
echo "asked: $* [RUSTDOCFLAGS=${RUSTDOCFLAGS-}] [CARGO_PKG_NAME=${CARGO_PKG_NAME-}]" \
  "[SAMOVAR_CONTRACT=${SAMOVAR_CONTRACT-}] [THREADS=${NEXTEST_TEST_THREADS-}]"
test "$1" != "${FAILS-}"
