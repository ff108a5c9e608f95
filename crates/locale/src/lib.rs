//! Every sentence that a person sees, from one catalogue.
