"""`sk.services`: what a service is to the server, the worker and the command line."""

from sortkey.services.interface import BadRequest as BadRequest
from sortkey.services.interface import BadSettings as BadSettings
from sortkey.services.interface import Caller as Caller
from sortkey.services.interface import Conflict as Conflict
from sortkey.services.interface import NotFound as NotFound
from sortkey.services.interface import Progress as Progress
from sortkey.services.interface import Service as Service
from sortkey.services.interface import ServiceDefinition as ServiceDefinition
