"""The scenarios of the replay upstream, as documents of a server list them."""

from partstream.server.models import CataloguedModel, served_model
from partstream_devtools.testing.scripted_model import ScriptedProvider
from partstream_devtools.testing.upstream import REPLAY_MODELS

SERVED_MODELS = tuple(served_model(CataloguedModel(one.id, "replay", ScriptedProvider(), one)) for one in REPLAY_MODELS)
