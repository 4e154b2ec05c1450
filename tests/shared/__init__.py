"""What tests share: toy graphs, a toy corpus, scripted models, a served index."""

from tests.shared.corpus import CORPUS as CORPUS
from tests.shared.corpus import corpus_index as corpus_index
from tests.shared.graphs import APART as APART
from tests.shared.graphs import CLUB as CLUB
from tests.shared.graphs import FAMILY as FAMILY
from tests.shared.graphs import GRAPHS as GRAPHS
from tests.shared.graphs import LINE as LINE
from tests.shared.graphs import LOOPS as LOOPS
from tests.shared.graphs import STAR as STAR
from tests.shared.graphs import TRIPLES as TRIPLES
from tests.shared.graphs import vectors_of as vectors_of
from tests.shared.models import FixedEncoder as FixedEncoder
from tests.shared.models import HashEncoder as HashEncoder
from tests.shared.models import OverlapCrossEncoder as OverlapCrossEncoder
from tests.shared.models import ScriptedLLM as ScriptedLLM
from tests.shared.models import answer_reply as answer_reply
from tests.shared.models import passages_in as passages_in
from tests.shared.models import prompt_of as prompt_of
from tests.shared.served import Running as Running
from tests.shared.served import serving as serving
from tests.shared.served import wait_until as wait_until
