"""Gold on object storage: the same as from a folder, and the errors that only it has."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import sortkey as sk
from sortkey.object_storage import Address, StoredObject, copied
from sortkey_services.goals.batch.batch_run import BatchFailed, BatchRejected, micros_of
from sortkey_services.goals.batch.duckdb_engine import DuckDBEngine
from sortkey_services.goals.batch.engine import Engine, GoldFile, reads_in_place
from sortkey_services.goals.batch.gold import find_gold
from sortkey_services.goals.batch.job import BatchInputs, run_batch
from sortkey_services.goals.batch.spark_engine import SparkEngine, _literal
from sortkey_services.goals.model import views
from tests import maven
from tests.object_storage import Bucket, rejected
from tests.sortkey_services.goals.batch.small_gold import SmallGold
from tests.sortkey_services.goals.batch.test_checks import rejection

CLUSTER = "spark://cluster:7077"
NOW = datetime(2026, 5, 16, 3, tzinfo=UTC)
PERSONS = ("ana", "bea", "carl")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder in which nothing may be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def stored(bucket: Bucket, gold: SmallGold, prefix: str = "lake/gold/") -> BatchInputs:
    return gold.write()._replace(gold=bucket.upload(gold.folder, prefix))


def served(inputs: BatchInputs, engine: Engine | None = None) -> list[Any]:
    async def answer() -> list[Any]:
        async with sk.async_connect("memory:") as db:
            await run_batch(db, inputs, now=NOW, engine=engine)
            reader = views.reader(db)
            found = [await reader.get(person=person) for person in PERSONS]
            return [sk.replace(view, generation="") for view in found if view is not None]

    return asyncio.run(answer())


@pytest.mark.parametrize("prefix", ["lake/gold/", "", "a b/100%20[x]*?+é漢//./"])
def test_the_same_as_from_a_folder(bucket: Bucket, gold: SmallGold, temporary: Path, prefix: str) -> None:
    inputs = stored(bucket, gold, prefix)
    assert inputs.gold == Address(bucket.name, prefix)
    found = served(inputs)
    assert [view.person for view in found] == [*PERSONS]
    assert found == served(gold.write())
    assert list(temporary.iterdir()) == []


def test_a_prefix_needs_no_slash(bucket: Bucket, gold: SmallGold) -> None:
    inputs = stored(bucket, gold)
    assert served(inputs._replace(gold=bucket.address("lake/gold"))) == served(inputs)


def test_hidden_objects_and_other_files_are_skipped(bucket: Bucket, gold: SmallGold) -> None:
    inputs = stored(bucket, gold)
    for name in ("_SUCCESS", "_temporary/0/part-1.parquet", ".part-0.parquet.crc", "notes.txt", "x.parquet/"):
        bucket.put(f"lake/gold/customers/{name}", b"not Parquet")
    assert served(inputs) == served(gold.write())


# Spark writes a table as a folder of files, and the folder may have the suffix of a file.
def test_a_folder_with_the_suffix_of_a_file(bucket: Bucket, gold: SmallGold) -> None:
    gold.write()
    for name in ("customers", "goals", "contributions"):
        folder = gold.folder / name
        (folder / "day=1" / f"{name}.parquet").mkdir(parents=True)
        (folder / "part-0.parquet").rename(folder / "day=1" / f"{name}.parquet" / "part-0.parquet")
    here = BatchInputs(gold.folder, gold.rules, NOW)
    there = here._replace(gold=bucket.upload(gold.folder, "gold/"))
    assert served(there) == served(here)


# The job reads its tables several times; each object is asked for its footer and then copied once.
def test_the_requests_of_a_run(bucket: Bucket, gold: SmallGold) -> None:
    served(stored(bucket, gold))
    counted = Counter((each.method, each.key) for each in bucket.server.requests)
    assert counted.pop(("GET", "")) == 3
    assert {key for _, key in counted} == {
        f"lake/gold/{name}/part-0.parquet" for name in ("customers", "goals", "contributions")
    }
    assert set(counted.values()) <= {2, 3}


def test_a_load_is_resumed_with_the_same_objects_only(bucket: Bucket, gold: SmallGold) -> None:
    address = stored(bucket, gold).gold
    first = find_gold(address).fingerprint
    assert find_gold(address).fingerprint == first
    gold.contribute()
    stored(bucket, gold)
    assert find_gold(address).fingerprint != first


def put_parquet(bucket: Bucket, key: str, columns: dict[str, list[Any]]) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    bucket.put(key, sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda bucket: bucket.remove("lake/gold/goals/part-0.parquet"), "--gold: there is no Parquet file below s3://{bucket}/lake/gold/goals/; gold has customers, goals, contributions"),  # noqa: E501
        (lambda bucket: bucket.put("lake/gold/goals/a b.parquet", b"text"), "s3://{bucket}/lake/gold/goals/a b.parquet: cannot be read as Parquet: "),  # noqa: E501
        (lambda bucket: bucket.put("lake/gold/goals/empty.parquet", b""), "s3://{bucket}/lake/gold/goals/empty.parquet: cannot be read as Parquet: "),  # noqa: E501
        (lambda bucket: put_parquet(bucket, "lake/gold/goals/x.parquet", {"goal_id": [1]}), "s3://{bucket}/lake/gold/goals/x.parquet: there is no column person_id; it must have person_id, goal_id, month, target_cents"),  # noqa: E501
        (lambda bucket: put_parquet(bucket, "lake/gold/goals/x.parquet", {"goal_id": ["a"], "GOAL_ID": ["b"]}), "s3://{bucket}/lake/gold/goals/x.parquet: the columns goal_id and GOAL_ID differ only in case; remove one"),  # noqa: E501
    ],
)  # fmt: skip
def test_what_is_wrong_has_its_address(
    bucket: Bucket, gold: SmallGold, temporary: Path, spoil: Callable[[Bucket], None], line: str
) -> None:
    inputs = stored(bucket, gold)
    spoil(bucket)
    assert rejection(inputs).startswith(line.format(bucket=bucket.name))
    assert list(temporary.iterdir()) == []


def test_access_that_is_denied(bucket: Bucket, gold: SmallGold) -> None:
    inputs = stored(bucket, gold)
    bucket.server.answer = lambda _: rejected("403 Forbidden", "AccessDenied")
    advice = "access is denied; allow s3:ListBucket on the bucket and s3:GetObject on its objects"
    assert rejection(inputs) == f"--gold s3://{bucket.name}/lake/gold/customers/: {advice}"


def test_a_bucket_that_is_not_there(bucket: Bucket, gold: SmallGold) -> None:
    inputs = stored(bucket, gold)._replace(gold=Address("no-such-bucket", "gold"))
    assert rejection(inputs).startswith("--gold s3://no-such-bucket/gold/customers/: there is no such bucket; ")


# The footer was that of the first version; rows of the second must not be served.
def test_an_object_that_is_replaced_after_its_footer_was_read(
    bucket: Bucket, gold: SmallGold, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = stored(bucket, gold)

    def replaced(*given: Any) -> Any:
        gold.tables["customers"]["name"][0] = "Ana Souza"
        stored(bucket, gold)
        return copied(*given)

    monkeypatch.setattr("sortkey_services.goals.batch.gold.copied", replaced)
    key = f"s3://{bucket.name}/lake/gold/customers/part-0.parquet"
    assert rejection(inputs) == f"--gold {key}: was replaced or removed while it was read; run the command again"
    assert list(temporary.iterdir()) == []


def pages_are_damaged(body: bytes) -> bytes:
    """The footer is right, so that only a reader of the rows notices."""
    return body[:4] + b"\xff" * 64 + body[68:]


def test_an_engine_names_the_object_that_it_cannot_read(bucket: Bucket, gold: SmallGold) -> None:
    inputs = stored(bucket, gold)
    body = (gold.folder / "customers" / "part-0.parquet").read_bytes()
    bucket.put("lake/gold/customers/part-0.parquet", pages_are_damaged(body))
    line = rejection(inputs)
    assert line.startswith("DuckDB cannot run the job: ")
    assert "sortkey-objects" not in line


def test_who_reads_in_place() -> None:
    assert not reads_in_place("duckdb", None)
    assert not reads_in_place("spark", None)
    assert not reads_in_place("spark", "local[2]")
    assert reads_in_place("spark", CLUSTER)
    assert reads_in_place("spark", "sc://cluster")


class InPlace(DuckDBEngine):
    """Stands for a cluster: it reads what it is given from the bucket, by itself."""

    def __init__(self, gold: SmallGold) -> None:
        super().__init__()
        self.gold = gold
        self.given: list[GoldFile] = []
        self.when_read: Callable[[], object] = lambda: None

    def read(self, view: str, files: Sequence[GoldFile], instants: Sequence[str]) -> None:
        self.given += files
        assert all(isinstance(each, StoredObject) for each in files)
        super().read(view, [self.gold.folder / view.split("_")[1] / "part-0.parquet"], instants)
        self.when_read()


def test_a_cluster_gets_the_objects_themselves(bucket: Bucket, gold: SmallGold) -> None:
    inputs = stored(bucket, gold)._replace(engine="spark", master=CLUSTER)
    engine = InPlace(gold)
    assert served(inputs, engine) == served(gold.write())
    assert [str(each) for each in engine.given] == [
        f"s3://{bucket.name}/lake/gold/{name}/part-0.parquet" for name in ("customers", "goals", "contributions")
    ]
    engine.close()


# What a cluster reads by itself, nobody holds to a version: so it is looked at again before anything is served.
@pytest.mark.parametrize("change", ["replaced", "removed", "denied"])
def test_gold_that_changes_while_a_cluster_reads_it(bucket: Bucket, gold: SmallGold, change: str) -> None:
    inputs = stored(bucket, gold)._replace(engine="spark", master=CLUSTER)
    key = "lake/gold/goals/part-0.parquet"
    engine = InPlace(gold)
    engine.when_read = {
        "replaced": lambda: bucket.put(key, b"other"),
        "removed": lambda: bucket.remove(key),
        "denied": lambda: setattr(bucket.server, "answer", lambda _: rejected("403 Forbidden", "AccessDenied")),
    }[change]

    async def attempt() -> str:
        async with sk.async_connect("memory:") as db:
            with pytest.raises(BatchFailed) as error:
                await run_batch(db, inputs, engine=engine)
            assert await views.reader(db).current() is None
            return str(error.value)

    line = asyncio.run(attempt())
    engine.close()
    if change == "denied":
        assert line.endswith("so nobody knows whether gold has changed")
    else:
        assert line == f"s3://{bucket.name}/{key} was replaced or removed while it was read; run the command again"


@pytest.mark.slow
def test_spark_on_this_machine_reads_copies(bucket: Bucket, gold: SmallGold, spark: SparkEngine) -> None:
    inputs = stored(bucket, gold, "a b/[x] 100%20/")._replace(engine="spark")
    assert served(inputs, spark) == served(gold.write())


def hadoop_version() -> str:
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")


# PySpark comes without the jars that read object storage; the error must name them, with the version that fits.
@pytest.mark.slow
def test_spark_without_the_package_for_object_storage(bucket: Bucket, gold: SmallGold, spark: SparkEngine) -> None:
    inputs = stored(bucket, gold)._replace(engine="spark", master=CLUSTER)

    async def attempt() -> str:
        async with sk.async_connect("memory:") as db:
            with pytest.raises(BatchRejected) as error:
                await run_batch(db, inputs, engine=spark)
            return str(error.value)

    package = f"org.apache.hadoop:hadoop-aws:{hadoop_version()}"
    assert asyncio.run(attempt()) == (
        f"Spark at local[1] cannot read s3:// without {package}; start it with spark.jars.packages={package}"
        " (in spark-defaults.conf), or use --master local[*]"
    )


READ = """
import sys
from pathlib import Path
from sortkey_services.goals.batch.gold import find_gold
from sortkey_services.goals.batch.spark_engine import start
from sortkey.object_storage import parse_source

