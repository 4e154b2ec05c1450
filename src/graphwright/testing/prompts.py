"""The parts of a prompt that a scripted model reads."""

import json

from graphwright.operators.state import State


def passages_in(prompt: str) -> dict[int, str]:
    """Return the texts of the passages in a prompt, by number."""
    lines = (json.loads(line) for line in prompt.split("\n") if line.startswith('{"passage": '))
    return {passage["passage"]: passage["text"] for passage in lines}


def prompt_of(state: State) -> str:
    """Return the user prompt of a state's context, "" without one."""
    return "" if state.context is None else state.context.prompt[1]
