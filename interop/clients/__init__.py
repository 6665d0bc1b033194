"""Official clients of model servers, which ask the replay upstream as programs do, and what each was shown."""
