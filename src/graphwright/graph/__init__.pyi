from .evidence import Evidence as Evidence
from .evidence import Ranking as Ranking
from .export import export as export
from .graph import Graph as Graph
from .graph import Kind as Kind
from .passages import Location as Location
from .passages import Passage as Passage
from .passages import Passages as Passages
