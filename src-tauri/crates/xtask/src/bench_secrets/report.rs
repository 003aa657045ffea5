//! Writes what was measured: JSON for machines, one page for people.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::shell;

/// Writes both files and prints the page.
pub fn write(result: &Value) -> Result<()> {
    let root = shell::root();
    fs::create_dir_all(root.join("benches/results"))?;
    fs::create_dir_all(root.join("docs"))?;
    fs::write(root.join("benches/results/secrets.json"), serde_json::to_string_pretty(result)? + "\n")?;
    let page = page(result)?;
    fs::write(root.join("docs/benchmarks-secrets.md"), &page)?;
    println!("{page}");
    Ok(())
}

fn page(result: &Value) -> Result<String> {
    let mut page = String::from("# The secret engine, measured\n\n");
    let (machine, tools) = (&result["machine"], &result["tools"]);
    writeln!(
        page,
        "`cargo xtask bench secrets`, {}, {} with {} cores. Beside {} and {}, in one run on the same inputs; each figure is the CPU of a whole process, the least of several rounds. The numbers are in `benches/results/secrets.json`.\n",
        word(&result["date"]),
        word(&machine["cpu"]),
        machine["cores"],
        word(&tools["gitleaks"]),
        word(&tools["kingfisher"]),
    )?;
    let speed = &result["throughput"];
    let rate = &speed["megabytes_per_cpu_second"];
    writeln!(
        page,
        "## Throughput\n\nDiffs between consecutive releases of 50 crates, repeated to {:.0} MB, decoding off unless named.\n",
        number(&speed["megabytes"])
    )?;
    writeln!(page, "| | MB per CPU second |\n|---|---|")?;
    for (name, key) in [
        ("Steward", "steward"),
        ("Steward, decoding", "steward_decoding"),
        ("kingfisher `--no-base64 -j1`", "kingfisher"),
        ("gitleaks `--max-decode-depth 0`", "gitleaks"),
    ] {
        writeln!(page, "| {name} | {:.1} |", number(&rate[key]))?;
    }
    let (kingfisher, gitleaks) = (number(&speed["ratio_to_kingfisher"]), number(&speed["ratio_to_gitleaks"]));
    writeln!(page, "| goal: ≥ 1.0 × kingfisher | {kingfisher:.2} × {} |", held(kingfisher >= 1.0))?;
    writeln!(page, "| goal: ≥ 4 × gitleaks | {gitleaks:.1} × {} |", held(gitleaks >= 4.0))?;
    writeln!(
        page,
        "\n## One pull request's diff\n\nStandard input, decoding on. Goal: at most 1/10 of gitleaks.\n\n| diff | Steward ms | gitleaks ms | share |\n|---|---|---|---|"
    )?;
    for row in rows(&result["one_diff"]) {
        let share = number(&row["ratio"]);
        writeln!(
            page,
            "| {} | {:.1} | {:.1} | 1/{:.0} {} |",
            word(&row["diff"]),
            1e3 * number(&row["steward_cpu_seconds"]),
            1e3 * number(&row["gitleaks_cpu_seconds"]),
            1.0 / share,
            held(share <= 0.1)
        )?;
    }
    writeln!(
        page,
        "\n## Planted secrets\n\nThree seeds of every rule, a file each. A near miss is one character short, has a wrong checksum, or is filler. The formats are Steward's own rules, so its own recall is a check of the engine and that of the others a look at their coverage.\n\n| planted | files | Steward | of these high | gitleaks | kingfisher |\n|---|---|---|---|---|---|"
    )?;
    for (kind, name) in [
        ("secret", "secrets (found is right)"),
        ("short", "one short (high is wrong)"),
        ("checksum", "wrong checksum (high is wrong)"),
        ("filler", "filler (high is wrong)"),
    ] {
        let row = &result["recall"][kind];
        writeln!(
            page,
            "| {name} | {} | {} | {} | {} | {} |",
            row["files"], row["steward"], row["steward_high"], row["gitleaks"], row["kingfisher"]
        )?;
    }
    writeln!(
        page,
        "\n## False alarms\n\nDiffs with a hit. Goal: at most 1 diff in 1,000 with a high hit.\n\n| corpus | diffs | changed files | Steward high | Steward generic | gitleaks | kingfisher |\n|---|---|---|---|---|---|---|"
    )?;
    for row in rows(&result["false_alarms"]) {
        writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            word(&row["corpus"]),
            row["diffs"],
            row["changed_files"],
            row["steward_high_diffs"],
            row["steward_generic_diffs"],
            row["gitleaks_diffs"],
            row["kingfisher_diffs"]
        )?;
    }
    let hostile = &result["hostile"];
    let worst = number(&hostile["worst_cpu_seconds"]);
    writeln!(
        page,
        "\n## Files built to hurt\n\n5 MB each, decoding on. Goal: at most 0.2 s. Worst: {worst:.3} s {}\n\n| file | CPU s |\n|---|---|",
        held(worst <= 0.2)
    )?;
    for row in rows(&hostile["files"]) {
        writeln!(page, "| {} | {:.3} |", word(&row["file"]), number(&row["cpu_seconds"]))?;
    }
    Ok(page)
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn held(holds: bool) -> &'static str {
    if holds { "(holds)" } else { "(**missed**)" }
}
