"""Delivers the messages of a Kafka topic to a service."""
