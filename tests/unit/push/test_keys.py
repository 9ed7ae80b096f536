"""The key beside a store: made once, readable by its owner alone."""

import threading
from pathlib import Path

import pytest

from dragoman.errors import ConfigurationError
from dragoman.push.keys import key_beside, key_for
from dragoman.push.seal import KEY_BYTES, derived


def test_the_key_is_made_once_and_found_again(tmp_path: Path) -> None:
    key = key_beside(tmp_path / "tasks.db")
    assert len(key) == KEY_BYTES
    assert key_beside(tmp_path / "tasks.db") == key
    assert [path.name for path in tmp_path.iterdir()] == ["tasks.db.key"]
    assert key_beside(tmp_path / "other.db") != key


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    key_beside(tmp_path / "tasks.db")
    assert (tmp_path / "tasks.db.key").stat().st_mode & 0o777 == 0o600


def test_a_key_that_others_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    key = key_beside(tmp_path / "tasks.db")
    assert caplog.text == ""
    (tmp_path / "tasks.db.key").chmod(0o640)
    assert key_beside(tmp_path / "tasks.db") == key
    assert "can be read by others" in caplog.text
    assert key.hex() not in caplog.text


def test_those_who_make_it_at_once_have_the_same(tmp_path: Path) -> None:
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(key_beside(tmp_path / "tasks.db")), daemon=True) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.parametrize("text", ["", "abc", "zz" * KEY_BYTES, "ab" * (KEY_BYTES - 1), "ä"])
def test_what_is_no_key_is_never_written_over(tmp_path: Path, text: str) -> None:
    place = tmp_path / "tasks.db.key"
    place.write_text(text, encoding="utf-8")
    place.chmod(0o600)
    with pytest.raises(ConfigurationError, match="holds no key"):
        key_beside(tmp_path / "tasks.db")
    assert place.read_text(encoding="utf-8") == text


def test_where_no_file_can_be_made_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        key_beside(tmp_path / "missing" / "tasks.db")


def test_a_secret_stands_in_for_the_file_and_a_store_in_memory_has_a_key_of_the_process(tmp_path: Path) -> None:
    assert key_for("secret", tmp_path / "tasks.db") == derived("secret") == key_for("secret", None)
    assert list(tmp_path.iterdir()) == []
    assert key_for(None, None) != key_for(None, None)
    assert key_for(None, tmp_path / "tasks.db") == key_beside(tmp_path / "tasks.db")
