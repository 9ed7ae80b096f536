"""Examples have no time limit of their own: how long one takes says nothing about a codec."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
