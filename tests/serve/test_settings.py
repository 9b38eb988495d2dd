"""Flags and files that describe a server, and what is said of wrong ones."""

import socket

import pytest

from stopwise.cli.serve import serve
from stopwise.errors import SettingError
from stopwise.serve.server_settings import load_settings


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"costs": "0,1", "mistake_cost": 2.0}, "needed together"),
        ({"name": "a", "costs": "0;1", "mistake_cost": 2.0}, "--costs must look like"),
        ({"name": "a", "costs": "0,1", "mistake_cost": 0.0}, "--mistake-cost must be > 0"),
        ({"port": 70_000}, "port must be at most 65535"),
        ({"port": -1}, "port must be a whole number >= 0, got -1"),
        ({"workers": 0}, "workers must be a whole number >= 1, got 0"),
        ({"host": "0.0.0.0"}, "--tokens"),
    ],
)
def test_flags_that_make_no_sense(flags, words):
    with pytest.raises(SettingError, match=words):
        serve(**flags)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_port_in_use_is_said_and_nothing_else(workers, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingError, match=f"port {port} is in use"):
            serve(port=port, workers=workers, name="a", costs="0,1", mistake_cost=2.0)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            'prot = 1\nhost = "0.0.0.0"\n[cascades.a]\nmistake_cost = "x"\n',
            ["unknown key 'prot'", "did you mean 'port'", "mistake_cost", "tokens = true"],
        ),
        ("cascades = 3", ["cascades must be tables [cascades.NAME], got 3"]),
        ("[cascades]\na = 1", ["cascades must be tables [cascades.NAME], got {'a': 1}"]),
        ("store = 5", ["store must be text, got 5"]),
        (
            'store = "postgresql://me:word@host/name"',
            ["store: a URL with a password must be given"],
        ),
        ('store = "env:NOBODY_SET_IT"', ["store: the environment has no variable NOBODY_SET_IT"]),
        (
            '[cascades.a]\nname = "b"\nstore = "sqlite:///b.db"\n',
            ["[cascades.a] must have no name: ", "[cascades.a] must have no store: "],
        ),
        ('tokens = "no"', ["tokens must be true or false, got 'no'"]),
    ],
)
def test_settings_say_all_that_is_wrong(tmp_path, text, messages):
    path = tmp_path / "serve.toml"
    path.write_text(text)
    with pytest.raises(SettingError) as error:
        load_settings(path)
    assert "word@" not in str(error.value)
    for message in messages:
        assert message in str(error.value)


def test_a_store_with_a_password_comes_from_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "serve.toml"
    path.write_text('store = "env:THE_STORE"')
    monkeypatch.setenv("THE_STORE", "postgresql://me:word@host/name")
    assert load_settings(path).store == "postgresql://me:word@host/name"
