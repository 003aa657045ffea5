//! The built app in a real window.
