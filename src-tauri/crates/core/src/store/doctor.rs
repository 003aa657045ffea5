//! `steward doctor`: whether the data is well, and what to do when it is not.
