/** Nothing yet: compare. */
