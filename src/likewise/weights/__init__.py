"""Pretrained weights: a catalog, fetching with the user's own pip or npm settings, safe readers, a cache."""

from likewise.weights.record import Weight as Weight  # isort: skip  # first: its module's name is a function below
from likewise.weights.cache import content_of as content_of
from likewise.weights.cache import home as home
from likewise.weights.cache import record as record
from likewise.weights.cache import where as where
from likewise.weights.catalog.networks import CATALOG as CATALOG
from likewise.weights.fetch.fetch import fetch as fetch
