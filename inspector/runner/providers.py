"""Real models, through the model interface of pydantic-ai (the extra `models`).

Only requests and answers pass through it; its agents are not used, and its own retries are switched off,
since every try is a step of the run here.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from inspector.errors import UsageError
from inspector.runner.errors import ModelError
from inspector.runner.messages import ModelTurn
from inspector.runner.models import Delta, Model, ModelRequest

if TYPE_CHECKING:
    from pydantic_ai.models import Model as TheirModel

INSTALL = "needs the extra `models`: pip install 'runinspect[models]'"


def named(name: str) -> Model:
    """The model of a name such as `openai:gpt-5-mini` or `anthropic:claude-haiku-4-5`. Where OPENAI_BASE_URL names an
    endpoint of one's own, `openai:` speaks the chat protocol to it, which all of those know; `openai-responses:` the
    other one. Raises UsageError: the extra is missing, the name is not known, its key is not set."""
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise UsageError(name, INSTALL) from error
    kind, colon, model = name.partition(":")
    if kind == "openai" and os.environ.get("OPENAI_BASE_URL"):
        kind = "openai-chat"
    try:
        return PydanticModel(infer_model(kind + colon + model))
    except (UserError, ImportError) as error:
        raise UsageError(name, str(error)) from error


def openai_model(name: str, *, base_url: str, api_key: str = "none") -> Model:
    """A model behind any endpoint that speaks the OpenAI chat protocol. Raises UsageError without the
    extra."""
    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
    except ImportError as error:
        raise UsageError(name, INSTALL) from error
    return PydanticModel(OpenAIChatModel(name, provider=OpenAIProvider(base_url=base_url, api_key=api_key)))


def adapted(given: object) -> Model:
    """A model object of pydantic-ai as ours. Raises TypeError for anything else."""
    module = sys.modules.get("pydantic_ai.models")
    if module is not None and isinstance(given, module.Model):
        return PydanticModel(given)
    raise TypeError(f"{given!r} is no model: it lacks a name, request() or stream()")


class PydanticModel:
    """A model of pydantic-ai."""

    def __init__(self, model: "TheirModel[Any]") -> None:
        self._model = model
        self.name = f"{model.system}:{model.model_name}"

    async def request(self, request: ModelRequest) -> ModelTurn:
        from pydantic_ai.direct import model_request

        from inspector.runner import translation

        parameters, settings = translation.parameters(request, self._model), translation.settings(request)
        try:
            response = await model_request(
                self._model,
                translation.messages(request),
                model_settings=settings,
                model_request_parameters=parameters,
            )
        except Exception as error:
            raise self._classified(error) from error
        return translation.turn(response)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelTurn]:
        from pydantic_ai.direct import model_request_stream

        from inspector.runner import translation

        parameters, settings = translation.parameters(request, self._model), translation.settings(request)
        pieces = translation.Pieces()
        try:
            async with model_request_stream(
                self._model,
                translation.messages(request),
                model_settings=settings,
                model_request_parameters=parameters,
            ) as stream:
                async for event in stream:
                    if (piece := pieces.of(event)) is not None:
                        yield piece
            response = stream.get()
        except (GeneratorExit, asyncio.CancelledError):
            raise
        except Exception as error:
            raise self._classified(error) from error
        # pydantic-ai makes up a reason for a stream that just ends; the provider's own is beside it.
        told = "finish_reason" in (response.provider_details or {}) or translation.usage(response.usage) is not None
        if not told and self._model.system not in ("function", "test"):
            raise ModelError(self.name, "truncated", "the stream broke off before its end", retry=True)
        yield translation.turn(response)

    def _classified(self, error: Exception) -> ModelError:
        """What went wrong, and whether asking again may help."""
        from pydantic_ai import exceptions

        if isinstance(error, ModelError):
            return error
        after = getattr(error, "retry_after", None)
        status = getattr(error, "status_code", None)
        kind, retry = "other", False
        if isinstance(error, exceptions.ModelRateLimitError) or status == 429:
            kind, retry = "rate_limited", True
        elif isinstance(error, exceptions.ModelTimeoutError | TimeoutError) or status in (408, 504):
            kind, retry = "timeout", True
        elif isinstance(error, exceptions.ModelConnectionError | ConnectionError):
            kind, retry = "network", True
        elif status in (401, 403):
            kind = "permission_denied"
        elif isinstance(status, int):
            kind, retry = ("provider", True) if status >= 500 or status in (409, 425) else ("invalid_request", False)
        elif isinstance(error, exceptions.UnexpectedModelBehavior):
            kind = "provider"
        elif isinstance(error, exceptions.UserError):
            kind = "invalid_request"
        return ModelError(self.name, kind, f"{type(error).__name__}: {error}", retry=retry, after=after)
