import java.net.URI;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.enhanced.dynamodb.AttributeConverterProvider;
import software.amazon.awssdk.enhanced.dynamodb.AttributeValueType;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbAsyncTable;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbEnhancedAsyncClient;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbEnhancedClient;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbTable;
import software.amazon.awssdk.enhanced.dynamodb.Expression;
import software.amazon.awssdk.enhanced.dynamodb.Key;
import software.amazon.awssdk.enhanced.dynamodb.TableMetadata;
import software.amazon.awssdk.enhanced.dynamodb.TableSchema;
import software.amazon.awssdk.enhanced.dynamodb.document.EnhancedDocument;
import software.amazon.awssdk.enhanced.dynamodb.model.BatchGetItemEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.BatchWriteItemEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.CreateTableEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.DeleteItemEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.IgnoreNullsMode;
import software.amazon.awssdk.enhanced.dynamodb.model.PutItemEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.QueryConditional;
import software.amazon.awssdk.enhanced.dynamodb.model.QueryEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.ReadBatch;
import software.amazon.awssdk.enhanced.dynamodb.model.TransactGetItemsEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.TransactWriteItemsEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.UpdateItemEnhancedRequest;
import software.amazon.awssdk.enhanced.dynamodb.model.WriteBatch;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.DynamoDbException;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.ReturnConsumedCapacity;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;

/** Orders of customers with the Enhanced client, from the table to its stream. Prints what it sees. */
public class Orders {
    private static final String TABLE = "sdk-java-v2-orders";
    private static final TableSchema<Order> SCHEMA = TableSchema.fromBean(Order.class);

    private final DynamoDbClient client;
    private final DynamoDbAsyncClient asyncClient;
    private final DynamoDbStreamsClient streams;
    private final DynamoDbEnhancedClient enhanced;
    private final DynamoDbTable<Order> table;
    private final DynamoDbAsyncTable<Order> asyncTable;

    private Orders(URI endpoint) {
        var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local"));
        client = DynamoDbClient.builder().endpointOverride(endpoint).region(Region.US_EAST_1).credentialsProvider(credentials).build();
        asyncClient = DynamoDbAsyncClient.builder().endpointOverride(endpoint).region(Region.US_EAST_1).credentialsProvider(credentials).build();
        streams = DynamoDbStreamsClient.builder().endpointOverride(endpoint).region(Region.US_EAST_1).credentialsProvider(credentials).build();
        enhanced = DynamoDbEnhancedClient.builder().dynamoDbClient(client).build();
        table = enhanced.table(TABLE, SCHEMA);
        asyncTable = DynamoDbEnhancedAsyncClient.builder().dynamoDbClient(asyncClient).build().table(TABLE, SCHEMA);
    }

    public static void main(String[] arguments) {
        var orders = new Orders(URI.create(arguments[0]));
        orders.createTable();
        orders.write();
        orders.writeMany();
        orders.query();
        orders.scan();
        orders.transactions();
        orders.documents();
        orders.delete();
        orders.stream();
        orders.table.deleteTable();
        orders.client.waiter().waitUntilTableNotExists(request -> request.tableName(TABLE));
        show("get without a table", () -> orders.table.getItem(key("ada", "001")));
        orders.asyncClient.close();
    }

    private void createTable() {
        table.createTable(CreateTableEnhancedRequest.builder()
            .globalSecondaryIndices(index -> index.indexName("by-status").projection(p -> p.projectionType(ProjectionType.ALL)))
            .localSecondaryIndices(index -> index.indexName("by-total").projection(p -> p.projectionType(ProjectionType.KEYS_ONLY)))
            .streamSpecification(stream -> stream.streamEnabled(true).streamViewType(StreamViewType.NEW_AND_OLD_IMAGES)).build());
        var described = client.waiter().waitUntilTableExists(request -> request.tableName(TABLE)).matched().response().get().table();
        System.out.println(described.tableStatus() + " " + described.billingModeSummary().billingMode() + " " + described.keySchema());
        System.out.println(described.globalSecondaryIndexes().get(0).keySchema() + " " + described.localSecondaryIndexes().get(0).projection());
        show("create again", () -> { table.createTable(); return null; });
    }

