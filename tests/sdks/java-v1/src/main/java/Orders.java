import com.amazonaws.AmazonServiceException;
import com.amazonaws.auth.AWSStaticCredentialsProvider;
import com.amazonaws.auth.BasicAWSCredentials;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDB;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBClientBuilder;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBStreams;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBStreamsClientBuilder;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBDeleteExpression;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapper;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapperConfig;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBQueryExpression;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBSaveExpression;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBScanExpression;
import com.amazonaws.services.dynamodbv2.datamodeling.TransactionLoadRequest;
import com.amazonaws.services.dynamodbv2.datamodeling.TransactionWriteRequest;
import com.amazonaws.services.dynamodbv2.model.AttributeValue;
import com.amazonaws.services.dynamodbv2.model.ComparisonOperator;
import com.amazonaws.services.dynamodbv2.model.Condition;
import com.amazonaws.services.dynamodbv2.model.DescribeStreamRequest;
import com.amazonaws.services.dynamodbv2.model.ExpectedAttributeValue;
import com.amazonaws.services.dynamodbv2.model.GetRecordsRequest;
import com.amazonaws.services.dynamodbv2.model.GetShardIteratorRequest;
import com.amazonaws.services.dynamodbv2.model.Projection;
import com.amazonaws.services.dynamodbv2.model.ProjectionType;
import com.amazonaws.services.dynamodbv2.model.ProvisionedThroughput;
import com.amazonaws.services.dynamodbv2.model.ReturnConsumedCapacity;
import com.amazonaws.services.dynamodbv2.model.StreamSpecification;
import com.amazonaws.services.dynamodbv2.model.StreamViewType;
import com.amazonaws.services.dynamodbv2.model.TransactionCanceledException;
import com.amazonaws.services.dynamodbv2.util.TableUtils;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Orders of customers with DynamoDBMapper, from the table to its stream. Prints what it sees. */
public class Orders {
    private static final String TABLE = "sdk-java-v1-orders";

    private final AmazonDynamoDB client;
    private final AmazonDynamoDBStreams streams;
    private final DynamoDBMapper mapper;

    private Orders(String endpoint) {
        var credentials = new AWSStaticCredentialsProvider(new BasicAWSCredentials("local", "local"));
        var where = new EndpointConfiguration(endpoint, "us-east-1");
        client = AmazonDynamoDBClientBuilder.standard().withEndpointConfiguration(where).withCredentials(credentials).build();
        streams = AmazonDynamoDBStreamsClientBuilder.standard().withEndpointConfiguration(where).withCredentials(credentials).build();
        mapper = new DynamoDBMapper(client);
    }

    public static void main(String[] arguments) throws Exception {
        var orders = new Orders(arguments[0]);
        orders.createTable();
        orders.saveVersions();
        orders.saveMany();
        orders.query();
        orders.scan();
        orders.transactions();
        orders.delete();
        orders.stream();
        orders.client.deleteTable(TABLE);
        orders.refused("load without a table", () -> orders.mapper.load(Order.class, "ada", "1"));
    }

    private void createTable() throws InterruptedException {
        var throughput = new ProvisionedThroughput(5L, 5L);
        var request = mapper.generateCreateTableRequest(Order.class).withProvisionedThroughput(throughput)
            .withStreamSpecification(new StreamSpecification().withStreamEnabled(true).withStreamViewType(StreamViewType.NEW_AND_OLD_IMAGES));
        for (var index : request.getGlobalSecondaryIndexes()) {
            index.withProvisionedThroughput(throughput).withProjection(new Projection().withProjectionType(ProjectionType.ALL));
        }
        System.out.println("created: " + TableUtils.createTableIfNotExists(client, request));
        TableUtils.waitUntilActive(client, TABLE);
        System.out.println("created again: " + TableUtils.createTableIfNotExists(client, request));
        var table = client.describeTable(TABLE).getTable();
        System.out.println(table.getTableStatus() + " " + table.getKeySchema() + " " + table.getBillingModeSummary());
        System.out.println(table.getGlobalSecondaryIndexes().get(0).getKeySchema() + " " + table.getLocalSecondaryIndexes().get(0).getProjection());
    }

