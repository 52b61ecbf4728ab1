# SPDX-License-Identifier: Apache-2.0
"""`memsnap fleet`: receipts and event ledgers of many runs, collected as Parquet, and questions about them. docs/fleet.md describes it.

Needs duckdb and pyarrow; Ray where it is asked for. They are imported by the commands that use them, and by nothing that runs inside a job."""
