"""`sk.services`: what a service is to the server, the worker and the command line.

Lists over HTTP are in `sortkey.services.pages`, which needs Litestar.
"""

from sortkey.services.event_settings import EventSettings as EventSettings
from sortkey.services.interface import MAX_AHEAD_SECONDS as MAX_AHEAD_SECONDS
from sortkey.services.interface import AheadLimit as AheadLimit
from sortkey.services.interface import BadRequest as BadRequest
from sortkey.services.interface import BadSettings as BadSettings
from sortkey.services.interface import Caller as Caller
from sortkey.services.interface import Conflict as Conflict
from sortkey.services.interface import Demonstrated as Demonstrated
from sortkey.services.interface import Explained as Explained
from sortkey.services.interface import Job as Job
from sortkey.services.interface import JobFailed as JobFailed
from sortkey.services.interface import JobProgress as JobProgress
from sortkey.services.interface import JobRejected as JobRejected
from sortkey.services.interface import JobRun as JobRun
from sortkey.services.interface import Maintained as Maintained
from sortkey.services.interface import MaxAheadSeconds as MaxAheadSeconds
from sortkey.services.interface import Measured as Measured
from sortkey.services.interface import NotFound as NotFound
from sortkey.services.interface import Progress as Progress
from sortkey.services.interface import Service as Service
from sortkey.services.interface import ServiceDefinition as ServiceDefinition
from sortkey.services.interface import UsualRequest as UsualRequest
from sortkey.services.operation import Operation as Operation
from sortkey.services.operation import OperationNote as OperationNote
from sortkey.services.operation import current_operation as current_operation
