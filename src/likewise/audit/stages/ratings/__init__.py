"""From units to Ratings: models and services rate, people respond."""
