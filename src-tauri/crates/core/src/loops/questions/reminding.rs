//! One consolidated reminder of what waits too long.

use steward_rules::questions::queue;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::target;
use crate::loops::Ctx;
use crate::store::needs::{self, NeedRow};
use crate::store::{Durability, StoreError, notices};

const BODY: usize = 1_500;

/// Says what is overdue, in one notification; gives the numbers it lists.
pub async fn remind(ctx: &Ctx) -> Result<Vec<i64>, StoreError> {
    let after = chrono::Duration::from_std(ctx.config().questions.remind_after)
        .unwrap_or_else(|_| chrono::Duration::days(1));
    let look = move |tx: &crate::store::ReadTx<'_>| -> Result<(Vec<NeedRow>, Vec<i64>), StoreError> {
        let open = needs::open(tx)?;
        let waiting: Vec<queue::Waiting> = open.iter().map(NeedRow::waiting).collect();
        let listed = queue::remind(&waiting, tx.now(), after);
        Ok((open, listed))
    };
    // The usual answer is that nothing is to be said: no write then.
    if ctx.store.read(look).await?.1.is_empty() {
        return Ok(Vec::new());
    }
    ctx.store
        .write(Durability::Full, move |tx| {
            let (open, listed) = look(tx)?;
            let overdue: Vec<&NeedRow> = open.iter().filter(|row| listed.contains(&row.id.0)).collect();
            if overdue.is_empty() {
                return Ok(Vec::new());
            }
            let versions: Vec<String> =
                overdue.iter().map(|row| format!("{}.{}", row.id, row.version)).collect();
            let lines: Vec<String> = overdue.iter().map(|row| row.item().line(tx.now())).collect();
            let (title, opens) = match overdue.as_slice() {
                [one] => ("A question waits for you".to_owned(), target(one.id)),
                several => (format!("{} questions wait for you", several.len()), "inbox".to_owned()),
            };
            let lines: Vec<String> = lines
                .iter()
                .map(|line| Untrusted::new(Engine::shared().redact(line)).one_line(300))
                .collect();
            let body = listed_in(BODY, &lines);
            notices::add(tx, &format!("remind:{}", versions.join(",")), &opens, &title, &body)?;
            for row in overdue {
                needs::set_reminded(tx, row.id, row.version)?;
            }
            tx.topic("notices")?;
            Ok(listed)
        })
        .await
}

/// One line each, as many as have room; what is left out is counted.
fn listed_in(most: usize, lines: &[String]) -> String {
    let mut body = String::new();
    for (at, line) in lines.iter().enumerate() {
        if body.chars().count() + line.chars().count() > most {
            body.push_str(&format!("and {} more", lines.len() - at));
            break;
        }
        body.push_str(line);
        body.push('\n');
    }
    body.trim_end().to_owned()
}
