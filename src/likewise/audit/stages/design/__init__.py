"""From Images and Vectors to Matches: trials, matching, its variants, balance."""