    private void saveVersions() {
        var order = new Order("ada", "001", "open", 10, Set.of("gift", "new"));
        mapper.save(order);
        var stale = mapper.load(Order.class, "ada", "001");
        order.setTotal(12);
        mapper.save(order);
        System.out.println("saved twice: " + order);
        stale.setTotal(11);
        refused("save of a stale version", () -> mapper.save(stale));
        refused("save with an expectation", () -> mapper.save(order, new DynamoDBSaveExpression()
            .withExpectedEntry("status", new ExpectedAttributeValue(new AttributeValue("closed")))));
        var skip = DynamoDBMapperConfig.builder().withSaveBehavior(DynamoDBMapperConfig.SaveBehavior.UPDATE_SKIP_NULL_ATTRIBUTES).build();
        order.setTags(null);
        mapper.save(order, skip);
        System.out.println("null attributes skipped: " + mapper.load(Order.class, "ada", "001"));
        mapper.save(order, DynamoDBMapperConfig.builder().withSaveBehavior(DynamoDBMapperConfig.SaveBehavior.CLOBBER).build());
        System.out.println("clobbered: " + mapper.load(Order.class, "ada", "001"));
    }

    private void saveMany() {
        var many = new ArrayList<Order>();
        for (int n = 2; n <= 40; n++) {
            many.add(new Order(n % 2 == 0 ? "ada" : "bob", String.format("%03d", n), n % 3 == 0 ? "open" : "sent", n * 5, null));
        }
        System.out.println("batch save failures: " + mapper.batchSave(many));
        var keys = List.of(new Order("ada", "002", null, 0, null), new Order("bob", "003", null, 0, null), new Order("bob", "none", null, 0, null));
        var loaded = new TreeMap<String, Object>();
        mapper.batchLoad(keys).get(TABLE).forEach(order -> loaded.put(order.toString(), ""));
        System.out.println("batch load: " + loaded.keySet());
    }

    private void query() {
        var ada = new Order();
        ada.setCustomer("ada");
        var range = new Condition().withComparisonOperator(ComparisonOperator.BETWEEN)
            .withAttributeValueList(new AttributeValue("004"), new AttributeValue("020"));
        print("key conditions and a filter expression", mapper.query(Order.class, new DynamoDBQueryExpression<Order>()
            .withHashKeyValues(ada).withRangeKeyCondition("id", range)
            .withFilterExpression("#s = :open").withExpressionAttributeNames(Map.of("#s", "status"))
            .withExpressionAttributeValues(Map.of(":open", new AttributeValue("open")))));
        print("key conditions and a query filter", mapper.query(Order.class, new DynamoDBQueryExpression<Order>()
            .withHashKeyValues(ada).withRangeKeyCondition("id", range).withScanIndexForward(false)
            .withQueryFilterEntry("total", new Condition().withComparisonOperator(ComparisonOperator.GT)
                .withAttributeValueList(new AttributeValue().withN("60")))));
        print("key conditions and a projection", mapper.query(Order.class, new DynamoDBQueryExpression<Order>()
            .withHashKeyValues(ada).withRangeKeyCondition("id", range).withProjectionExpression("id, customer")));
        print("local index", mapper.query(Order.class, new DynamoDBQueryExpression<Order>().withIndexName("by-total")
            .withHashKeyValues(ada).withRangeKeyCondition("total", new Condition().withComparisonOperator(ComparisonOperator.GE)
                .withAttributeValueList(new AttributeValue().withN("170")))));
        var open = new Order();
        open.setStatus("open");
        print("global index", mapper.query(Order.class, new DynamoDBQueryExpression<Order>().withIndexName("by-status")
            .withConsistentRead(false).withHashKeyValues(open).withLimit(4)));
        System.out.println("count: " + mapper.count(Order.class, new DynamoDBQueryExpression<Order>().withHashKeyValues(ada)));
        var page = mapper.queryPage(Order.class, new DynamoDBQueryExpression<Order>().withHashKeyValues(ada).withLimit(3)
            .withReturnConsumedCapacity(ReturnConsumedCapacity.TOTAL));
        System.out.println("page: " + page.getCount() + " of " + page.getScannedCount() + ", then " + page.getLastEvaluatedKey()
            + ", " + page.getConsumedCapacity().getCapacityUnits());
        refused("consistent read of a global index", () -> mapper.query(Order.class, new DynamoDBQueryExpression<Order>()
            .withIndexName("by-status").withHashKeyValues(open).withConsistentRead(true)).size());
    }

