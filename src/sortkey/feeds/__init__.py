"""`sk.feeds`: changes of tables, messages and timers, and the functions that they call."""

from sortkey.feeds.aws.due_handler import due_handler as due_handler
from sortkey.feeds.aws.eventbridge import EventBridge as EventBridge
from sortkey.feeds.aws.lambda_handler import lambda_handler as lambda_handler
from sortkey.feeds.changes.change_feed import ChangeFeed as ChangeFeed
from sortkey.feeds.follower import Follower as Follower
from sortkey.feeds.kafka.message import Consumer as Consumer
from sortkey.feeds.kafka.message import Message as Message
from sortkey.feeds.kafka.message import Rejected as Rejected
from sortkey.feeds.rekeying import rekey_feeds as rekey_feeds
from sortkey.feeds.shards.dead_letter import DeadLetter as DeadLetter
from sortkey.feeds.targets.aws_targets import EventBridgeBus as EventBridgeBus
from sortkey.feeds.targets.aws_targets import SnsTopic as SnsTopic
from sortkey.feeds.targets.event_target import EventRejected as EventRejected
from sortkey.feeds.targets.event_target import EventTarget as EventTarget
from sortkey.feeds.targets.event_target import OutgoingEvent as OutgoingEvent
from sortkey.feeds.targets.kafka_topic import KafkaTopic as KafkaTopic
from sortkey.feeds.timers.timers import Timers as Timers
from sortkey.model.calls.change import read_record as read_record
