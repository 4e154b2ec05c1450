from .problem import Problem as Problem
from .settings import Settings as Settings