    private void scan() {
        var many = new DynamoDBScanExpression().withFilterExpression("#t > :t").withExpressionAttributeNames(Map.of("#t", "total"))
            .withExpressionAttributeValues(Map.of(":t", new AttributeValue().withN("100")));
        System.out.println("scan: " + mapper.scan(Order.class, many).size() + ", parallel " + mapper.parallelScan(Order.class, many, 3).size()
            + ", count " + mapper.count(Order.class, many));
        var filtered = new DynamoDBScanExpression().withFilterConditionEntry("status",
            new Condition().withComparisonOperator(ComparisonOperator.BEGINS_WITH).withAttributeValueList(new AttributeValue("o")));
        System.out.println("scan with conditions: " + mapper.count(Order.class, filtered));
    }

    private void transactions() {
        var moved = mapper.load(Order.class, "ada", "002");
        moved.setStatus("returned");
        var gone = mapper.load(Order.class, "bob", "003");
        mapper.transactionWrite(new TransactionWriteRequest().addUpdate(moved).addDelete(gone)
            .addPut(new Order("cyd", "100", "open", 1, Set.of("first"))));
        var loaded = mapper.transactionLoad(new TransactionLoadRequest().addLoad(moved).addLoad(gone).addLoad(new Order("cyd", "100", null, 0, null)));
        System.out.println("transaction: " + loaded);
        var stale = mapper.load(Order.class, "ada", "004");
        mapper.save(mapper.load(Order.class, "ada", "004"));
        try {
            mapper.transactionWrite(new TransactionWriteRequest().addUpdate(stale).addPut(new Order("cyd", "101", "open", 1, null)));
        } catch (TransactionCanceledException error) {
            System.out.println("transaction with a stale version: " + error.getErrorMessage());
            error.getCancellationReasons().forEach(reason -> System.out.println("  " + reason.getCode() + " " + reason.getMessage()));
        }
    }

    private void delete() {
        var order = mapper.load(Order.class, "ada", "006");
        refused("delete with an expectation", () -> mapper.delete(order, new DynamoDBDeleteExpression()
            .withExpectedEntry("status", new ExpectedAttributeValue(new AttributeValue("lost")))));
        mapper.delete(order);
        System.out.println("deleted: " + mapper.load(Order.class, "ada", "006"));
        var rest = mapper.scan(Order.class, new DynamoDBScanExpression());
        System.out.println("batch delete failures: " + mapper.batchDelete(rest));
        System.out.println("left: " + mapper.count(Order.class, new DynamoDBScanExpression()));
    }

    /** What each item went through, item by item: the order between items is that of shards. */
    private void stream() {
        var arn = client.describeTable(TABLE).getTable().getLatestStreamArn();
        var history = new TreeMap<String, List<String>>();
        for (var shard : streams.describeStream(new DescribeStreamRequest().withStreamArn(arn)).getStreamDescription().getShards()) {
            var iterator = streams.getShardIterator(new GetShardIteratorRequest().withStreamArn(arn).withShardId(shard.getShardId())
                .withShardIteratorType("TRIM_HORIZON")).getShardIterator();
            for (int empty = 0; iterator != null && empty < 2; ) {
                var answer = streams.getRecords(new GetRecordsRequest().withShardIterator(iterator));
                answer.getRecords().forEach(record -> {
                    var change = record.getDynamodb();
                    var key = change.getKeys().get("customer").getS() + "/" + change.getKeys().get("id").getS();
                    history.computeIfAbsent(key, k -> new ArrayList<>()).add(record.getEventName()
                        + version(change.getOldImage()) + ">" + version(change.getNewImage()));
                });
                iterator = answer.getNextShardIterator();
                empty = answer.getRecords().isEmpty() ? empty + 1 : 0;
            }
        }
        history.forEach((key, events) -> System.out.println("stream " + key + ": " + events));
    }

    private static String version(Map<String, AttributeValue> image) {
        return image == null ? " -" : " " + (image.containsKey("version") ? image.get("version").getN() : "none");
    }

    private static void print(String name, List<Order> orders) {
        System.out.println(name + ":");
        orders.forEach(order -> System.out.println("  " + order));
    }

    private void refused(String name, Runnable action) {
        try {
            action.run();
            System.out.println(name + ": done");
        } catch (AmazonServiceException error) {
            System.out.println(name + ": " + error.getStatusCode() + " " + error.getErrorCode() + ": " + error.getErrorMessage());
        }
    }
}
