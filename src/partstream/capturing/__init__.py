"""What goes by while answers come, kept in memory: exchanges with servers, the parts that a host got, and when."""

import partstream.codec.system  # noqa: F401 - for its effect
