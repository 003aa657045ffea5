//! Two texts line by line: what an edit makes of the config file, as a person reads it.

/// Lines that are shown around each change.
const AROUND: usize = 2;
/// Past this many pairs of lines, what changed is shown as one block that goes and one that comes.
const PAIRS: usize = 250_000;

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Same,
    Removed,
    Added,
}

/// One line, with its number in each of the two texts where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub side: Side,
    pub before: Option<usize>,
    pub after: Option<usize>,
    pub text: String,
}

/// The changes between two texts, each with the lines around it; those that touch are one.
pub fn between(before: &str, after: &str) -> Vec<Vec<Line>> {
    let all = lines(before, after);
    let is_near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        all.iter().skip(from).take(at + AROUND + 1 - from).any(|line| line.side != Side::Same)
    };
    let mut parts: Vec<Vec<Line>> = Vec::new();
    let mut last = None;
    for (at, line) in all.iter().enumerate().filter(|(at, _)| is_near(*at)) {
        match parts.last_mut() {
            Some(part) if last == at.checked_sub(1) => part.push(line.clone()),
            Some(_) | None => parts.push(vec![line.clone()]),
        }
        last = Some(at);
    }
    parts
}

fn lines(before: &str, after: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (left, right) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut at = (0, 0);
    let mut all = Vec::with_capacity(old.len().max(new.len()));
    let mut put = |side: Side, text: &str| {
        let (stands_before, stands_after) = (side != Side::Added, side != Side::Removed);
        at = (at.0 + usize::from(stands_before), at.1 + usize::from(stands_after));
        let (before, after) = (stands_before.then_some(at.0), stands_after.then_some(at.1));
        all.push(Line { side, before, after, text: text.to_owned() });
    };
    old[..head].iter().for_each(|text| put(Side::Same, text));
    changed(left, right).into_iter().for_each(|(side, text)| put(side, text));
    old[old.len() - tail..].iter().for_each(|text| put(Side::Same, text));
    all
}

/// The longest lines that both have stay; what goes stands before what comes in its place.
fn changed<'t>(left: &[&'t str], right: &[&'t str]) -> Vec<(Side, &'t str)> {
    if left.len().saturating_mul(right.len()) > PAIRS {
        let gone = left.iter().map(|text| (Side::Removed, *text));
        return gone.chain(right.iter().map(|text| (Side::Added, *text))).collect();
    }
    // common[i][j]: how many lines the rest of both have in common, in order.
    let mut common = vec![vec![0_usize; right.len() + 1]; left.len() + 1];
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            common[i][j] =
                if a == b { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    while i < left.len() || j < right.len() {
        match (left.get(i), right.get(j)) {
            (Some(a), Some(b)) if a == b => {
                all.push((Side::Same, *a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), other) if other.is_none() || common[i + 1][j] >= common[i][j + 1] => {
                all.push((Side::Removed, *a));
                i += 1;
            }
            (_, Some(b)) => {
                all.push((Side::Added, *b));
                j += 1;
            }
            (Some(a), None) => {
                all.push((Side::Removed, *a));
                i += 1;
            }
            (None, None) => break,
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Side, between};

    fn shown(before: &str, after: &str) -> Vec<String> {
        let sign = |side| match side {
            Side::Same => ' ',
            Side::Removed => '-',
            Side::Added => '+',
        };
        let part = |part: Vec<super::Line>| {
            part.iter().map(|line| format!("{}{}", sign(line.side), line.text)).collect::<Vec<_>>().join("|")
        };
        between(before, after).into_iter().map(part).collect()
    }

    #[test]
    fn a_change_stands_with_the_lines_around_it_and_far_ones_apart() {
        assert_eq!(shown("a\nb\n", "a\nb\n"), Vec::<String>::new());
        assert_eq!(shown("", "a\n"), ["+a"]);
        assert_eq!(shown("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n"), [" a| b|-c|+x| d| e"]);
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        assert_eq!(
            shown(before, &before.replace('1', "x").replace('9', "y")),
            ["-1|+x| 2| 3", " 7| 8|-9|+y"]
        );
    }

    #[test]
    fn numbers_are_those_of_each_text() {
        let parts = between("a\nb\nc\n", "a\nx\ny\nc\n");
        let numbers: Vec<_> = parts[0].iter().map(|line| (line.before, line.after)).collect();
        let wanted =
            [(Some(1), Some(1)), (Some(2), None), (None, Some(2)), (None, Some(3)), (Some(3), Some(4))];
        assert_eq!(numbers, wanted);
    }
}
