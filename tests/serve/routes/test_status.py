from tests.serve.conftest import Running


def test_health_and_readiness_reply(server: Running) -> None:
    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert server.client.get("/readyz").status_code == 200


def test_index_is_described(server: Running) -> None:
    (facts,) = server.client.get("/v1/indexes").json()["indexes"]
    assert server.client.get("/v1/indexes/cities").json() == facts
    assert (facts["name"], facts["documents"], facts["default_method"]) == ("cities", 4, "multihop")
    assert facts["current"] and not facts["imported"] and facts["llm"] is None


def test_methods_equal_registry(server: Running) -> None:
    methods = {method["name"]: method for method in server.client.get("/v1/methods").json()["methods"]}
    assert methods["vanilla"]["needs_llm"] and not methods["bm25"]["needs_llm"]
    assert methods["bm25"]["options"]["top_k"] == 15
