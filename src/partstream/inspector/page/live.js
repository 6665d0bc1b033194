/** Nothing yet: live. */
