"""What was found out about secrets is kept, the secrets are not."""

from dragoman.auth.kept import Kept


def test_a_value_is_good_until_its_time() -> None:
    kept: Kept[int] = Kept(10)
    kept.put("a", 1, 100.0)
    assert [kept.get("a", now) for now in (0.0, 99.9, 100.0)] == [1, 1, None]
    assert kept.get("b", 0.0) is None
    kept.clear()
    assert kept.get("a", 0.0) is None


def test_the_last_ones_are_kept() -> None:
    kept: Kept[int] = Kept(3)
    for number in range(5):
        kept.put(f"secret {number}", number, 100.0)
    kept.put("secret 2", 22, 100.0)
    kept.put("secret 5", 5, 100.0)
    assert [kept.get(f"secret {number}", 0.0) for number in range(6)] == [None, None, 22, None, 4, 5]


def test_a_secret_is_not_kept_as_it_is() -> None:
    kept: Kept[int] = Kept(3)
    kept.put("secret", 1, 100.0)
    assert "secret" not in repr(vars(kept))
