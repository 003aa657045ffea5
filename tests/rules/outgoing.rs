//! The comment that goes out: nothing in it that others wrote is alive.

use proptest::prelude::*;
use steward_rules::ids::{ReviewId, Sha};
use steward_rules::outgoing::{CommentInput, HoldsSecret, MOST, comment, is_marked, marker};
use steward_rules::review::findings::{Finding, FindingState, Origin};
use steward_rules::review::gate::{GateId, GateResult, GateState};
use steward_rules::review::verdict::Verdict;
use steward_rules::untrusted::Untrusted;

const HEAD: &str = "89abcdef0123456789abcdef0123456789abcdef";

fn head() -> Sha {
    Sha::new(HEAD).unwrap()
}

fn finding(title: &str, file: &str, why: &str, check: &str) -> Finding {
    Finding {
        id: "f1".to_owned(),
        origin: Origin::Seat,
        state: FindingState::New,
        since: ReviewId(1),
        title: Untrusted::new(title),
        file: file.to_owned(),
        line: 2,
        why: Untrusted::new(why),
        check: Untrusted::new(check),
        severity: None,
        cited: String::new(),
        excerpt: Vec::new(),
    }
}

fn failed(id: GateId, detail: &str) -> GateResult {
    GateResult { id, state: GateState::Fail, detail: detail.to_owned(), evidence: Vec::new() }
}

fn said(
    summary: &str,
    lowered: &[String],
    gates: &[GateResult],
    findings: &[Finding],
) -> Result<String, HoldsSecret> {
    let input = CommentInput {
        head: &head(),
        verdict: Verdict::Changes,
        summary: Some(summary),
        lowered,
        gates,
        findings,
    };
    comment(&input).map(|text| text.into_string())
}

#[test]
fn the_comment_of_a_review() {
    let gates = [
        failed(GateId::PrHygiene, "the title is no Conventional Commit: `fixed stuff`"),
        GateResult { state: GateState::Pass, ..failed(GateId::Ci, "all 4 checks passed") },
    ];
    let findings = [
        finding(
            "it subtracts",
            "src/lib.rs",
            "minus instead of plus,\nso that 1 + 2 is -1",
            "add(1, 2) == 3",
        ),
        Finding { state: FindingState::Fixed, ..finding("old", "a.rs", "was wrong", "none") },
    ];
    let text = said("One thing is wrong.", &["not read: b.rs:1".to_owned()], &gates, &findings).unwrap();
    insta::assert_snapshot!(text, @r"
    <!-- steward:review head=89abcdef0123456789abcdef0123456789abcdef -->
    **Review: CHANGES** at `89abcdef0123456789abcdef0123456789abcdef`

    ```text
    | One thing is wrong.
    ```

    Lowered by:

    ```text
    | not read: b.rs:1
    ```

    ### Failed gates

    ```text
    pr_hygiene: the title is no Conventional Commit: `fixed stuff`
    ```

    ### Findings

    **1.** new

    ```text
    at:    src/lib.rs:2
    what:  it subtracts
    why:   minus instead of plus,
         | so that 1 + 2 is -1
    check: add(1, 2) == 3
    ```
    ");
    let none = said("Well done.", &[], &[], &[]).unwrap();
    insta::assert_snapshot!(none, @r"
    <!-- steward:review head=89abcdef0123456789abcdef0123456789abcdef -->
    **Review: CHANGES** at `89abcdef0123456789abcdef0123456789abcdef`

    ```text
    | Well done.
    ```

    No open findings.
    ");
}

/// The text outside of code blocks, read as GitHub's Markdown reads fences at the begin of a line.
fn outside(text: &str) -> String {
    let mut open: Option<usize> = None;
    let mut kept = String::new();
    for line in text.lines() {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match open {
            None if ticks >= 3 => open = Some(ticks),
            None => {
                kept.push_str(line);
                kept.push('\n');
            }
            Some(fence) => {
                if ticks >= fence && line[ticks..].trim().is_empty() {
                    open = None;
                }
            }
        }
    }
    assert_eq!(open, None, "a code block is left open:\n{text}");
    kept
}

/// What our own words alone may look like.
fn is_ours(line: &str) -> bool {
    let numbered = |rest: &str| {
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        digits > 0 && matches!(&rest[digits..], ".** new" | ".** open")
    };
    line.is_empty()
        || line == format!("<!-- steward:review head={HEAD} -->")
        || line == format!("**Review: CHANGES** at `{HEAD}`")
        || matches!(line, "Lowered by:" | "### Failed gates" | "### Findings" | "No open findings.")
        || line.strip_prefix("**").is_some_and(numbered)
        || line
            .strip_suffix(" not shown here.")
            .and_then(|rest| rest.strip_suffix(" more finding").or(rest.strip_suffix(" more findings")))
            .is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit()))
}

fn assert_inert(text: &str) {
    assert!(text.chars().count() <= MOST, "{} characters", text.chars().count());
    assert!(text.starts_with(&marker(&head())), "the marker stands first");
    for line in outside(text).lines() {
        assert!(is_ours(line), "foreign text outside of a code block: {line:?}\n{text}");
    }
    for (at, _) in text.match_indices(['@', '＠', '﹫']) {
        let next = text[at..].chars().nth(1);
        assert!(
            next.is_none_or(char::is_whitespace),
            "a mention: {:?}",
            &text[at..].chars().take(20).collect::<String>()
        );
    }
    let hidden: Vec<char> =
        text.chars().filter(|c| *c != '\n' && steward_rules::untrusted::is_hidden(*c)).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    // Programs that obey commands read them at the begin of a line.
    assert!(!text.lines().any(|line| line.trim_start().starts_with('/')), "{text}");
}

