import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsSchedulerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.polling.DynamoDBStreamsPollingConfig;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.PutItemRequest;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.metrics.NullMetricsFactory;

/**
 * A worker of the Kinesis client library reads the changes of a table, is stopped, and a second one goes on where it was. The values are
 * large, so that a server that splits shards by size splits some.
 *
 * Against Trestle only: the adapter refuses the stream ARNs of DynamoDB Local, because "ddblocal" is no region.
 */
public class Changes {
    private static final String TABLE = "sdk-kcl-readings";
    private static final int SENSORS = 10;
    private static final int READINGS = 20;
    private static final String PAYLOAD = "x".repeat(10_000);

    private final Seen seen = new Seen();
    private final DynamoDbClient client;
    private final DynamoDbAsyncClient leases;
    private final CloudWatchAsyncClient metrics;
    private final AmazonDynamoDBStreamsAdapterClient adapter;

    private Changes(URI endpoint) {
        var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local"));
        var region = Region.US_EAST_1;
        client = DynamoDbClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(credentials).build();
        leases = DynamoDbAsyncClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(credentials).build();
        metrics = CloudWatchAsyncClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(credentials).build();
        adapter = new AmazonDynamoDBStreamsAdapterClient(
            DynamoDbStreamsClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(credentials).build(), region);
    }

    public static void main(String[] arguments) throws Exception {
        var changes = new Changes(URI.create(arguments[0]));
        var stream = changes.createTable();
        changes.writeReadings(1);
        changes.read(stream, "first worker", 1);
        changes.writeReadings(2);
        changes.read(stream, "second worker", 2);
        System.exit(changes.seen.isComplete(SENSORS, 2 * READINGS) ? 0 : 1);
    }

    private String createTable() {
        client.createTable(table -> table.tableName(TABLE).billingMode(BillingMode.PAY_PER_REQUEST)
            .attributeDefinitions(a -> a.attributeName("sensor").attributeType(ScalarAttributeType.S))
            .keySchema(k -> k.attributeName("sensor").keyType(KeyType.HASH))
            .streamSpecification(s -> s.streamEnabled(true).streamViewType(StreamViewType.NEW_IMAGE)));
        return client.waiter().waitUntilTableExists(r -> r.tableName(TABLE)).matched().response().get().table().latestStreamArn();
    }

    private void writeReadings(int round) throws InterruptedException {
        for (int n = 1; n <= READINGS; n++) {
            for (int sensor = 0; sensor < SENSORS; sensor++) {
                client.putItem(put(sensor, (round - 1) * READINGS + n));
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
    }

    private static PutItemRequest put(int sensor, int reading) {
        return PutItemRequest.builder().tableName(TABLE).item(Map.of(
            "sensor", AttributeValue.fromS("sensor " + sensor), "reading", AttributeValue.fromN(String.valueOf(reading)),
            "payload", AttributeValue.fromS(PAYLOAD))).build();
    }

    private void read(String stream, String worker, int rounds) throws Exception {
        var scheduler = scheduler(stream, worker);
        var thread = new Thread(scheduler);
        thread.setDaemon(true);
        thread.start();
        var until = System.currentTimeMillis() + 240_000;
        while (seen.size() < rounds * SENSORS * READINGS && System.currentTimeMillis() < until) {
            TimeUnit.MILLISECONDS.sleep(200);
        }
        System.out.println(worker + ": " + seen.size() + " changes, stopped: " + scheduler.startGracefulShutdown().get(60, TimeUnit.SECONDS));
    }

    private Scheduler scheduler(String stream, String worker) {
        var tracker = StreamsSchedulerFactory.createSingleStreamTracker(stream,
            InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON));
        var configs = new ConfigsBuilder(tracker, "sdk-kcl", adapter, leases, metrics, worker, seen::processor);
        var polling = new DynamoDBStreamsPollingConfig(adapter);
        polling.idleTimeBetweenReadsInMillis(500);
        var coordinator = configs.coordinatorConfig();
        coordinator.parentShardPollIntervalMillis(1000);
        return StreamsSchedulerFactory.createScheduler(configs.checkpointConfig(), coordinator,
            configs.leaseManagementConfig().failoverTimeMillis(3000).shardSyncIntervalMillis(2000).leasesRecoveryAuditorExecutionFrequencyMillis(2000),
            configs.lifecycleConfig(), configs.metricsConfig().metricsFactory(new NullMetricsFactory()), configs.processorConfig(),
            configs.retrievalConfig().retrievalSpecificConfig(polling), adapter);
    }
}
