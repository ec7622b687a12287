"""The names of the artifacts of an audit."""

IMAGES, DESCRIBED, EXCLUDED = "images.parquet", "described.parquet", "excluded.csv"
ALIGNED, LATENTS, FIDELITY, EMBEDDINGS = "aligned", "latents", "fidelity", "embeddings"
MATCHES, VARIANTS, BALANCE, TRIALS = "matches.parquet", "variants", "balance.parquet", "trials.parquet"
IMAGE_MATCHES, IMPOSTOR_MATCHES = "image_matches.parquet", "impostor_matches.parquet"
COUNTERFACTUALS, VALIDITY = "counterfactuals", "validity.parquet"
RATINGS, RESPONSES = "ratings.parquet", "responses.parquet"
ESTIMATES, EXPORT, REPORT = "estimates.parquet", "export", "report.html"

PLACEBO, EDITED_TRIALS, OUTSIDE, SHEET = "placebo.parquet", "trials.parquet", "outside.parquet", "sheet.jpg"
"""Inside ``counterfactuals``: placebo arms, trials of edited images, changed pixels, contact sheet."""
DIFFICULTY = "difficulty.parquet"
"""Inside ``embeddings``: the difficulty of second images."""
