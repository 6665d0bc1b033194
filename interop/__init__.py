"""Programs of other people that Partstream is tried with: servers, clients, frameworks, parsers, types of packages."""
