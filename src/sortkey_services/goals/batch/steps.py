"""The steps of the job: one SQL text each, over the views of the steps before. Both engines run the same texts.

    gold_customers, gold_goals, gold_contributions     the Parquet files
    batch_run                                          one row: the month and its bounds, as-of
    rules                                              those that hold on as-of's day: goal_id, tier, special_rate

Amounts are whole cents. Instants are microseconds since 1970, so that a zone in the file, or none, makes no difference.
"""

from __future__ import annotations

from typing import Final

CONTRIBUTIONS: Final = """
SELECT contribution_id, person_id, goal_id, status, amount_cents, unix_micros(effective_at) AS effective_micros
FROM gold_contributions
"""

OF_MONTH: Final = """
SELECT contributions.*
FROM contributions CROSS JOIN batch_run
WHERE effective_micros >= first_micros AND effective_micros < end_micros AND effective_micros <= as_of_micros
"""
"""What counts, and what was rejected."""

SAVED: Final = """
SELECT person_id, goal_id, CAST(sum(amount_cents) AS BIGINT) AS saved_cents, max(effective_micros) AS latest_micros
FROM of_month
WHERE status = 'CONFIRMED'
GROUP BY person_id, goal_id
"""

PROGRESS: Final = """
SELECT goals.person_id, goals.goal_id, goals.target_cents,
       coalesce(saved.saved_cents, 0) AS saved_cents,
       CASE WHEN coalesce(saved.saved_cents, 0) >= goals.target_cents THEN 'COMPLETED'
            WHEN coalesce(saved.saved_cents, 0) > 0 THEN 'IN_PROGRESS'
            ELSE 'NOT_STARTED' END AS status,
       saved.latest_micros
FROM gold_goals AS goals
JOIN batch_run ON goals.month = batch_run.month
LEFT JOIN saved ON saved.person_id = goals.person_id AND saved.goal_id = goals.goal_id
"""

PERSON_GOALS: Final = """
SELECT customers.person_id, customers.name, customers.tier, customers.language, customers.notifications,
       progress.goal_id, progress.target_cents, progress.saved_cents, progress.status, rules.special_rate,
       progress.latest_micros
FROM gold_customers AS customers
LEFT JOIN progress ON progress.person_id = customers.person_id
LEFT JOIN rules ON rules.goal_id = progress.goal_id AND rules.tier = customers.tier
"""
"""A row for each goal of a person; one without a goal for a person that has none."""

VIEWS: Final = {
    "of_month": OF_MONTH,
    "saved": SAVED,
    "progress": PROGRESS,
    "person_goals": PERSON_GOALS,
}
"""In this order: each uses those before it."""
