"""Error rates of recognizers: operating points, error-rate gaps, differentials."""
