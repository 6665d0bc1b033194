"""One folder for each wire protocol. The modules beside the folders name no protocol."""
