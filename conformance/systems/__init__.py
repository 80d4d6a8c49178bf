"""One file a system. Each has a function ``system()`` that imports it and says how it is called."""
