"""graphwright: graph-based retrieval-augmented generation in one algebra of operators.

    from pathlib import Path
    from graphwright import Index

    index = Index.create("my-index")
    index.add(Path("docs"))
    print(index.ask("Who founded the observatory?").answer.text)

The names are listed in `__init__.pyi`, and each is loaded when it is first used, so that importing the
package costs nothing.
"""

import lazy_loader

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
