"""Memory shared with numpy and, by DLPack, with other libraries, and detection of writes from outside the engine."""
