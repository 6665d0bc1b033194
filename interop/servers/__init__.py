"""Model servers that nobody here wrote: started on loopback, asked as people ask, and what each showed."""
