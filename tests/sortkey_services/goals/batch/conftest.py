from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sortkey_services.goals.batch.spark_engine import SparkEngine, start
from tests.sortkey_services.goals.batch.small_gold import SmallGold


@pytest.fixture
def gold(tmp_path: Path) -> SmallGold:
    return SmallGold(tmp_path)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkEngine]:
    """One for all tests of a worker: Spark takes seconds to start."""
    if shutil.which("java") is None:
        pytest.skip("no Spark: there is no java")
    with pytest.MonkeyPatch.context() as patch:
        # Small data: to compile it well would take longer than to run it.
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        engine = start("local[1]", {"spark.sql.codegen.wholeStage": "false", "spark.sql.shuffle.partitions": "1"})
    engine.partitions = 2
    yield engine
    engine.close()
