"""The non-greedy tree of Norouzi et al. (2015)."""
