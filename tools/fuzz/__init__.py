"""A fuzzer: valid inputs of every kind, changed at random, must give a result or one clear error."""
