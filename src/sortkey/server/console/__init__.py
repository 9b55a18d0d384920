"""The console: a page in the browser that shows what this process knows, and edits rows.

    assets.py     the built page, its headers, its files
    console.py    requests: page, files, JSON API, streams of events
    access.py     who may see and edit what
    store.py      requests to the store, each checked against the viewer's rights
    data/         tables, access paths, raw requests, edits, code
    live/         one sampler for all open pages: rates, access paths, heat, changes
    feeds.py …    change feeds, dead letters, timers

`console/API.md` is its API. The console reads what others count. It adds nothing to the requests of services, but for a
look at their target.
"""
