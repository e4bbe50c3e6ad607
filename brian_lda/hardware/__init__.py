"""Does a topic model fit a neuromorphic chip, what must be pruned, what crosses between chips?"""
