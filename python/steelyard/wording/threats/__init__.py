"""Words the threats: a sentence for each observation; a cause and advice for each kind."""
