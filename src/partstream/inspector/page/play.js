/** Nothing yet: play. */
