//! Conventional Commit titles, and the two sections of a pull request's body.

use rstest::rstest;
use steward_rules::review::gate::GateId;
use steward_rules::review::gate::body::{Section, Sections, sections};
use steward_rules::review::policy::{BodySections, ReviewPolicy};
use steward_rules::title::{self, TitleError};

use crate::world::*;
use steward_rules::reading::Reading;
use steward_rules::review::facts::Evidence;

fn types() -> Vec<String> {
    ReviewPolicy::default().title_types
}

#[rstest]
#[case("feat(api)!: x", Some("api"), true)]
#[case("feat!: x", None, true)]
#[case("fix: x", None, false)]
#[case("fix(a b/c): x: y", Some("a b/c"), false)]
#[case("revert: feat: x", None, false)]
fn c26_a_conventional_title_is_taken(
    #[case] text: &str,
    #[case] scope: Option<&str>,
    #[case] breaking: bool,
) {
    let title = title::parse(text, &types()).unwrap();
    assert_eq!((title.scope, title.breaking), (scope, breaking));
}

#[rstest]
#[case("Feat: x")]
#[case("feat:x")]
#[case("update stuff")]
#[case("")]
#[case(":")]
#[case(": x")]
#[case("feat")]
#[case("feat:")]
#[case("feat: ")]
#[case("feat:  \t ")]
#[case("feat : x")]
#[case("feat:\tx")]
#[case("feat(): x")]
#[case("feat( ): x")]
#[case("feat(a: x")]
#[case("feat((a)): x")]
#[case("feat(a) : x")]
#[case("feat(a)x: y")]
#[case("feat!(a): x")]
#[case("feat!!: x")]
#[case(" feat: x")]
#[case("feature: x")]
#[case("feat-x: y")]
#[case("wip: x")]
#[case("[fix] x")]
#[case("fix\u{200b}: x")]
#[case("ｆix: x")]
fn c26_anything_else_is_not(#[case] text: &str) {
    assert!(title::parse(text, &types()).is_err(), "{text:?}");
}

#[test]
fn a_title_error_names_what_is_wrong() {
    let error = |text: &str| title::parse(text, &["feat".to_owned(), "fix".to_owned()]).unwrap_err();
    assert_eq!(error("Feat: x").to_string(), "the type is not one of feat, fix");
    assert_eq!(error("feat:x"), TitleError::Colon);
    assert_eq!(error("feat(: x"), TitleError::Scope);
    assert_eq!(error("feat: "), TitleError::NoDescription);
    assert_eq!(error("update stuff"), TitleError::NoType);
}

#[test]
fn the_types_come_from_the_config() {
    let policy = ReviewPolicy { title_types: vec!["data".into()], ..policy() };
    let with = |title: &str| {
        let pull = pull(title, "## Validated\na\n## Not done\nb");
        judge(&Evidence { pull: Reading::known(Some(pull)), ..good() }, &policy, GateId::PrHygiene).state
    };
    assert_eq!((with("data: x"), with("feat: x")), (PASS, FAIL));
}

fn read(body: &str) -> (Section, Section) {
    let Sections { validated, not_done } = sections(body, &BodySections::default());
    (validated, not_done)
}

use Section::{Absent, Empty, Filled};

