"""The one class that all errors in a user's input have in common: rules, facts, values, names."""


class WhenceError(Exception):
    """The input is wrong; the text says where, and what to do."""
