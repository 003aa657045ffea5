//! What people and the verdict job said, as evidence (engine.md 5): text of somebody else, redacted and cut.

use steward_rules::engine::ladder::LOG_BYTES;
use steward_rules::engine::policy::VerdictPolicy;
use steward_rules::ids::PullNumber;
use steward_rules::secret::Engine;

use super::{Place, ReadFault};
use crate::github::GitHubError;
use crate::github::types::Comment;
use crate::loops::Ctx;
use crate::loops::forge;

/// The newest comment that one of the verdict job's accounts made; `None` where there is none.
pub async fn verdict_comment(
    ctx: &Ctx,
    place: &Place,
    number: PullNumber,
) -> Result<Option<String>, ReadFault> {
    let Some(verdict) = &place.policy.verdict else { return Ok(None) };
    let open = forge::open(ctx, &place.host, &place.repo).await?;
    let comments = open.reader.comments(&place.repo, number.0).await?;
    let said = comments.iter().rev().find(|comment| is_of_verdict(comment, verdict));
    Ok(said.and_then(|comment| comment.body.as_ref()).map(|body| cut(body.as_data())))
}

/// Title and text of an issue; `None` where there is none of this number.
pub async fn issue_text(ctx: &Ctx, place: &Place, number: i64) -> Result<Option<String>, ReadFault> {
    let open = forge::open(ctx, &place.host, &place.repo).await?;
    let issue = match open.reader.issue(&place.repo, number).await {
        Ok(answer) => answer.value,
        Err(GitHubError::Gone | GitHubError::NotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if issue.pull_request.is_some() {
        return Ok(None);
    }
    let body = issue.body.as_ref().map(|body| body.as_data()).unwrap_or_default();
    Ok(Some(cut(&format!("{}\n\n{body}", issue.title.as_data()))))
}

/// True for a comment of an account that puts the verdict labels on.
pub(super) fn is_of_verdict(comment: &Comment, verdict: &VerdictPolicy) -> bool {
    let is_actor = |login: &str| verdict.label_actors.iter().any(|actor| actor.eq_ignore_ascii_case(login));
    comment.user.as_ref().is_some_and(|user| is_actor(&user.login))
}

/// Redacted before it is cut, so that no half of a secret is left.
fn cut(text: &str) -> String {
    let mut text = Engine::shared().redact(text);
    if text.len() > LOG_BYTES {
        let mut at = LOG_BYTES;
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.truncate(at);
    }
    text
}
