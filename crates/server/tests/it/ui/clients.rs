//! Real clients of the AI SDK, in the versions that are served.
