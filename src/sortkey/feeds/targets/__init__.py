"""Where events go out: topics of Kafka, buses of EventBridge, topics of SNS."""