    private void write() {
        var order = Order.of("ada", "001", "open", 10);
        order.setTags(Set.of("gift", "new"));
        order.setLines(List.of(Order.line("pen", 2), Order.line("ink", 1)));
        order.setNotes(Map.of("boxes", 1));
        order.setPlaced(Instant.parse("2026-11-17T10:00:00Z"));
        table.putItem(order);
        var first = table.getItem(key("ada", "001"));
        System.out.println("put: " + first);
        first.setTotal(12);
        System.out.println("updated: " + table.updateItem(first));
        show("update of a stale version", () -> table.updateItem(first));
        var part = Order.of("ada", "001", null, 15);
        part.setVersion(2L);
        System.out.println("nulls ignored: " + table.updateItem(UpdateItemEnhancedRequest.builder(Order.class).item(part)
            .ignoreNullsMode(IgnoreNullsMode.SCALAR_ONLY).build()));
        show("put on a condition", () -> { table.putItem(PutItemEnhancedRequest.builder(Order.class)
            .item(Order.of("ada", "001", "new", 1)).conditionExpression(Expression.builder().expression("attribute_not_exists(id)").build())
            .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD).build()); return null; });
    }

    /** Batches have no conditions, so they need a client without versions. */
    private void writeMany() {
        var plain = DynamoDbEnhancedClient.builder().dynamoDbClient(client).extensions(List.of()).build();
        var batch = WriteBatch.builder(Order.class).mappedTableResource(plain.table(TABLE, SCHEMA));
        for (int n = 2; n <= 26; n++) {
            batch.addPutItem(Order.of(n % 2 == 0 ? "ada" : "bob", String.format("%03d", n), n % 3 == 0 ? "open" : "sent", n * 5));
        }
        var result = plain.batchWriteItem(BatchWriteItemEnhancedRequest.builder().addWriteBatch(batch.build()).build());
        System.out.println("unprocessed: " + result.unprocessedPutItemsForTable(table));
        var read = ReadBatch.builder(Order.class).mappedTableResource(table)
            .addGetItem(key("ada", "002")).addGetItem(key("bob", "003")).addGetItem(key("bob", "none")).build();
        var found = new TreeSet<String>();
        enhanced.batchGetItem(BatchGetItemEnhancedRequest.builder().addReadBatch(read).build()).resultsForTable(table).forEach(o -> found.add(o.toString()));
        System.out.println("batch: " + found);
    }

    private void query() {
        print("sort between", table.query(QueryConditional.sortBetween(key("ada", "004"), key("ada", "010"))).items());
        print("begins with, backwards", table.query(QueryEnhancedRequest.builder().scanIndexForward(false).limit(2)
            .queryConditional(QueryConditional.sortBeginsWith(key("ada", "01"))).build()).items());
        print("filter", table.query(QueryEnhancedRequest.builder().queryConditional(QueryConditional.keyEqualTo(key -> key.partitionValue("bob")))
            .filterExpression(Expression.builder().expression("#status = :open").putExpressionName("#status", "status")
                .putExpressionValue(":open", AttributeValue.fromS("open")).build()).build()).items());
        print("projection", table.query(QueryEnhancedRequest.builder().attributesToProject("customer", "id")
            .queryConditional(QueryConditional.sortLessThan(key("bob", "006"))).build()).items());
        table.query(QueryEnhancedRequest.builder().queryConditional(QueryConditional.keyEqualTo(key -> key.partitionValue("ada"))).limit(5)
            .returnConsumedCapacity(ReturnConsumedCapacity.INDEXES).build()).forEach(page -> System.out.println("page: " + page.items().size()
                + " of " + page.scannedCount() + ", then " + (page.lastEvaluatedKey() == null ? null : new TreeMap<>(page.lastEvaluatedKey()))
                + ", " + page.consumedCapacity().capacityUnits() + " " + page.consumedCapacity().table().capacityUnits()));
        table.index("by-status").query(QueryConditional.sortGreaterThanOrEqualTo(key -> key.partitionValue("open").sortValue(90)))
            .forEach(page -> print("global index", page.items()));
        table.index("by-total").query(QueryConditional.sortGreaterThan(key -> key.partitionValue("ada").sortValue(110)))
            .forEach(page -> print("local index", page.items()));
        var async = new ArrayList<Order>();
        asyncTable.query(QueryConditional.sortBeginsWith(key("ada", "02"))).items().subscribe(async::add).join();
        print("asynchronous", async);
    }

    private void scan() {
        var few = Expression.builder().expression("size(#lines) > :zero OR contains(tags, :gift)").putExpressionName("#lines", "lines")
            .putExpressionValue(":zero", AttributeValue.fromN("0")).putExpressionValue(":gift", AttributeValue.fromS("gift")).build();
        print("scan", table.scan(request -> request.filterExpression(few)).items());
        int all = 0;
        for (int segment = 0; segment < 3; segment++) {
            int number = segment;
            all += table.scan(request -> request.segment(number).totalSegments(3).consistentRead(true)).items().stream().toList().size();
        }
        System.out.println("segments: " + all);
    }

    private void transactions() {
        var moved = table.getItem(key("ada", "002"));
        moved.setStatus("returned");
        enhanced.transactWriteItems(TransactWriteItemsEnhancedRequest.builder().clientRequestToken("sdk-java-v2, once")
            .addUpdateItem(table, moved).addDeleteItem(table, key("bob", "003")).addPutItem(table, Order.of("cyd", "100", "open", 1)).build());
        enhanced.transactGetItems(TransactGetItemsEnhancedRequest.builder().addGetItem(table, key("ada", "002"))
            .addGetItem(table, key("bob", "003")).addGetItem(table, key("cyd", "100")).build())
            .forEach(document -> System.out.println("transaction: " + document.getItem(table)));
        try {
            enhanced.transactWriteItems(TransactWriteItemsEnhancedRequest.builder()
                .addPutItem(table, Order.of("cyd", "101", "open", 1)).addUpdateItem(table, Order.of("ada", "002", "lost", 0)).build());
        } catch (TransactionCanceledException error) {
            System.out.println("transaction with a stale version: " + error.awsErrorDetails().errorMessage());
            error.cancellationReasons().forEach(reason -> System.out.println("  " + reason.code() + " " + reason.message()));
        }
    }

    /** The same table without a class. */
    private void documents() {
        var documents = enhanced.table(TABLE, TableSchema.documentSchemaBuilder()
            .addIndexPartitionKey(TableMetadata.primaryIndexName(), "customer", AttributeValueType.S)
            .addIndexSortKey(TableMetadata.primaryIndexName(), "id", AttributeValueType.S)
            .attributeConverterProviders(AttributeConverterProvider.defaultProvider()).build());
        documents.putItem(EnhancedDocument.fromJson("{\"customer\":\"dan\",\"id\":\"1\",\"deep\":{\"list\":[1,2.50,\"three\",null,true,{\"a\":[]}]},\"empty\":\"\"}"));
        System.out.println("document: " + new TreeMap<>(documents.getItem(key("dan", "1")).toMap()));
    }

    private void delete() {
        show("delete on a condition", () -> table.deleteItem(DeleteItemEnhancedRequest.builder().key(key("ada", "004"))
            .conditionExpression(Expression.builder().expression("#total < :t").putExpressionName("#total", "total")
                .putExpressionValue(":t", AttributeValue.fromN("1")).build()).build()));
        System.out.println("deleted: " + table.deleteItem(key("ada", "004")));
        System.out.println("deleted again: " + table.deleteItem(key("ada", "004")));
    }

    /** What each item went through, item by item: the order between items is that of shards. */
    private void stream() {
        var arn = table.describeTable().table().latestStreamArn();
        var history = new TreeMap<String, List<String>>();
        for (var shard : streams.describeStream(request -> request.streamArn(arn)).streamDescription().shards()) {
            var iterator = streams.getShardIterator(request -> request.streamArn(arn).shardId(shard.shardId())
                .shardIteratorType("TRIM_HORIZON")).shardIterator();
            for (int empty = 0; iterator != null && empty < 2; ) {
                var from = iterator;
                var answer = streams.getRecords(request -> request.shardIterator(from));
                answer.records().forEach(record -> {
                    var change = record.dynamodb();
                    history.computeIfAbsent(change.keys().get("customer").s() + "/" + change.keys().get("id").s(), key -> new ArrayList<>())
                        .add(record.eventNameAsString() + " " + new TreeMap<>(change.newImage()).keySet() + " " + change.streamViewTypeAsString());
                });
                iterator = answer.nextShardIterator();
                empty = answer.records().isEmpty() ? empty + 1 : 0;
            }
        }
        history.forEach((key, events) -> System.out.println("stream " + key + ": " + events));
    }

    private static Key key(String customer, String id) {
        return Key.builder().partitionValue(customer).sortValue(id).build();
    }

    private static void print(String name, Iterable<Order> orders) {
        System.out.println(name + ":");
        orders.forEach(order -> System.out.println("  " + order));
    }

    private static void show(String name, Supplier<Object> action) {
        try {
            System.out.println(name + ": " + action.get());
        } catch (DynamoDbException error) {
            var details = error.awsErrorDetails();
            System.out.println(name + ": " + error.statusCode() + " " + details.errorCode() + ": " + details.errorMessage());
        }
    }
}
