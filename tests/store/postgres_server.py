"""A PostgreSQL server for tests: created, started, restarted and killed by them."""

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OWNER = "postgres"


def postgres_binaries() -> Path | None:
    """The folder of initdb and pg_ctl: on the path, or where Debian keeps the newest version."""
    program = shutil.which("pg_ctl")
    if program:
        return Path(program).resolve().parent
    folders = Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")
    versions = sorted(folders, key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


class PostgresServer:
    """Listens on a socket in its own folder, and nowhere else."""

    def __init__(self, binaries: Path, folder: Path, *, is_durable: bool = False) -> None:
        self.binaries = binaries
        self.folder = folder
        self.is_durable = is_durable  # tests kill the server, but do not cut the power
        self.data = folder / "data"
        self._numbers = itertools.count()

    def create(self) -> None:
        self.folder.chmod(0o755)
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(self.folder, OWNER)
        self._run("initdb", "-D", self.data, "-U", OWNER, "--auth=trust", "--no-sync", "-E", "UTF8")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n"
                "max_connections = 200\nshared_buffers = 32MB\n"
                f"fsync = {'on' if self.is_durable else 'off'}\n"
            )

    def start(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "start")

    def stop(self, mode: str = "immediate") -> None:
        """End the server; ``immediate`` is like a crash, from which it recovers at the start."""
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def new_database(self) -> str:
        """The URL of an empty store: a schema of its own, which takes less time than a database."""
        import psycopg

        name = f"store{next(self._numbers)}"
        url = f"postgresql://{OWNER}@/postgres?host={self.folder}"
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{url}&options=-csearch_path%3D{name}"

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.binaries / program), *map(str, arguments)]
        if os.getuid() == 0:
            user = ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups"]
            command = [*user, *command]
        process = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=60
        )
        if process.returncode:
            raise RuntimeError(f"{program} failed: {process.stdout}{process.stderr}")


@contextmanager
def postgres_running(binaries: Path, *, is_durable: bool = False) -> Iterator[PostgresServer]:
    """Create a server, start it, and remove it in the end."""
    # Not below pytest's own folder, which the user postgres may not enter.
    folder = Path(tempfile.mkdtemp(prefix="stopwise-pg-"))
    server = PostgresServer(binaries, folder, is_durable=is_durable)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
