"""Model servers of other projects: started on loopback, asked as people ask, and what each showed."""
