"""One configuration from every place where settings stand, and the keys that it names."""

from partstream.configuration.loading import Configuration, load_configuration
from partstream.configuration.places import Given
from partstream.configuration.resolution import Resolved, Value
from partstream.configuration.table import SETTINGS
from partstream.settings.row import Place, Setting

__all__ = ["SETTINGS", "Configuration", "Given", "Place", "Resolved", "Setting", "Value", "load_configuration"]
