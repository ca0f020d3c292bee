"""A naive Datalog evaluator written apart from Whence, to test Whence against. It imports nothing from it."""
