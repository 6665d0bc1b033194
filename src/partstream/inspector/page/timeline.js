/** Nothing yet: timeline. */
