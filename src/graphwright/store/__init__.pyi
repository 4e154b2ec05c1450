from .changes import Problem as Problem
from .changes import Settings as Settings
