"""What goes by while answers come, kept in memory: exchanges with servers, the parts that a host got, and when."""

import partstream.silent_log  # noqa: F401 - for its effect
