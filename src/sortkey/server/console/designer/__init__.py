"""The key designer: item classes that somebody pastes, as keys, paths, requests and costs.

    source.py     the classes of a text: its syntax tree is read, and nothing of it is executed
    design.py     what the classes answer, and what it costs
    child.py      both, in a process of its own, with little time and memory
    designer.py   starts that process for a request

The classes are compiled by the model, as in a program, so its errors are those of a program. The process of its own is
for what the model keeps of classes: it must not know those that somebody tries, beside those of the services.
"""
