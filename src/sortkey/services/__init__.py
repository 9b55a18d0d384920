"""`sk.services`: what a service is to the server, the worker and the command line.

Lists over HTTP are in `sortkey.services.pages`, which needs Litestar.
"""

from sortkey.services.interface import BadRequest as BadRequest
from sortkey.services.interface import BadSettings as BadSettings
from sortkey.services.interface import Caller as Caller
from sortkey.services.interface import Conflict as Conflict
from sortkey.services.interface import Demonstrated as Demonstrated
from sortkey.services.interface import Job as Job
from sortkey.services.interface import JobFailed as JobFailed
from sortkey.services.interface import JobProgress as JobProgress
from sortkey.services.interface import JobRejected as JobRejected
from sortkey.services.interface import JobRun as JobRun
from sortkey.services.interface import Maintained as Maintained
from sortkey.services.interface import Measured as Measured
from sortkey.services.interface import NotFound as NotFound
from sortkey.services.interface import Progress as Progress
from sortkey.services.interface import Service as Service
from sortkey.services.interface import ServiceDefinition as ServiceDefinition
