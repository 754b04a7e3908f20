"""Query plans on the page: every statement with its time, plans side by side where they flip."""