#[rstest]
#[case::atx("## Validated\nran it\n## Not done\nNone")]
#[case::other_order("# Not verified\n- windows\n\n# Validated\n- linux")]
#[case::crlf("## Validated\r\nran it\r\n## Not done\r\nNone\r\n")]
#[case::closed_atx("## Validated ##\nx\n### Not done / not verified ###\nx")]
#[case::setext("Validated\n=========\nx\n\nNot done\n--------\nx")]
#[case::bold("**Validated**\nx\n\n**Not done**\nx")]
#[case::bold_underscores("__Validated__\nx\n\n__Not verified__\nx")]
#[case::bold_and_colon("**Validated:**\nx\n\n**Not done**:\nx")]
#[case::colon("Validated:\n- a\n\nNot verified:\n- b")]
#[case::mixed("## Validated\nx\n\nNot done:\nx")]
#[case::list_markers("- Validated:\n  - a\n- Not done:\n  - b")]
#[case::emoji("## ✅ Validated\nx\n## ❌ Not done\nx")]
#[case::other_case("## VALIDATED\nx\n## not Done\nx")]
#[case::more_words("## What was validated\nx\n## What is not done yet\nx")]
#[case::not_yet("## Validated (no regressions)\nx\n## Not yet verified\nx")]
#[case::content_in_a_fence("## Validated\n```\ncargo test\n```\n## Not done\n- x")]
#[case::content_in_a_quote("## Validated\n> ran it\n## Not done\n> none")]
#[case::content_below_a_subheading("## Validated\n### Linux\nran it\n## Not done\nx")]
#[case::bold_text_as_content("## Validated\n**all of it**\n## Not done\n**None**")]
#[case::colon_text_as_content("Validated:\nRan these:\n\nNot done:\nnothing")]
#[case::comment_between("## Validated\n<!-- say how -->\nran it\n## Not done\n<!-- x --> None")]
#[case::comment_behind_the_heading("## Validated <!-- how -->\nx\n## Not done <!--\n--> \nx")]
#[case::comment_in_a_fence("```\n<!--\n```\n## Validated\nx\n## Not done\nx")]
#[case::fence_in_a_comment("<!--\n```\n-->\n## Validated\nx\n## Not done\nx")]
#[case::comment_opener_in_code("Uses `<!--` for it\n## Validated\nx\n## Not done\nx")]
#[case::comment_opener_in_prose("a <!-- b\n\n## Validated\nx\n## Not done\nx")]
#[case::a_comment_that_ends_at_once("<!-->\n## Validated\nx\n<!--->\n## Not done\nx")]
#[case::longer_fence("````\n```\n## x\n````\n## Validated\nx\n## Not done\nx")]
#[case::inline_code_that_is_no_fence("```a``` b\n## Validated\nx\n## Not done\nx")]
#[case::an_image("## Validated\n![](a.png)\n## Not done\n👍")]
#[case::said_twice("## Validated\n## Validated\nx\n## Not done\nx")]
fn a_body_with_both_sections(#[case] body: &str) {
    assert_eq!(read(body), (Filled, Filled), "{body}");
}

#[rstest]
#[case::nothing("", Absent, Absent)]
#[case::c27_not_validated("## Not validated\nNone", Absent, Absent)]
#[case::c28_in_a_fence("```\n## Validated\nx\n```\n## Not done\nx", Absent, Filled)]
#[case::in_a_tilde_fence("~~~md\n## Validated\nx\n~~~\n## Not done\nx", Absent, Filled)]
#[case::fence_never_closed("```\n## Validated\nx\n## Not done\nx", Absent, Absent)]
#[case::fence_closed_by_the_other_mark("```\n~~~\n## Validated\nx", Absent, Absent)]
#[case::in_a_comment("<!--\n## Validated\nx\n-->\n## Not done\nx", Absent, Filled)]
#[case::comment_never_closed("<!-- template\n## Validated\nx\n\n## Not done\nx", Absent, Absent)]
#[case::fence_around_a_comment_end("<!--\n```\n-->\n```\n## Validated\nx\n```", Absent, Absent)]
#[case::comment_inside_a_fence_ends_nothing("```\n<!-- ```\n## Validated\nx", Absent, Absent)]
#[case::behind_a_comment("<!-- a --> ## Validated\nx", Absent, Absent)]
#[case::indented_code("    ## Validated\n    x", Absent, Absent)]
#[case::tab_indented_code("\t## Validated\n\tx", Absent, Absent)]
#[case::quoted("> ## Validated\n> x", Absent, Absent)]
#[case::seven_hashes("####### Validated\nx", Absent, Absent)]
#[case::no_space("##Validated\nx", Absent, Absent)]
#[case::plain_word("Validated\nx", Absent, Absent)]
#[case::in_a_sentence("I validated it all.\nIt is not done.", Absent, Absent)]
#[case::long_line_with_colon("This was validated by me on three of the machines:\nx", Absent, Absent)]
#[case::partly_bold("**Validated** by hand\nx", Absent, Absent)]
#[case::one_heading_for_both("## Validated / not done\nx", Absent, Filled)]
#[case::wasnt("## What wasn't validated\nx", Absent, Absent)]
#[case::wasnt_with_a_curly_mark("## What wasn’t validated\nx", Absent, Absent)]
#[case::to_be("## To be validated\nx", Absent, Absent)]
#[case::not_yet("## Validated: not yet\nx", Absent, Absent)]
#[case::invalidated("## Invalidated\nx\n## Unvalidated\nx", Absent, Absent)]
#[case::validation("## Validation\nx", Absent, Absent)]
#[case::empty_sections("## Validated\n\n## Not done\n", Empty, Empty)]
#[case::only_a_comment("## Validated\n<!-- how? -->\n## Not done\nNone", Empty, Filled)]
#[case::only_a_subheading("## Validated\n### Linux\n## Not done\nx", Empty, Filled)]
#[case::only_a_bullet("## Validated\n- \n* [ ] \n## Not done\nx", Empty, Filled)]
#[case::only_a_rule("## Validated\n\n---\n\n## Not done\n***\nx", Empty, Filled)]
#[case::only_hidden_characters("## Validated\n\u{200b}\u{feff}\n## Not done\nx", Empty, Filled)]
#[case::another_section_follows("## Validated\n## Screens\nx\n## Not done\nx", Empty, Filled)]
#[case::higher_heading_follows("### Validated\n# Screens\nx\n## Not done\nx", Empty, Filled)]
#[case::bold_part_follows("**Validated**\n\n**Screens**\nx\n\n**Not done**\nx", Empty, Filled)]
#[case::empty_fence("## Validated\n```\n```\n## Not done\nx", Empty, Filled)]
fn a_body_without_both(#[case] body: &str, #[case] validated: Section, #[case] not_done: Section) {
    assert_eq!(read(body), (validated, not_done), "{body}");
}

