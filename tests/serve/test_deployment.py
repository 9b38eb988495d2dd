"""The documents and files of deployment: what they say works."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from stopwise.serve.server_settings import load_settings
from tests.serve.local_server import NEW, ServeCommand, serving
from tests.store.postgres_server import postgres_binaries, postgres_running

ROOT = Path(__file__).parents[2]


def commands() -> list[str]:
    text = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
    return block.splitlines()


def test_curl_examples():
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    answers = []
    with serving() as server:
        for command in commands():
            process = subprocess.run(
                ["bash", "-c", command],
                env={"URL": server.url, "PATH": "/usr/bin:/bin"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert process.returncode == 0, (command, process.stdout, process.stderr)
            answers.append(process.stdout)
    outcomes = [json.loads(answers[k])["outcome"] for k in (3, 4, 5)]
    assert outcomes == ["counted", "repeated", "amended"]
    assert "stopwise_cases" in answers[-1]


def test_documented_configurations_are_understood(tmp_path, monkeypatch):
    text = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    path = tmp_path / "serve.toml"
    path.write_text(block)
    assert list(load_settings(path).cascades) == ["triage"]
    deployed = load_settings(ROOT / "deploy/serve.toml")
    assert (deployed.tokens, deployed.workers) == (True, 2)
    assert deployed.journals


@pytest.mark.slow
def test_the_deployment_serves_from_postgresql(tmp_path):
    """The steps of compose.yaml without containers: a database, a token, the server, a request."""
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("needs PostgreSQL")
    pytest.importorskip("psycopg")
    with postgres_running(binaries) as database:
        settings = (ROOT / "deploy/serve.toml").read_text(encoding="utf-8")
        changes = {
            "postgresql://stopwise@database/stopwise": database.new_database(),
            "/var/lib/stopwise/journals": str(tmp_path / "journals"),
            "0.0.0.0": "127.0.0.1",
        }
        for old, new in changes.items():
            assert old in settings
            settings = settings.replace(old, new)
        path = tmp_path / "serve.toml"
        path.write_text(settings)
        token = subprocess.run(
            [sys.executable, "-m", "stopwise", "serve", str(path), "--new-token", "admin"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        headers = {"authorization": f"Bearer {token}"}
        with (
            ServeCommand(tmp_path, str(path)) as server,
            httpx.Client(base_url=server.url, headers=headers) as http,
        ):
            assert http.post("/api/cascades", json=NEW).status_code == 201
            answer = http.post("/api/cascades/triage/tell", json={"outputs": ["x"], "key": "1"})
            assert answer.json() == {"outcome": "counted"}
            assert http.get("/api/trail").json()["changes"][-1]["did"] == "POST /api/cascades"
        assert '"request_id"' in server.errors


def test_image_is_small_and_without_root():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"}
    assert {step[0] for step in steps} <= known | {"ENTRYPOINT", "CMD"}
    final = steps[max(k for k, step in enumerate(steps) if step[0] == "FROM") :]
    assert final[0][1].endswith("-slim")
    (user,) = [step[1] for step in final if step[0] == "USER"]
    assert int(user) > 0
    order = [step[0] for step in final]
    assert order.index("USER") < order.index("ENTRYPOINT")
    for step, rest in steps:
        if step == "COPY" and not rest.startswith("--from"):
            assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest
        if step in ("ENTRYPOINT", "CMD"):
            assert json.loads(rest)
    extras = re.search(r"\.\[([a-z,]+)\]", (ROOT / "Dockerfile").read_text())[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras) <= set(project["optional-dependencies"])


def test_compose_file():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    assert set(services) == {"database", "stopwise"}
    assert all(port.startswith("127.0.0.1:") for port in services["stopwise"]["ports"])
    assert services["stopwise"]["cap_drop"] == ["ALL"]
    for service in services.values():
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (ROOT / source).exists()
