"""Tables for the appendices, and the recorded facts that chapters quote."""
