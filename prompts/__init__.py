"""Every text that a model or a person reads, in Portuguese and English."""
