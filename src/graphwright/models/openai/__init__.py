"""Models behind any server with the interface of OpenAI."""
