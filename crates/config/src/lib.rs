//! The configuration: its types, its layers, and where each value came from.
