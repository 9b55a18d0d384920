"""Every number that the README quotes comes from here, by `make bench`.

One module per benchmark, run alone by `sortkey bench NAME`. Its docstring's first line is its title, and
`run()` gives or yields `benchmarks._results.Result`s. What benchmarks share begins with an underscore.
"""
