//! Counting tests from what the runners print at their end.

/// How many tests ran, over all runners.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub passed: u32,
    pub failed: u32,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Adds the counts of one line, when it is the closing line of a runner.
    pub fn read(&mut self, line: &str) {
        let line = plain(line);
        let line = line.trim();
        let nextest = line.starts_with("Summary [");
        let libtest = line.starts_with("test result:");
        let vitest = line.starts_with("Tests ") && line.ends_with(')');
        if nextest || libtest || vitest {
            self.passed += before(line, "passed");
            self.failed += before(line, "failed") + before(line, "timed out");
        } else if let Some(count) = node(line, "pass") {
            self.passed += count;
        } else if let Some(count) = node(line, "fail") {
            self.failed += count;
        }
    }
}

/// The number that stands before a word: `12 passed`.
fn before(line: &str, word: &str) -> u32 {
    line.match_indices(word)
        .find_map(|(at, _)| line[..at].trim_end().rsplit([' ', '(', ',']).next()?.parse().ok())
        .unwrap_or(0)
}

/// Node's runner: `# pass 12` or `ℹ pass 12`.
fn node(line: &str, word: &str) -> Option<u32> {
    let rest = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?;
    rest.strip_prefix(word)?.trim().parse().ok()
}

/// A line without its colours.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn read(lines: &[&str]) -> (u32, u32) {
        let mut tally = Tally::default();
        for line in lines {
            tally.read(line);
        }
        (tally.passed, tally.failed)
    }

    #[test]
    fn each_runner_is_counted_by_its_closing_line() {
        assert_eq!(
            read(&["     Summary [   1.523s] 120 tests run: 119 passed, 1 failed, 3 skipped"]),
            (119, 1)
        );
        assert_eq!(
            read(&[
                "     Summary [   9.0s] 12 tests run: 10 passed (2 slow), 1 failed, 1 timed out, 0 skipped"
            ]),
            (10, 2)
        );
        assert_eq!(
            read(&["test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out"]),
            (7, 0)
        );
        assert_eq!(read(&["\u{1b}[2m      Tests \u{1b}[22m 1 failed | 12 passed (13)"]), (12, 1));
        assert_eq!(read(&["ℹ tests 5", "ℹ pass 4", "# fail 1"]), (4, 1));
    }

    #[test]
    fn a_line_that_only_talks_of_tests_counts_nothing() {
        assert_eq!(
            read(&["12 passed by here", "Tests are good", "# passing 3 gates", "PASS [0.1s] a::b"]),
            (0, 0)
        );
    }
}
