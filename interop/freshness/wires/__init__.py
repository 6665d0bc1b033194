"""What each protocol knows of its wire: a file a protocol, and the only places here that know one."""
