"""The services that come with Sortkey, each in its own folder."""