address, jars = sys.argv[1:]
engine = start("local[1]", {"spark.driver.extraClassPath": jars, "spark.sql.codegen.wholeStage": "false"})
(files,) = find_gold(parse_source(address)).files["contributions"]
engine.read("found", files, ["effective_at"])
print(sorted(engine.ask("SELECT contribution_id, unix_micros(effective_at) FROM found")))
engine.close()
"""


# What a cluster has: Hadoop's own reader of object storage, which finds the endpoint by our settings. In a process of
# its own, because a process has one Spark at a time.
@pytest.mark.slow
def test_spark_with_the_package_for_object_storage(bucket: Bucket, gold: SmallGold) -> None:
    pom = Path(__file__).with_name("hadoop-aws.xml")
    try:
        jars = maven.install(pom, "hadoop-aws")
    except maven.Unavailable as error:
        pytest.skip(f"no package for object storage: {error}")
    assert maven.version(pom) == hadoop_version()
    address = stored(bucket, gold, "a b/[x]{y,z}*? 100%20+é漢/").gold
    # Spark has all others, in versions of its own.
    added = [jar for jar in jars.glob("*.jar") if not jar.name.startswith(("slf4j-", "commons-", "netty-"))]
    added += jars.glob("netty-nio-client-*.jar")
    quick = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    command = [sys.executable, "-c", READ, str(address), ":".join(map(str, added))]
    ended = subprocess.run(command, env=os.environ | quick, capture_output=True, text=True, check=False)
    wanted = zip(gold.contributions["contribution_id"], gold.contributions["effective_at"], strict=True)
    assert ended.stdout.strip() == str([(name, micros_of(at.replace(tzinfo=UTC))) for name, at in wanted]), ended.stderr


def test_keys_that_hadoop_would_change() -> None:
    for key in ("a//b.parquet", "a/./b.parquet", "../b.parquet"):
        with pytest.raises(BatchRejected, match="Spark reads no key with // or "):
            _literal(StoredObject(Address("bucket", key), 1, "1"))
    assert _literal(StoredObject(Address("bucket", "a b/[1]%20"), 1, "1")) == "s3a://bucket/a b/\\[1\\]%20"
