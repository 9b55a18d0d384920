"""Pricing over GraphQL."""
