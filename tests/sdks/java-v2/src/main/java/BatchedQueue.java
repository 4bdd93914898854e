import java.net.URI;
import java.util.ArrayList;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.model.SendMessageResponse;

/** A queue with the batch manager, the buffered client of this SDK. */
public class BatchedQueue {
    private static final int MESSAGES = 250;

    public static void main(String[] arguments) {
        var client = SqsAsyncClient.builder().endpointOverride(URI.create(arguments[0])).region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local"))).build();
        var queue = client.createQueue(request -> request.queueName("sdk-java-v2-batched")).join().queueUrl();
        var manager = client.batchManager();

        var sent = new ArrayList<CompletableFuture<SendMessageResponse>>();
        for (int n = 0; n < MESSAGES; n++) {
            var body = String.format("message %03d", n);
            sent.add(manager.sendMessage(request -> request.queueUrl(queue).messageBody(body)));
        }
        var ids = new TreeSet<String>();
        sent.forEach(result -> ids.add(result.join().messageId()));
        System.out.println("sent: " + ids.size());

        var received = new TreeSet<String>();
        var deletions = new ArrayList<CompletableFuture<?>>();
        var until = System.currentTimeMillis() + 60_000;
        while (received.size() < MESSAGES && System.currentTimeMillis() < until) {
            for (var message : manager.receiveMessage(request -> request.queueUrl(queue)).join().messages()) {
                received.add(message.body());
                manager.changeMessageVisibility(request -> request.queueUrl(queue).receiptHandle(message.receiptHandle()).visibilityTimeout(60)).join();
                deletions.add(manager.deleteMessage(request -> request.queueUrl(queue).receiptHandle(message.receiptHandle())));
            }
        }
        deletions.forEach(CompletableFuture::join);
        System.out.println("received: " + received.size() + ", deletions: " + deletions.size());
        var left = client.getQueueAttributes(request -> request.queueUrl(queue).attributeNamesWithStrings("ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible")).join().attributesAsStrings();
        System.out.println("left: " + new TreeMap<>(left));
        manager.close();
        client.deleteQueue(request -> request.queueUrl(queue)).join();
        client.close();
        System.exit(ids.size() == MESSAGES && received.size() == MESSAGES && left.values().stream().allMatch("0"::equals) ? 0 : 1);
    }
}
