"""The job on Spark: on this machine, on a cluster (`--master spark://…`, `yarn`, `k8s://…`) or by Spark Connect (`sc://…`).

Spark's own settings (`spark-defaults.conf`, `SPARK_CONF_DIR`) hold, but for those that are set here.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import Accumulator, SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from sortkey.object_storage import ObjectStorage, StoredObject
from sortkey_services.goals.batch.batch_run import BatchFailed, BatchRejected
from sortkey_services.goals.batch.engine import GoldFile, Row

HERE: Final = "local[*,4]"
"""All processors of this machine; a task that fails is tried up to four times."""
ROWS: Final = 4_096
_PATTERN: Final = frozenset("*?[]{},\\")
_S3A: Final = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_PACKAGE: Final = "org.apache.hadoop:hadoop-aws"
_CALL: Final = "An error occurred while calling "
PARTITIONS: Final = 32
"""Of the rows that are written: each is a task of its own, and a step of the progress bar."""
QUIET: Final = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %c{1}: %m%n
"""


def start(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkEngine:
    """On a Spark of its own, with settings besides those that Spark has, or by Spark Connect."""
    given = master or HERE
    if given.startswith("sc://"):
        with _errors(BatchRejected, f"--master {given} cannot be used"):
            return SparkEngine(SparkSession.builder.remote(given).getOrCreate(), given, lambda: None)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise BatchRejected("Spark needs Java 17 or later, which is not installed")
    return _start_here(given, settings or {})


# PySpark logs each error as a long line of JSON, besides raising it.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


def _start_here(master: str, given: Mapping[str, str]) -> SparkEngine:
    """With a Java process whose words go to a file: what matters of them is in the errors that Python gets."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = TemporaryDirectory(prefix="sortkey-spark-")
    log = Path(folder.name) / "log"
    conf = SparkConf().setMaster(master).setAppName("sortkey batch goals")
    for name, value in {**_settings(master, Path(folder.name)), **given}.items():
        conf.set(name, value)
    try:
        with log.open("w") as output, _errors(BatchRejected, f"Spark does not start with --master {master}"):
            gateway = launch_gateway(conf, {"stdout": output, "stderr": output})
            context = SparkContext(conf=conf, gateway=gateway)
    except BatchRejected as error:
        words = [line for line in log.read_text().splitlines() if line.startswith(("Exception", "Error", "Caused by"))]
        raise BatchRejected(f"{error}{f' ({words[-1]})' if words else ''}") from None

    def stop() -> None:
        context.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        # The next one in this process starts a Java of its own.
        SparkContext._gateway = SparkContext._jvm = None
        folder.cleanup()

    return SparkEngine(SparkSession(context), master, stop)


def _settings(master: str, folder: Path) -> dict[str, str]:
    quiet = folder / "log4j2.properties"
    quiet.write_text(QUIET)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet}",
        # Files are a tenth of their rows' size in memory. So Spark decides by the rows, which it knows after a shuffle.
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.autoBroadcastJoinThreshold": "10MB",
    }
    if master.startswith("local"):
        # A few partitions suffice for a few processors. With Spark's default of 1 GB, results of a million persons are
        # lost now and then.
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "4g",
            "spark.sql.shuffle.partitions": "8",
        }
    return settings


class SparkEngine:
    def __init__(self, session: SparkSession, master: str, stop: Callable[[], None]) -> None:
        self.master = master
        self._session = session
        self._stop = stop
        self.partitions = PARTITIONS
        self._counted: Accumulator[int] | None = None
        self._session.conf.set("spark.sql.session.timeZone", "UTC")
        self._session.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")

    @property
    def writes_by_partition(self) -> bool:
        """Spark Connect runs no functions of ours beside the data."""
        return not self.master.startswith("sc://")

    def read(self, view: str, files: Sequence[GoldFile], instants: Sequence[str]) -> None:
        is_stored = any(isinstance(each, StoredObject) for each in files)
        with self._s3a_errors() if is_stored else _errors():
            reader = self._session.read.options(**ObjectStorage().s3a_settings) if is_stored else self._session.read
            found = reader.parquet(*map(_literal, files))
            kinds = dict(found.dtypes)
            for name in instants:
                # Nanoseconds are read as numbers. What has no zone is in that of the session.
                micros = (
                    f"timestamp_micros({name} div 1000)" if kinds[name] == "bigint" else f"CAST({name} AS TIMESTAMP)"
                )
                found = found.withColumn(name, expr(micros))
            found.createOrReplaceTempView(view)

    def table(self, view: str, columns: Mapping[str, str], rows: Sequence[Row]) -> None:
        schema = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        with _errors():
            self._session.createDataFrame(list(rows), schema).createOrReplaceTempView(view)

    def view(self, name: str, sql: str) -> None:
        with _errors():
            self._session.sql(sql).createOrReplaceTempView(name)

    def ask(self, sql: str) -> list[Row]:
        with _errors():
            return [tuple(row) for row in self._session.sql(sql).collect()]

    def rows(self, sql: str, by: Sequence[str]) -> Iterator[list[Row]]:
        with _errors():
            found = self._grouped(sql, by).toLocalIterator(prefetchPartitions=True)
            while part := list(islice(found, ROWS)):
                yield [*part]

    @property
    def written(self) -> int:
        return 0 if self._counted is None else int(self._counted.value)

    def write(self, sql: str, by: Sequence[str], write: Callable[[Iterator[Row]], int]) -> int:
        self._counted = counted = self._session.sparkContext.accumulator(0)

        def write_partition(rows: Iterable[Any]) -> Iterator[int]:
            number = write(iter(rows))
            counted.add(number)
            yield number

        with _errors(BatchFailed, "Spark could not write"):
            return sum(self._grouped(sql, by).rdd.mapPartitions(write_partition).collect())

    def close(self) -> None:
        self._stop()

    @contextmanager
    def _s3a_errors(self) -> Iterator[None]:
        """Spark is installed without what reads object storage."""
        try:
            with _errors():
                yield
        except BatchRejected as error:
            if _S3A not in str(error):
                raise
            package = f"{_PACKAGE}:{self._hadoop_version}"
            advice = f"start it with spark.jars.packages={package} (in spark-defaults.conf), or use --master local[*]"
            raise BatchRejected(f"Spark at {self.master} cannot read s3:// without {package}; {advice}") from None

    @property
    def _hadoop_version(self) -> str:
        """The package must have the version of the cluster, which Spark Connect does not tell."""
        if not self.writes_by_partition:
            return "VERSION-OF-ITS-HADOOP"
        jvm: Any = self._session.sparkContext._jvm
        return str(jvm.org.apache.hadoop.util.VersionInfo.getVersion())

    def _grouped(self, sql: str, by: Sequence[str]) -> DataFrame:
        return self._session.sql(sql).repartition(self.partitions, by[0]).sortWithinPartitions(*by)


def _literal(file: GoldFile) -> str:
    """A path as the pattern that matches this path alone: Spark takes every name of a file as a pattern, and decodes no
    percent signs."""
    if isinstance(file, Path):
        return f"file://{_escaped(str(file))}"
    bucket, key = file.address
    if not {"", ".", ".."}.isdisjoint(key.split("/")):
        raise BatchRejected(f"{file}: Spark reads no key with // or /./ or /../; use --master local[*], or rename it")
    return f"s3a://{bucket}/{_escaped(key)}"


def _escaped(path: str) -> str:
    return "".join(f"\\{letter}" if letter in _PATTERN else letter for letter in path)


@contextmanager
def _errors(
    kind: type[BatchRejected] | type[BatchFailed] = BatchRejected, what: str = "Spark cannot run the job"
) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError, ImportError) as error:
        raise kind(f"{what}: {reason(str(error))}") from None


def reason(text: str) -> str:
    """The line that says what happened; around it are traces of Java's and of the worker's calls."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python = [line for line in lines if line.startswith(("sortkey.", "botocore.", "asyncio."))]
    java = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    if python or java:
        return (python or java)[-1]
    # The first line of an error of Java's names the call alone; the second begins with a colon.
    return next((line.removeprefix(": ") for line in lines if not line.startswith(_CALL)), "no reason is given")
