"""A cascade as a model of the real LiteLLM."""

import pytest

from stopwise.runtime import Runtime, Stage, choices

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]


def test_a_cascade_is_a_model_name(monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
    litellm = pytest.importorskip("litellm")
    from stopwise.integrations.litellm import CascadeProvider

    stages = [
        Stage(lambda text: "urgent" if "pain" in text else "routine", name="rules"),
        Stage(lambda text: "urgent" if "chest" in text else "routine", cost=1, name="model"),
    ]
    runtime = Runtime(
        "triage", stages=stages, policy="resolve", normalise=choices("urgent", "routine")
    )
    provider = {"provider": "stopwise", "custom_handler": CascadeProvider({"triage": runtime})}
    litellm.custom_provider_map = [provider]
    with runtime:
        response = litellm.completion(
            "stopwise/triage", messages=[{"role": "user", "content": "chest pain"}]
        )
        assert response.choices[0].message.content == "urgent"
        with pytest.raises(Exception, match="model must be one of triage"):
            litellm.completion("stopwise/other", messages=[{"role": "user", "content": "x"}])
