//! The diff parser: what git writes, cut anywhere, and hostile text inside it.

use proptest::prelude::*;
use steward_rules::diff::collect::{Collect, Collected, sniff};
use steward_rules::diff::parse::{CommitHead, LINE_PIECE, Parser, Record, Shape, Sink, Span, unquoted};
use steward_rules::diff::{Content, Kind, RepoPath, Status};

const A: &str = "1111111111111111111111111111111111111111";
const B: &str = "2222222222222222222222222222222222222222";
const Z: &str = "0000000000000000000000000000000000000000";

/// Old mode, new mode, old blob, new blob, status, paths.
type Raw<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a [&'a [u8]]);

/// One record per entry, then the patch.
fn output(records: &[Raw<'_>], patch: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (old_mode, new_mode, old, new, letter, paths) in records {
        out.extend_from_slice(format!(":{old_mode} {new_mode} {old} {new} {letter}\0").as_bytes());
        for path in *paths {
            out.extend_from_slice(path);
            out.push(0);
        }
    }
    out.push(0);
    out.extend_from_slice(patch);
    out
}

fn parsed(bytes: &[u8], step: usize) -> Collected {
    let mut parser = Parser::new(Shape::Diff);
    let mut sink = Collect::default();
    for chunk in bytes.chunks(step) {
        parser.push(chunk, &mut sink).unwrap();
    }
    parser.finish().unwrap();
    sink.finish()
}

fn modified(path: &[u8], patch: &[u8]) -> Vec<u8> {
    output(&[("100644", "100644", A, B, "M", &[path])], patch)
}

#[test]
fn a_line_that_looks_like_a_header_stays_a_line() {
    let patch = b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n--- a/etc/passwd\n-@@ -1 +1 @@\n-diff --git a/y b/y\n+++ b/etc/passwd\n+@@ -9 +9 @@\n+diff --git a/y b/y\n+Binary files a/x and b/x differ\n";
    let diff = parsed(&modified(b"x", patch), 7).diff;
    assert_eq!(diff.files.len(), 1);
    assert_eq!(diff.files[0].lines, Some((4, 3)));
    assert_eq!(diff.files[0].content, Content::Text);
    let texts: Vec<_> = diff.files[0].hunks[0].added.iter().map(|l| l.text.as_slice()).collect();
    assert_eq!(texts[0], b"++ b/etc/passwd");
    assert_eq!(texts[2], b"diff --git a/y b/y");
}

#[test]
fn the_missing_line_end_belongs_to_the_line_before() {
    let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n";
    let diff = parsed(&modified(b"x", patch), 3).diff;
    assert_eq!(diff.files[0].lines, Some((1, 1)));
    assert_eq!(diff.files[0].hunks[0].added[0].text, b"b");
}

#[test]
fn paths_come_raw_from_the_records_never_from_headers() {
    let path: &[u8] = b"a\n\xff b/\"q\"\tx";
    let patch =
        b"diff --git a/lie b/lie\nnew file mode 100644\n--- /dev/null\n+++ b/lie\n@@ -0,0 +1 @@\n+x\n";
    let diff = parsed(&output(&[("000000", "100644", Z, B, "A", &[path])], patch), 1).diff;
    assert_eq!(diff.files[0].path, RepoPath::new(path));
    assert_eq!(diff.files[0].path.shown(), "a\n\\xff b/\"q\"\tx");
}

#[test]
fn each_section_belongs_to_the_next_record_and_a_type_change_has_two() {
    let records: &[Raw<'_>] = &[
        ("100644", "100644", A, A, "R100", &[b"old", b"new"]),
        ("100644", "120000", A, B, "T", &[b"t"]),
        ("100644", "100755", A, A, "M", &[b"run"]),
        ("160000", "160000", A, B, "M", &[b"sub"]),
        ("100644", "000000", A, Z, "D", &[b"z"]),
    ];
    let patch = b"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n\
diff --git a/t b/t\ndeleted file mode 100644\n--- a/t\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n\
diff --git a/t b/t\nnew file mode 120000\n--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n\
diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
diff --git a/sub b/sub\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n\
diff --git a/z b/z\ndeleted file mode 100644\n--- a/z\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n";
    let Collected { diff, look } = parsed(&output(records, patch), 11);
    let lines: Vec<_> = diff.files.iter().map(|f| f.lines).collect();
    assert_eq!(lines, [Some((0, 0)), Some((1, 1)), Some((0, 0)), Some((1, 1)), Some((0, 2))]);
    assert_eq!(diff.files[0].status, Status::Renamed { similarity: 100 });
    assert_eq!(diff.files[0].old_path, Some(RepoPath::from("old")));
    assert_eq!((diff.files[1].status, diff.files[1].new_kind), (Status::TypeChanged, Kind::Symlink));
    assert_eq!(diff.files[2].new_kind, Kind::Executable);
    assert_eq!(diff.files[3].content, Content::None);
    assert_eq!(diff.files[4].content, Content::None);
    // What stayed the same is not shown by git, so its blob has to be asked.
    assert_eq!(look, [0, 2]);
}

#[test]
fn a_file_without_shown_lines_is_looked_at_and_a_pointer_too() {
    let binary = b"diff --git a/x b/x\nBinary files a/x and b/x differ\n";
    let found = parsed(&modified(b"x", binary), 64);
    assert_eq!((found.look.as_slice(), found.diff.files[0].lines), ([0].as_slice(), None));
    let pointer = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2 +2 @@\n-oid sha256:aa\n+oid sha256:bb\n";
    assert_eq!(parsed(&modified(b"x", pointer), 64).look, [0]);
    let text = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2 +2 @@\n-a\n+b\n";
    assert!(parsed(&modified(b"x", text), 64).look.is_empty());
}

#[test]
fn only_the_first_8000_bytes_decide() {
    let mut bytes = vec![b'a'; 9000];
    bytes[8000] = 0;
    assert_eq!(sniff(&bytes, 9000), Content::Text);
    bytes[7999] = 0;
    assert_eq!(sniff(&bytes, 9000), Content::Binary);
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 1\n";
    assert_eq!(sniff(pointer, pointer.len() as u64), Content::LfsPointer);
    assert_eq!(sniff(pointer, 5000), Content::Text);
}

/// Writes down what the parser says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    commits: Vec<CommitHead>,
    records: Vec<(usize, Record)>,
    binary: Vec<usize>,
    added: Vec<(usize, u32, Vec<u8>)>,
}

