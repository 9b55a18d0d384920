"""Requests that export tables to buckets, and import tables from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from sortkey.engine.requests.shapes import (
    AWS_PATTERN,
    AttributeMap,
    NameBindings,
    Shape,
    StrictTableName,
    TableArn,
    Timestamp,
    anchored,
)
from sortkey.engine.requests.tables import (
    AttributeDefinition,
    BillingMode,
    GlobalSecondaryIndex,
    KeySchema,
    OnDemandThroughput,
    ProvisionedThroughput,
    SSESpecification,
    VectorIndex,
)

TransferArn = Annotated[str, Meta(min_length=37, max_length=1024)]
PageSize = Annotated[int, Meta(ge=1, le=25)]
ClientToken = Annotated[str, Meta(pattern=anchored(r"^[^\$]+$"))]
Bucket = Annotated[
    str,
    Meta(
        max_length=255,
        pattern=anchored(r"[a-z0-9A-Z][\.\-\w]*[a-z0-9A-Z]"),
        extra={AWS_PATTERN: r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$"},
    ),
]
BucketOwner = Annotated[str, Meta(pattern=anchored("[0-9]{12}"))]
Prefix = Annotated[str, Meta(max_length=1024)]


class IncrementalExportSpecification(Shape, kw_only=True):
    export_from_time: Timestamp | None = None
    export_to_time: Timestamp | None = None
    export_view_type: Literal["NEW_IMAGE", "NEW_AND_OLD_IMAGES"] | None = None


class FilterSpecification(Shape, kw_only=True):
    filter_expression: str | None = None
    projection_expression: str | None = None
    key_condition_expression: str | None = None
    expression_attribute_names: NameBindings | None = None
    expression_attribute_values: AttributeMap | None = None


class ExportTableToPointInTime(Shape, kw_only=True):
    table_arn: TableArn
    export_time: Timestamp | None = None
    client_token: ClientToken | None = None
    s3_bucket: Bucket
    s3_bucket_owner: BucketOwner | None = None
    s3_prefix: Prefix | None = None
    s3_sse_algorithm: Literal["AES256", "KMS"] | None = None
    s3_sse_kms_key_id: Annotated[str, Meta(min_length=1, max_length=2048)] | None = None
    export_format: Literal["DYNAMODB_JSON", "ION"] | None = None
    export_type: Literal["FULL_EXPORT", "INCREMENTAL_EXPORT"] | None = None
    incremental_export_specification: IncrementalExportSpecification | None = None
    filter_specification: FilterSpecification | None = None


class DescribeExport(Shape, kw_only=True):
    export_arn: TransferArn


class ListExports(Shape, kw_only=True):
    table_arn: TableArn | None = None
    max_results: PageSize | None = None
    next_token: str | None = None


class S3BucketSource(Shape, kw_only=True):
    s3_bucket_owner: BucketOwner | None = None
    s3_bucket: Bucket
    s3_key_prefix: Prefix | None = None


class CsvOptions(Shape, kw_only=True):
    delimiter: Annotated[str, Meta(min_length=1, max_length=1, pattern=anchored(r"[,;:|\t ]"))] | None = None
    header_list: (
        Annotated[
            list[
                Annotated[
                    str, Meta(min_length=1, max_length=65536, pattern=anchored(r"[\x20-\x21\x23-\x2B\x2D-\x7E]*"))
                ]
            ],
            Meta(min_length=1, max_length=255),
        ]
        | None
    ) = None


class InputFormatOptions(Shape, kw_only=True):
    csv: CsvOptions | None = None


class TableCreationParameters(Shape, kw_only=True):
    table_name: StrictTableName
    attribute_definitions: list[AttributeDefinition]
    key_schema: KeySchema
    billing_mode: BillingMode | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    sse_specification: SSESpecification | None = None
    global_secondary_indexes: list[GlobalSecondaryIndex] | None = None
    vector_indexes: list[VectorIndex] | None = None


class ImportTable(Shape, kw_only=True):
    client_token: ClientToken | None = None
    s3_bucket_source: S3BucketSource
    input_format: Literal["DYNAMODB_JSON", "ION", "CSV"]
    input_format_options: InputFormatOptions | None = None
    input_compression_type: Literal["GZIP", "ZSTD", "NONE"] | None = None
    table_creation_parameters: TableCreationParameters


class DescribeImport(Shape, kw_only=True):
    import_arn: TransferArn


class ListImports(Shape, kw_only=True):
    table_arn: TableArn | None = None
    page_size: PageSize | None = None
    next_token: Annotated[str, Meta(min_length=112, max_length=1024, pattern=anchored("([0-9a-f]{16})+"))] | None = None


def shown(request: Shape) -> dict[str, Any]:
    """The members that were given, by AWS's names."""
    members: dict[str, Any] = {}
    for name, field in zip(request.__struct_encode_fields__, request.__struct_fields__, strict=True):
        value = getattr(request, field)
        if value is not None:
            members[name] = _shown(value)
    return members


def _shown(value: Any) -> Any:
    if isinstance(value, Shape):
        return shown(value)
    return [_shown(each) for each in value] if isinstance(value, list) else value
