//! No false alarm: five hundred generated merges by every method, over renames and a base that moved by other
//! merges. What each must make is known from a model of the files, not from git.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use steward_core::git::landed::{self, Merge};
use steward_core::git::{BareClone, Git};
use steward_rules::diff::RepoPath;
use steward_rules::engine::landed::{Landed, Method, judge};
use steward_rules::ids::{RepoName, Sha};
use tokio_util::sync::CancellationToken;

/// Merges in all, and the seed of them.
const MERGES: usize = 500;
const SEED: u64 = 20_260_423;
/// A pull request may begin at a base so many merges old.
const OLDEST: usize = 6;
const LINES: usize = 40;
/// Edits of one file at once are so many lines apart.
const APART: usize = 5;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[derive(Debug, Clone, PartialEq)]
struct File {
    path: String,
    lines: Vec<String>,
}

/// The files by a number that a rename keeps.
type Tree = BTreeMap<usize, File>;

#[derive(Debug, Clone)]
enum Act {
    Edit { file: usize, slot: usize, text: String },
    Add { file: usize, path: String },
    Remove { file: usize },
    Rename { file: usize, path: String },
}

fn fresh(file: usize, path: &str) -> File {
    let lines = (0..LINES).map(|line| format!("file {file}, line {line}, as it was first written"));
    File { path: path.to_owned(), lines: lines.collect() }
}

fn apply(tree: &Tree, acts: &[Act]) -> Tree {
    let mut tree = tree.clone();
    for act in acts {
        match act {
            Act::Edit { file, slot, text } => {
                tree.get_mut(file).unwrap().lines[slot * APART].clone_from(text);
            }
            Act::Add { file, path } => drop(tree.insert(*file, fresh(*file, path))),
            Act::Remove { file } => drop(tree.remove(file)),
            Act::Rename { file, path } => tree.get_mut(file).unwrap().path.clone_from(path),
        }
    }
    tree
}

fn by_path(tree: &Tree) -> BTreeMap<&str, &[String]> {
    tree.values().map(|file| (file.path.as_str(), file.lines.as_slice())).collect()
}

/// The paths at which two trees differ.
fn differing(one: &Tree, other: &Tree) -> Vec<RepoPath> {
    let (one, other) = (by_path(one), by_path(other));
    let all: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
    all.into_iter().filter(|path| one.get(path) != other.get(path)).map(RepoPath::from).collect()
}

/// A stream for `git fast-import`; commits are named by their marks.
#[derive(Default)]
struct Stream {
    text: String,
    mark: usize,
    trees: BTreeMap<usize, Tree>,
}

/// What a rebase keeps of a commit.
#[derive(Debug, Clone)]
struct Words {
    author: String,
    message: String,
}

impl Stream {
    /// Writes a commit of this tree.
    fn commit(&mut self, tree: &Tree, parents: &[usize], words: &Words) -> usize {
        self.mark += 1;
        let (mark, at) = (self.mark, 1_790_000_000 + self.mark * 60);
        let Words { author, message } = words;
        let size = message.len();
        write!(
            self.text,
            "commit refs/heads/made\nmark :{mark}\nauthor {author}\ncommitter Committer <c@example.org> {at} +0000\n\
             data {size}\n{message}\n"
        )
        .unwrap();
        let empty = Tree::new();
        let before = parents.first().map_or(&empty, |parent| &self.trees[parent]);
        let (was, is) = (by_path(before), by_path(tree));
        let mut changes = String::new();
        for path in was.keys().filter(|path| !is.contains_key(*path)) {
            writeln!(changes, "D {path}").unwrap();
        }
        for (path, lines) in is.iter().filter(|(path, lines)| was.get(*path) != Some(*lines)) {
            let content = lines.join("\n") + "\n";
            write!(changes, "M 100644 inline {path}\ndata {}\n{content}\n", content.len()).unwrap();
        }
        match parents.split_first() {
            // A branch begins anew with each commit that names its own parents.
            None => {}
            Some((first, others)) => {
                writeln!(self.text, "from :{first}").unwrap();
                for other in others {
                    writeln!(self.text, "merge :{other}").unwrap();
                }
            }
        }
        self.text += &changes;
        self.text += "\n";
        self.trees.insert(mark, tree.clone());
        mark
    }
}

/// One merge in marks.
struct Case {
    method: Method,
    head: usize,
    landed: usize,
    before: Vec<usize>,
    /// The same landed over the base as it was when the pull request began, where that makes another tree.
    wrong: Option<(usize, Vec<RepoPath>)>,
}

