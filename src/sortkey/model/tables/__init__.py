"""The requests that create declared tables, the comparison with existing ones, and templates for deployment."""
