//! The gate table of each review, as it was last computed.

use rusqlite::named_params;
use steward_rules::ids::ReviewId;
use steward_rules::review::gate::{EvidenceItem, GateResult, GateTable};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, reviews};

/// Replaces the gates of a review by a new table; windows hear of it only when something changed.
pub fn record(tx: &WriteTx<'_>, review: ReviewId, table: &GateTable) -> Result<(), StoreError> {
    let before = of(tx, review)?;
    tx.execute(
        "UPDATE reviews SET gates_at = :at WHERE id = :id",
        named_params! { ":id": review.0, ":at": At(table.at) },
    )?;
    if before == table.results {
        return tx.topic(&format!("review:{review}"));
    }
    tx.execute("DELETE FROM gates WHERE review = :review", named_params! { ":review": review.0 })?;
    for (position, gate) in table.results.iter().enumerate() {
        tx.execute(
            "INSERT INTO gates (review, position, gate, state, detail, evidence)
             VALUES (:review, :position, :gate, :state, :detail, :evidence)",
            named_params! {
                ":review": review.0, ":position": position as i64, ":gate": gate.id.as_str(),
                ":state": gate.state.as_str(), ":detail": gate.detail, ":evidence": sql::to_json(&gate.evidence)?,
            },
        )?;
    }
    reviews::topic(tx, review)
}

/// The gates of a review, in the order of the table.
pub fn of(tx: &ReadTx<'_>, review: ReviewId) -> Result<Vec<GateResult>, StoreError> {
    tx.query_all(
        "SELECT gate, state, detail, evidence FROM gates WHERE review = :review ORDER BY position",
        named_params! { ":review": review.0 },
        |row| {
            Ok(GateResult {
                id: sql::word(row, "gate")?,
                state: sql::word(row, "state")?,
                detail: row.get("detail")?,
                evidence: sql::json::<Vec<EvidenceItem>>(row, "evidence")?,
            })
        },
    )
}