/// What was touched by one merge.
#[derive(Default)]
struct Touched {
    edited: BTreeSet<(usize, usize)>,
    moved: BTreeSet<usize>,
    removed: BTreeSet<usize>,
}

struct Generator {
    dice: Dice,
    stream: Stream,
    /// The base after each merge, as marks.
    base: Vec<usize>,
    recent: VecDeque<Touched>,
    files: usize,
}

impl Generator {
    fn new() -> Self {
        let mut stream = Stream::default();
        let tree: Tree =
            (0..30).map(|file| (file, fresh(file, &format!("dir{}/f{file}.txt", file % 5)))).collect();
        let first = stream.commit(&tree, &[], &words(0, "chore: first"));
        Self { dice: Dice(SEED), stream, base: vec![first], recent: VecDeque::new(), files: 30 }
    }

    /// One act on what is there in both trees and what nobody else touches in that way.
    fn act(&mut self, fork: &Tree, now: &Tree, own: &mut Touched) -> Act {
        let touched = |recent: &VecDeque<Touched>, own: &Touched, is: &dyn Fn(&Touched) -> bool| {
            is(own) || recent.iter().any(is)
        };
        loop {
            let both: Vec<usize> = fork.keys().filter(|file| now.contains_key(file)).copied().collect();
            let file = both[self.dice.roll(both.len())];
            if touched(&self.recent, own, &|one| one.removed.contains(&file)) {
                continue;
            }
            match self.dice.roll(10) {
                0 => {
                    self.files += 1;
                    let path = format!("dir{}/new{}.txt", self.files % 5, self.files);
                    return Act::Add { file: self.files, path };
                }
                1 if !touched(&self.recent, own, &|one| {
                    one.moved.contains(&file) || one.edited.iter().any(|(edited, _)| *edited == file)
                }) && both.len() > 20 =>
                {
                    own.removed.insert(file);
                    return Act::Remove { file };
                }
                2 | 3 if !touched(&self.recent, own, &|one| one.moved.contains(&file)) => {
                    own.moved.insert(file);
                    self.files += 1;
                    return Act::Rename {
                        file,
                        path: format!("moved{}/r{}.txt", self.files % 7, self.files),
                    };
                }
                _ => {
                    let slot = self.dice.roll(LINES / APART);
                    if touched(&self.recent, own, &|one| one.edited.contains(&(file, slot))) {
                        continue;
                    }
                    own.edited.insert((file, slot));
                    let text = format!("edited as {} of all", self.dice.roll(1_000_000));
                    return Act::Edit { file, slot, text };
                }
            }
        }
    }

    fn case(&mut self, number: usize) -> Case {
        let back = self.dice.roll(OLDEST.min(self.base.len() - 1) + 1);
        let onto = self.base[self.base.len() - 1];
        let fork = self.base[self.base.len() - 1 - back];
        let (fork_tree, onto_tree) = (self.stream.trees[&fork].clone(), self.stream.trees[&onto].clone());
        let (mut own, mut commits, mut all) = (Touched::default(), Vec::new(), Vec::new());
        let mut head = fork;
        for at in 0..=self.dice.roll(3) {
            let acts: Vec<Act> =
                (0..=self.dice.roll(3)).map(|_| self.act(&fork_tree, &onto_tree, &mut own)).collect();
            all.extend(acts.iter().cloned());
            let words =
                words(number * 10 + at, &format!("feat: change {number}, part {at}\n\nWith a body.\n"));
            head = self.stream.commit(&apply(&fork_tree, &all), &[head], &words);
            commits.push((acts, words));
        }
        let method = match self.dice.roll(10) {
            0..3 => Method::Merge,
            3..6 => Method::Squash,
            6..9 => Method::Rebase,
            _ if back == 0 => Method::Pushed,
            _ => Method::Squash,
        };
        // Some bring their branch up to date, not always wholly, before they are merged.
        if back > 0 && self.dice.roll(4) == 0 {
            let with = self.base[self.base.len() - 1 - self.dice.roll(back)];
            let tree = apply(&self.stream.trees[&with].clone(), &all);
            head = self.stream.commit(&tree, &[head, with], &words(number * 10 + 8, "Merge branch 'main'"));
        }
        let right = apply(&onto_tree, &all);
        let title = words(number * 10 + 9, &format!("feat: change {number} (#{number})"));
        let landed = match method {
            Method::Pushed => head,
            Method::Merge => self.stream.commit(&right, &[onto, head], &title),
            Method::Squash => self.stream.commit(&right, &[onto], &title),
            Method::Rebase => {
                let (mut tip, mut tree) = (onto, onto_tree.clone());
                for (acts, words) in &commits {
                    tree = apply(&tree, acts);
                    tip = self.stream.commit(&tree, &[tip], words);
                }
                tip
            }
        };
        let dropped = apply(&fork_tree, &all);
        let paths = differing(&right, &dropped);
        let wrong = (!paths.is_empty() && number.is_multiple_of(5))
            .then(|| (self.stream.commit(&dropped, &[onto], &title), paths));
        self.base.push(landed);
        self.recent.push_back(own);
        if self.recent.len() > OLDEST + 1 {
            self.recent.pop_front();
        }
        Case { method, head, landed, before: vec![fork, onto], wrong }
    }
}