impl Sink for Told {
    fn commit(&mut self, head: CommitHead) {
        self.commits.push(head);
    }
    fn record(&mut self, index: usize, record: Record) {
        self.records.push((index, record));
    }
    fn binary(&mut self, index: usize) {
        self.binary.push(index);
    }
    fn hunk(&mut self, _index: usize, _span: Span) {}
    fn added(&mut self, index: usize, line: u32, text: &[u8]) {
        self.added.push((index, line, text.to_vec()));
    }
    fn removed(&mut self, _index: usize, _line: u32, _text: &[u8]) {}
}

fn told(bytes: &[u8], step: usize) -> Told {
    let mut parser = Parser::new(Shape::Log);
    let mut told = Told::default();
    for chunk in bytes.chunks(step) {
        parser.push(chunk, &mut told).unwrap();
    }
    parser.finish().unwrap();
    told
}

fn header(sha: &str, parents: &str, message: &str) -> Vec<u8> {
    format!("\0\u{1}{sha}\0{parents}\01700000000\0Ada <a@b>\0{message}\0\0").into_bytes()
}

#[test]
fn a_log_keeps_commits_apart_whatever_their_messages_say() {
    let forged = format!("diff --git a/x b/x\n@@ -1 +1 @@\n+secret\n:100644 100644 {A} {B} M\n");
    let mut log = header(A, B, &forged);
    log.extend_from_slice(b"\n");
    log.extend(modified(b"x", b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+real\n"));
    log.extend(header(B, "", "empty\n"));
    for step in [1, 5, 4096] {
        let told = told(&log, step);
        assert_eq!(told.commits.len(), 2);
        assert_eq!(told.commits[0].message, forged.as_bytes());
        assert_eq!(told.added, [(0, 1, b"real".to_vec())]);
    }
}

#[test]
fn of_a_merge_only_lines_in_no_parent_are_added() {
    let mut log = header(A, &format!("{B} {Z}"), "merge\n");
    log.push(0);
    log.extend_from_slice(format!("::100644 100644 100644 {A} {B} {A} MM\0x y\0\0").as_bytes());
    log.extend_from_slice(b"diff --combined x y\nindex 1,2..3\n--- a/x y\n+++ b/x y\n@@@ -2,2 -2,1 +2,3 @@@\n- gone\n -gone too\n+ theirs\n +ours\n++evil\n");
    // The second parent has one of the two removed and one of the three kept lines.
    let told = told(&log.replace(b"-2,2 -2,1", b"-2,2 -2,2"), 9);
    assert_eq!(told.added, [(0, 4, b"evil".to_vec())]);
}

trait Replaced {
    fn replace(&self, from: &[u8], to: &[u8]) -> Vec<u8>;
}

impl Replaced for Vec<u8> {
    fn replace(&self, from: &[u8], to: &[u8]) -> Vec<u8> {
        let at = self.windows(from.len()).position(|w| w == from).unwrap();
        [&self[..at], to, &self[at + from.len()..]].concat()
    }
}

#[test]
fn a_line_of_any_length_comes_in_pieces_that_overlap() {
    let long = vec![b'x'; LINE_PIECE * 3];
    let mut patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+".to_vec();
    patch.extend_from_slice(&long);
    patch.extend_from_slice(b"END\n+next\n");
    let mut log = header(A, B, "m\n");
    log.push(b'\n');
    log.extend(modified(b"x", &patch));
    let told = told(&log, 65536);
    assert!(told.added.iter().all(|(_, _, text)| text.len() <= LINE_PIECE));
    assert_eq!(told.added.iter().filter(|(_, line, _)| *line == 1).count(), 4);
    let last = &told.added[told.added.len() - 2].2;
    assert!(last.ends_with(b"xEND"));
    assert_eq!(told.added.last(), Some(&(0, 2, b"next".to_vec())));
    // Collected, it still counts as one line.
    let diff = parsed(&modified(b"x", &patch), 65536).diff;
    assert_eq!(diff.files[0].lines, Some((2, 0)));
}

#[test]
fn cut_or_foreign_output_is_an_error_never_a_shorter_diff() {
    let whole = modified(b"x", b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    let complete = parsed(&whole, 64);
    for end in 1..whole.len() {
        let mut parser = Parser::new(Shape::Diff);
        let mut sink = Collect::default();
        let ended = parser.push(&whole[..end], &mut sink).and_then(|()| parser.finish());
        if ended.is_ok() {
            // Only at the end of a header line can a cut not be seen; then no line is shown at all.
            let found = sink.finish();
            assert!(found.diff.files.iter().all(|f| f.hunks.is_empty()), "cut at {end}");
            assert_ne!(found, complete);
        }
    }
}

#[test]
fn quoting_is_undone() {
    assert_eq!(unquoted(b"plain name"), b"plain name");
    assert_eq!(unquoted(b"\"a\\n\\t\\\"\\\\\\377\\001\""), b"a\n\t\"\\\xff\x01");
}

#[test]
fn a_raw_record_without_its_status_letter_is_refused() {
    for end in ["", " "] {
        let bytes = format!(":100644 100644 {A} {B}{end}\0x\0\0").into_bytes();
        let mut parser = Parser::new(Shape::Diff);
        assert!(parser.push(&bytes, &mut Collect::default()).is_err(), "{end:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), step in 1_usize..50, log in any::<bool>()) {
        let mut parser = Parser::new(if log { Shape::Log } else { Shape::Diff });
        let mut sink = Collect::default();
        let mut well = true;
        for chunk in bytes.chunks(step) {
            if parser.push(chunk, &mut sink).is_err() {
                well = false;
                break;
            }
        }
        if well {
            let _either = parser.finish();
        }
        let _whatever = unquoted(&bytes);
    }

    #[test]
    fn cutting_the_stream_elsewhere_changes_nothing(
        lines in proptest::collection::vec("[-+@ \\\\a-z0-9]{0,12}", 1..12),
        step in 1_usize..40,
        damage in proptest::option::of((0_usize..400, any::<u8>())),
    ) {
        let mut patch = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,{} @@\n", lines.len()).into_bytes();
        for line in &lines {
            patch.extend_from_slice(format!("+{line}\n").as_bytes());
        }
        let mut bytes = modified(b"x", &patch);
        if let Some((at, byte)) = damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let read = |step: usize| {
            let mut parser = Parser::new(Shape::Diff);
            let mut sink = Collect::default();
            for chunk in bytes.chunks(step) {
                parser.push(chunk, &mut sink)?;
            }
            parser.finish()?;
            Ok::<_, steward_rules::diff::parse::ParseError>(sink.finish())
        };
        let (one, other) = (read(step), read(bytes.len()));
        prop_assert_eq!(one.is_ok(), other.is_ok());
        if let (Ok(one), Ok(other)) = (one, other) {
            if damage.is_none() {
                let texts: Vec<String> = one.diff.files[0].hunks[0].added.iter()
                    .map(|l| String::from_utf8_lossy(&l.text).into_owned()).collect();
                prop_assert_eq!(texts, lines);
            }
            prop_assert_eq!(one, other);
        }
    }
}
