# Balance as MatchIt's summary() gives it, for the tables beside this file. Run here: Rscript values.R
# R 4.2.2, MatchIt 4.5.1. Writes values.csv: table, sample, covariate, statistic, value; and pairs_*.csv.
suppressMessages(library(MatchIt))
options(digits = 17)
statistics <- c("Means Treated" = "focal", "Means Control" = "reference", "Std. Mean Diff." = "smd",
                "Var. Ratio" = "variance_ratio", "eCDF Mean" = "ecdf_mean", "eCDF Max" = "ks",
                "Std. Pair Dist." = "pair_distance")
rows <- list()
keep <- function(table, sample, found) {
  for (covariate in rownames(found)) for (name in names(statistics)) {
    value <- found[covariate, name]
    if (!is.na(value)) rows[[length(rows) + 1]] <<- data.frame(table = table, sample = sample,
      covariate = covariate, stat = statistics[[name]], value = format(value, digits = 17))
  }
}
for (table in c("wages", "faces")) {
  data <- read.csv(paste0(table, ".csv"), stringsAsFactors = TRUE)
  rownames(data) <- data$image
  covariates <- setdiff(names(data), c("image", "identity", "side", "treat", "weight"))
  formula <- reformulate(covariates, "treat")
  for (ratio in 1:2) {
    m <- matchit(formula, data, method = "nearest", ratio = ratio)
    s <- summary(m)
    if (ratio == 1) keep(table, "all focal", s$sum.all)
    found <- s$sum.matched
    if (ratio == 2) found[, "Std. Pair Dist."] <- NA
    # This version forgets to standardise the pair distance where the means are equal.
    found[abs(found[, "Std. Mean Diff."]) < 1e-7, "Std. Pair Dist."] <- NA
    keep(table, paste0("ratio", ratio, " focal"), found)
    sets <- m$match.matrix
    pairs <- do.call(rbind, lapply(rownames(sets), function(a) data.frame(a = a, b = na.omit(sets[a, ]))))
    write.csv(pairs, paste0("pairs_", table, "_", ratio, ".csv"), row.names = FALSE, quote = FALSE)
  }
  s <- summary(matchit(formula, data, method = NULL, estimand = "ATE"))
  keep(table, "all pooled", s$sum.all)
  s <- summary(matchit(formula, data, method = NULL, s.weights = data$weight))
  weighted <- s$sum.all
  weighted[, "Std. Mean Diff."] <- NA  # its ruler is weighted too; ours is that of everybody, unweighted
  keep(table, "weighted", weighted)
}
write.csv(do.call(rbind, rows), "values.csv", row.names = FALSE, quote = FALSE)
