"""PynamoDB: models that a third-party library turns into requests."""

from __future__ import annotations

import pytest
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import PutError, TransactWriteError, UpdateError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

from tests.wire.sdk.orders import CREDENTIALS
from tests.wire.sdk.test_boto3_client import records
from tests.wire.serving import ServerProcess


class ByStatus(GlobalSecondaryIndex["Order"]):
    class Meta:
        index_name = "by-status"
        projection = AllProjection()

    status = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)


class Order(Model):
    class Meta:
        table_name = "pynamodb"
        region = "eu-west-1"
        billing_mode = "PAY_PER_REQUEST"
        stream_view_type = "NEW_AND_OLD_IMAGES"
        aws_access_key_id = CREDENTIALS["aws_access_key_id"]
        aws_secret_access_key = CREDENTIALS["aws_secret_access_key"]
        host: str | None = None

    customer = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    status = UnicodeAttribute(default="open")
    by_status = ByStatus()


def test_session(server: ServerProcess) -> None:
    Order.Meta.host = server.url
    Order.create_table(wait=True)
    first = Order("ann", 1)
    first.save(Order.customer.does_not_exist())
    with pytest.raises(PutError) as caught:
        Order("ann", 1).save(Order.customer.does_not_exist())
    assert caught.value.cause_response_code == "ConditionalCheckFailedException"
    first.update(actions=[Order.status.set("shipped")], condition=Order.status == "open")
    with pytest.raises(UpdateError):
        first.update(actions=[Order.status.set("shipped")], condition=Order.status == "open")

    with Order.batch_write() as batch:
        for number in range(2, 42):
            batch.save(Order("ann", number))
    assert len(list(Order.batch_get([("ann", number) for number in range(1, 42)]))) == 41
    assert Order.by_status.count("open") == 40
    # Page after page, by itself.
    assert [order.number for order in Order.query("ann", page_size=7)] == list(range(1, 42))
    assert len(list(Order.scan(page_size=10))) == 41

    connection = Order._get_connection().connection
    with TransactWrite(connection=connection) as transaction:
        transaction.save(Order("bob", 1))
        transaction.delete(Order("ann", 41))
    cancelled = TransactWrite(connection=connection)
    cancelled.save(Order("bob", 2))
    cancelled.condition_check(Order, "ann", 41, condition=Order.customer.exists())
    with pytest.raises(TransactWriteError), cancelled:
        pass
    assert Order.count("bob") == 1
    client = connection.client
    assert len(records(server, client, "pynamodb")) == 44
    Order.delete_table()
