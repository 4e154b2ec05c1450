from .columns import Location as Location
from .columns import Passage as Passage
from .columns import Passages as Passages
from .evidence import Evidence as Evidence
from .evidence import Ranking as Ranking
from .export import export as export
from .graph import Graph as Graph
from .graph import Kind as Kind
