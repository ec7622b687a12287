"""One foreign format a file: each reads the members of an archive and writes one file of ours."""
