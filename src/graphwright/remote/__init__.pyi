from .bucket import ConflictError as ConflictError
from .pulling import Pulled as Pulled
from .pulling import pull as pull
from .pushing import Pushed as Pushed
from .pushing import push as push
