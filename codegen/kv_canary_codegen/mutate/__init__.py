"""`mutate`: what of a spec could be otherwise without anybody noticing."""
