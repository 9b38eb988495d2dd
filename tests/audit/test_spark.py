"""The same audit inside Spark, in local mode."""

import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.errors import LogError
from tests.audit.worlds import draw

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def session():
    if shutil.which("java") is None:
        pytest.skip("Spark needs java (17 or newer) on the PATH: this engine was not tested")
    pyspark_sql = pytest.importorskip("pyspark.sql", reason="pip install 'stopwise[slow]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark = (
            pyspark_sql.SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        yield spark
        spark.stop()


@pytest.mark.filterwarnings("ignore")
def test_an_audit_in_spark_is_the_audit_in_duckdb(session):
    import ibis

    labels, outputs = draw(np.random.default_rng(0), 2_000, (0.35, 0.2, 0.1), n_classes=3)
    names = ["a", "b", "c"]
    frame = pd.DataFrame(outputs, columns=names).replace({0: "x", 1: "y", 2: "z"})
    frame["visit"] = [f"v{n:05}" for n in range(len(frame))]
    frame.loc[::11, "c"] = None
    told = frame[["visit"]].assign(label=np.array(["x", "y", "z"])[labels])[::20]
    rows = [tuple(None if pd.isna(v) else v for v in row) for row in frame.to_numpy().tolist()]
    session.createDataFrame(rows, "a string, b string, c string, visit string") \
        .createOrReplaceTempView("visits")  # fmt: skip
    table = ibis.pyspark.connect(session).table("visits")
    cascade = sw.Cascade([1, 2, 3], 20, names)
    found, expected = (
        sw.audit(source, cascade, case_id="visit", n_planned=25, labels=told)
        for source in (table, frame)
    )
    told_by_spark, told_by_duckdb = found.to_dict(), expected.to_dict()
    told_by_spark.pop("source")
    told_by_duckdb.pop("source")
    assert told_by_spark == told_by_duckdb
    assert len(found.planned_cases) == 25
    with pytest.raises(LogError, match="case ids must be a column on pyspark"):
        sw.audit(table, cascade, n_planned=5)
