"""Makes the modules beside this file importable for the tests of agents, by their plain names.

No folder here has an `__init__.py`: it would stand in the way of the framework that the folder is called like. So the
files of tests have names that no other folder has: `test_pydantic_ai_events.py`.
"""
