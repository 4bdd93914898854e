import com.amazonaws.services.dynamodbv2.streamsadapter.model.DynamoDBStreamsProcessRecordsInput;
import com.amazonaws.services.dynamodbv2.streamsadapter.processor.DynamoDBStreamsShardRecordProcessor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import software.amazon.awssdk.services.dynamodb.model.Record;
import software.amazon.kinesis.exceptions.InvalidStateException;
import software.amazon.kinesis.exceptions.ShutdownException;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;
import software.amazon.kinesis.processor.ShardRecordProcessor;

/** What the workers were given: the readings of each sensor in their order. */
class Seen {
    private final Map<String, List<Integer>> readings = new TreeMap<>();
    private final Set<String> shards = new TreeSet<>();
    private int ended;

    ShardRecordProcessor processor() {
        return new Processor();
    }

    synchronized int size() {
        return readings.values().stream().mapToInt(List::size).sum();
    }

    /** Whether every sensor's readings came once and in order, through shards that ended. */
    synchronized boolean isComplete(int sensors, int readingsOfEach) {
        readings.forEach((sensor, numbers) -> System.out.println(sensor + ": " + numbers));
        System.out.println("shards: " + shards.size() + ", ended: " + ended);
        var all = IntStream.rangeClosed(1, readingsOfEach).boxed().toList();
        return readings.size() == sensors && readings.values().stream().allMatch(all::equals) && shards.size() > 1 && ended > 0;
    }

    private synchronized void add(Record record) {
        var image = record.dynamodb().newImage();
        readings.computeIfAbsent(image.get("sensor").s(), sensor -> new ArrayList<>()).add(Integer.valueOf(image.get("reading").n()));
    }

    private synchronized void addShard(String shard) {
        shards.add(shard);
    }

    private synchronized void endShard() {
        ended++;
    }

    /** Reads one shard. */
    private class Processor implements DynamoDBStreamsShardRecordProcessor {
        @Override
        public void initialize(InitializationInput input) {
            addShard(input.shardId());
        }

        @Override
        public void processRecords(DynamoDBStreamsProcessRecordsInput input) {
            input.records().forEach(record -> add(record.getRecord()));
            checkpoint(input.checkpointer());
        }

        @Override
        public void leaseLost(LeaseLostInput input) {}

        @Override
        public void shardEnded(ShardEndedInput input) {
            endShard();
            checkpoint(input.checkpointer());
        }

        @Override
        public void shutdownRequested(ShutdownRequestedInput input) {
            checkpoint(input.checkpointer());
        }

        private void checkpoint(RecordProcessorCheckpointer checkpointer) {
            try {
                checkpointer.checkpoint();
            } catch (InvalidStateException | ShutdownException error) {
                throw new IllegalStateException(error);
            }
        }
    }
}
