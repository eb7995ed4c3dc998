"""Tables of the appendices, and the recorded facts that chapters quote."""
