//! The codecs at their border: bytes in, types out; events in, bytes out.

mod calls;
mod contract;
mod export;
mod full;
mod log;
mod pages;
mod params;
mod random;

mod stream;
