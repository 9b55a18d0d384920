"""The serving systems that come with Sortkey, each in a folder of its own."""
