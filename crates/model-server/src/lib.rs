//! Samovar: model-server.