#[test]
fn a_keyword_never_stands_before_the_issue_it_would_close() {
    for (evil, parted) in [
        ("fixes #12", "fixes – #12"),
        ("Closes: octo/app#3 and RESOLVED GH-4", "Closes: – octo/app#3 and RESOLVED – GH-4"),
        ("fix https://github.com/octo/app/issues/1", "fix – https://github.com/octo/app/issues/1"),
        ("prefixes #12, a fix for #12", "prefixes #12, a fix for #12"),
    ] {
        let text = said(evil, &[], &[], &[finding(evil, "a.rs", evil, evil)]).unwrap();
        assert_eq!(text.matches(parted).count(), 4, "{text}");
    }
    let split = said("fixes\n#12", &[], &[], &[]).unwrap();
    assert!(!split.contains("fixes\n#12"), "{split}");
}

#[test]
fn nothing_that_others_wrote_is_alive() {
    for evil in [
        "@octo please merge",
        "cc @octo/admins, @bors r+",
        "/approve\n/lgtm",
        "fixes #12, closes octo/app#3, resolves GH-4",
        "https://github.com/octo/app/issues/1 and www.example.org",
        "<img src=x onerror=alert(1)><script>1</script><details>",
        "![picture](https://example.org/p.png) [link](javascript:alert(1))",
        "```\nout of the block\n```\n@octo",
        "````````````````````````\n# out\n",
        "~~~\nout\n~~~",
        "<!-- steward:review head=89abcdef0123456789abcdef0123456789abcdef -->\nforged",
        "--> out of a comment <!--",
        "\u{202e}reversed\u{200b}and hidden\u{e0041}",
        "\r\n\r# heading\r\n> quote\n- [ ] box",
        "89abcdef0123456789abcdef0123456789abcdef",
        "＠octo ﹫octo",
        "    \n\t\n`",
        "",
    ] {
        let gates = [failed(GateId::NotStacked, evil), failed(GateId::Scope, evil)];
        let text = said(evil, &[evil.to_owned()], &gates, &[finding(evil, evil, evil, evil)]);
        assert_inert(&text.unwrap_or_else(|error| panic!("{evil:?}: {error}")));
    }
}

#[test]
fn many_and_long_findings_are_cut_where_the_room_ends() {
    let long = "word `` @x \u{200b} ".repeat(500);
    let findings: Vec<Finding> =
        (0..50).map(|n| finding(&long, &format!("src/{n}.rs"), &long, &"\n".repeat(5000))).collect();
    let gates: Vec<GateResult> = GateId::ALL.into_iter().map(|id| failed(id, &long)).collect();
    let lowered: Vec<String> = vec![long.clone(); 20];
    let text = said(&"\u{e0041}\n".repeat(4000), &lowered, &gates, &findings).unwrap();
    assert_inert(&text);
    assert!(text.trim_end().ends_with("not shown here."), "{}", &text[text.len() - 200..]);
}

#[test]
fn a_secret_keeps_the_whole_text_back_and_is_not_kept_itself() {
    // Made of parts, so that this file holds none.
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    let texts = [
        said(&format!("the key {key} is in it"), &[], &[], &[]),
        said("", &[format!("not read: {key}")], &[], &[]),
        said("", &[], &[failed(GateId::Scope, &key)], &[]),
        said("", &[], &[], &[finding("t", "f", &format!("found {key}"), "c")]),
        said("", &[], &[], &[finding("t", "f", "w", &key)]),
        // Broken at the width of a line, it would be no secret to whoever reads the text alone.
        said(&format!("{}{key}", "x".repeat(86) + " "), &[], &[], &[]),
    ];
    for made in texts {
        let held = made.expect_err("it holds a secret");
        assert!(!held.redacted.contains(&key) && !held.redacted.replace(['\n', '|', ' '], "").contains(&key));
        assert!(held.redacted.contains("[redacted:"), "{}", held.redacted);
        assert!(!held.to_string().contains(&key));
        assert_inert(&held.redacted);
    }
    assert!(said("the sample key AKIAIOSFODNN7EXAMPLE is documented", &[], &[], &[]).is_ok());
}

#[test]
fn our_own_comment_is_known_by_author_and_first_line() {
    let text = said("x", &[], &[], &[]).unwrap();
    let other = Sha::new("0123456789abcdef0123456789abcdef01234567").unwrap();
    assert!(is_marked(&marker(&head()), "octo", Some("Octo"), &text));
    assert!(is_marked(&marker(&head()), "octo", Some("octo"), &text.replace('\n', "\r\n")));
    for (head, author, body) in [
        (&head(), Some("mallory"), text.clone()),
        (&head(), None, text.clone()),
        (&other, Some("octo"), text.clone()),
        (&head(), Some("octo"), format!("quoted:\n{text}")),
        (&head(), Some("octo"), text.replacen("steward:review", "steward:other", 1)),
        (&head(), Some("octo"), String::new()),
    ] {
        assert!(!is_marked(&marker(head), "octo", author, &body), "{author:?} {body:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn no_text_comes_alive(text in "[`~@/#<>!a\\[\\]()\n\r\t \u{202e}\u{ff20}|-]{0,60}", other in "\\PC{0,40}") {
        let findings = [finding(&text, &other, &text, &other), finding(&other, &text, &other, &text)];
        let gates = [failed(GateId::Scope, &text), failed(GateId::Ci, &other)];
        if let Ok(made) = said(&text, &[other], &gates, &findings) {
            assert_inert(&made);
        }
    }
}
