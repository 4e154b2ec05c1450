"""Everything that graphwright raises on purpose.

    GraphwrightError
    ├── NeedsError     a pipeline is wired wrongly: a step needs what nothing gives
    ├── OptionError    an argument's value or name is not usable (also a ValueError)
    ├── DataError      something in a file or a record cannot be read
    ├── StoreError     an index folder is missing, damaged, locked, or of another version or encoder
    └── ModelError     a model could not be loaded, or did not answer

Every message says what was asked, what was found, and what to do.
"""

__all__ = ["DataError", "GraphwrightError", "ModelError", "NeedsError", "OptionError", "StoreError"]


class GraphwrightError(Exception):
    """Base of all errors that graphwright raises on purpose."""


class NeedsError(GraphwrightError):
    """A step of a pipeline needs a field of the state that no earlier step gives."""


class OptionError(GraphwrightError, ValueError):
    """An argument, an option or a name has a value that cannot be used."""


class DataError(GraphwrightError):
    """A file or a record cannot be read as what it was said to be."""


class StoreError(GraphwrightError):
    """An index folder is missing, damaged, locked, or was written by another version or encoder."""


class ModelError(GraphwrightError):
    """A model could not be loaded or did not answer."""