fn words(number: usize, message: &str) -> Words {
    let at = 1_780_000_000 + number * 7;
    Words { author: format!("Ada Author <ada@example.org> {at} +0200"), message: message.to_owned() }
}

/// Makes all commits in one process; their ids by mark.
fn import(dir: &Path, stream: &Stream) -> BTreeMap<usize, Sha> {
    let marks = dir.join("marks");
    let mut child = Command::new("git")
        .args(["fast-import", "--quiet", "--force"])
        .arg(format!("--export-marks={}", marks.display()))
        .env("GIT_DIR", dir)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), stream.text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "fast-import");
    let text = std::fs::read_to_string(marks).unwrap();
    let line = |line: &str| {
        let (mark, id) = line.trim_start_matches(':').split_once(' ').unwrap();
        (mark.parse().unwrap(), Sha::new(id).unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn five_hundred_clean_merges_raise_no_alarm_and_each_dropped_change_among_them_does() {
    let folder = tempfile::tempdir().unwrap();
    let git = Git::find(folder.path()).unwrap();
    let name = RepoName::parse("octo/app").unwrap();
    let clone = BareClone::open_alone(&git, folder.path(), "github.com", &name).unwrap();
    let mut generator = Generator::new();
    let cases: Vec<Case> = (1..=MERGES).map(|number| generator.case(number)).collect();
    let ids = import(clone.dir(), &generator.stream);
    let tips: Vec<Sha> = generator.base.iter().map(|mark| ids[mark].clone()).collect();

    let look = |head: usize, landed: usize, before: &[usize], tip: Option<&Sha>| {
        let before: Vec<Sha> = before.iter().map(|mark| ids[mark].clone()).collect();
        let merge = Merge { head: &ids[&head], landed: &ids[&landed], before: &before, tip };
        let facts = landed::look(&clone, &merge, &CancellationToken::new()).unwrap();
        let method = facts.place.as_ref().map(|place| place.method).map_err(Clone::clone);
        (method, judge(&facts))
    };
    let check = |(at, case): (usize, &Case)| {
        // The base as it was right after it, and as the next merges left it.
        let tip = &tips[(at + 1 + at % 3).min(MERGES)];
        let (method, judged) = look(case.head, case.landed, &case.before, Some(tip));
        assert_eq!((method, judged), (Ok(case.method), Landed::Proven), "merge {}", at + 1);
        if let Some((wrong, paths)) = &case.wrong {
            let (_, judged) = look(case.head, *wrong, &case.before, None);
            assert_eq!(judged, Landed::Different { paths: paths.clone() }, "merge {}", at + 1);
        }
    };
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (cases, check) = (&cases, &check);
            scope.spawn(move || cases.iter().enumerate().skip(part).step_by(4).for_each(check));
        }
    });

    // That the history was what it is said to be.
    let count = |method| cases.iter().filter(|case| case.method == method).count();
    for (method, least) in
        [(Method::Merge, 100), (Method::Squash, 100), (Method::Rebase, 100), (Method::Pushed, 3)]
    {
        assert!(count(method) >= least, "{method:?}: {}", count(method));
    }
    assert!(cases.iter().filter(|case| case.before[0] != case.before[1]).count() > 350, "most bases moved");
    assert!(cases.iter().filter(|case| case.wrong.is_some()).count() > 60, "changes are dropped");
    assert!(
        generator.stream.text.matches("\nmerge :").count() > 150 && generator.stream.text.contains("\nD ")
    );
}
