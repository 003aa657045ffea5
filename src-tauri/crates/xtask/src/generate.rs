//! `cargo xtask generate`: every committed file that is made from another one.

use anyhow::Result;

use crate::icons;
use crate::shell::{cargo, must};

/// Where generated files stand, for the check that they are current.
pub const GENERATED: &[&str] = &["ui/src/api/generated", "migrations/schema.sql", "config.schema.json"];

pub fn generate(words: &[String]) -> Result<()> {
    match words.first().map(String::as_str) {
        Some("icons") => icons::draw(),
        Some(_) | None => {
            // Each generated file has a test named export_… that writes it.
            must(cargo().args([
                "test",
                "--workspace",
                "--exclude",
                "steward-app",
                "--exclude",
                "steward-desktop-tests",
                "--lib",
                "--tests",
                "export_",
            ]))
        }
    }
}
