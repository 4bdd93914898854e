"""Runs conformance cases, written as data, against any endpoint that speaks DynamoDB's protocol."""
