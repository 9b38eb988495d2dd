import pytest

from stopwise.errors import SettingError
from stopwise.store import open_store
from stopwise.store.tokens import check_token, create_token, revoke_token, tokens


def test_a_token_is_known_by_its_hash_until_it_expires_or_is_revoked():
    now = [1000.0]
    store = open_store(clock=lambda: now[0])
    short = create_token(store, "short", scopes=["tell", "read"], seconds=60)
    long = create_token(store, "long", scopes=["admin"])
    assert check_token(store, short).scopes == ("read", "tell")
    assert check_token(store, long).name == "long"
    now[0] += 60
    assert check_token(store, short) is None
    assert revoke_token(store, "long")
    assert check_token(store, long) is None
    assert not revoke_token(store, "nobody")
    assert [(token.name, token.is_revoked) for token in tokens(store)] == [
        ("long", True),
        ("short", False),
    ]
    kept = str([record.body for record in store.records("token")])
    assert short not in kept
    assert long not in kept


def test_a_name_is_given_once():
    store = open_store()
    create_token(store, "a", scopes=[])
    with pytest.raises(SettingError, match="must be new"):
        create_token(store, "a", scopes=["admin"])
    assert check_token(store, "") is None