#[test]
fn further_headings_come_from_the_config() {
    let more = BodySections { validated: vec!["How I tested".into()], not_done: vec!["Left over".into()] };
    let found = sections("## How I tested:\nx\n## Left over\ny", &more);
    assert_eq!((found.validated, found.not_done), (Filled, Filled));
    assert_eq!(read("## How I tested:\nx\n## Left over\ny"), (Absent, Absent));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the time it takes is the matter of this test")]
fn a_body_made_to_be_slow_is_read_quickly() {
    let began = std::time::Instant::now();
    for part in ["<!-- ", "`", "` `` ", "**a** ", "a <!-- `\n", "# ", "- [ ] ", "\u{200b}"] {
        read(&part.repeat(65_536 / part.len()));
    }
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}

#[test]
fn no_body_of_20_000_makes_the_reader_panic() {
    for seed in 0..20_000 {
        read(&soup(seed));
    }
}

#[test]
fn no_title_of_20_000_makes_the_parser_panic_and_what_it_takes_can_be_put_together_again() {
    let types = types();
    let mut taken = 0;
    for seed in 0..20_000 {
        // Half of them get past the type, so that the rest of the parser is met too.
        let text = if seed % 2 == 0 { format!("feat{}", soup(seed)) } else { soup(seed) };
        if let Ok(title) = title::parse(&text, &types) {
            let scope = title.scope.map(|scope| format!("({scope})")).unwrap_or_default();
            let mark = if title.breaking { "!" } else { "" };
            assert!(text.starts_with(&format!("{}{scope}{mark}: ", title.kind)), "{text:?}");
            assert!(!title.description.is_empty(), "{text:?}");
            taken += 1;
        }
    }
    assert!(taken > 200, "the generated titles reach the parser's end: {taken}");
}

#[test]
fn nothing_inside_a_closed_fence_is_a_section() {
    for seed in 0..5_000 {
        let inside = soup(seed).replace('~', "-");
        assert_eq!(read(&format!("~~~\n{inside}\n~~~\n")), (Absent, Absent), "{inside:?}");
    }
}

#[test]
fn nothing_inside_a_comment_is_a_section() {
    for seed in 0..5_000 {
        let inside = soup(seed).replace("-->", "-- >");
        assert_eq!(read(&format!("<!-- {inside}")), (Absent, Absent), "{inside:?}");
    }
}
