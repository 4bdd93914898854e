import com.amazonaws.auth.AWSStaticCredentialsProvider;
import com.amazonaws.auth.BasicAWSCredentials;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.sqs.AmazonSQSAsyncClientBuilder;
import com.amazonaws.services.sqs.buffered.AmazonSQSBufferedAsyncClient;
import com.amazonaws.services.sqs.buffered.QueueBufferConfig;
import com.amazonaws.services.sqs.model.ChangeMessageVisibilityRequest;
import com.amazonaws.services.sqs.model.DeleteMessageRequest;
import com.amazonaws.services.sqs.model.GetQueueAttributesRequest;
import com.amazonaws.services.sqs.model.ReceiveMessageRequest;
import com.amazonaws.services.sqs.model.SendMessageRequest;
import com.amazonaws.services.sqs.model.SendMessageResult;
import java.util.ArrayList;
import java.util.TreeSet;
import java.util.concurrent.Future;

/** A queue with the buffered client, which sends, deletes and prefetches in batches by itself. */
public class BufferedQueue {
    private static final int MESSAGES = 250;

    public static void main(String[] arguments) throws Exception {
        var plain = AmazonSQSAsyncClientBuilder.standard()
            .withEndpointConfiguration(new EndpointConfiguration(arguments[0], "us-east-1"))
            .withCredentials(new AWSStaticCredentialsProvider(new BasicAWSCredentials("local", "local"))).build();
        var queue = plain.createQueue("sdk-java-v1-buffered").getQueueUrl();
        var buffered = new AmazonSQSBufferedAsyncClient(plain, new QueueBufferConfig().withMaxBatchOpenMs(50).withLongPollWaitTimeoutSeconds(1));

        var sent = new ArrayList<Future<SendMessageResult>>();
        for (int n = 0; n < MESSAGES; n++) {
            sent.add(buffered.sendMessageAsync(new SendMessageRequest(queue, String.format("message %03d", n))));
        }
        var ids = new TreeSet<String>();
        for (var result : sent) {
            ids.add(result.get().getMessageId());
        }
        System.out.println("sent: " + ids.size());

        var received = new TreeSet<String>();
        var until = System.currentTimeMillis() + 60_000;
        var deletions = new ArrayList<Future<?>>();
        while (received.size() < MESSAGES && System.currentTimeMillis() < until) {
            for (var message : buffered.receiveMessage(new ReceiveMessageRequest(queue).withMaxNumberOfMessages(1)).getMessages()) {
                received.add(message.getBody());
                buffered.changeMessageVisibilityAsync(new ChangeMessageVisibilityRequest(queue, message.getReceiptHandle(), 60)).get();
                deletions.add(buffered.deleteMessageAsync(new DeleteMessageRequest(queue, message.getReceiptHandle())));
            }
        }
        for (var deletion : deletions) {
            deletion.get();
        }
        System.out.println("received: " + received.size() + ", deletions: " + deletions.size() + ", first " + received.first() + ", last " + received.last());
        var attributes = plain.getQueueAttributes(new GetQueueAttributesRequest(queue).withAttributeNames("All")).getAttributes();
        var visible = attributes.get("ApproximateNumberOfMessages");
        var inFlight = attributes.get("ApproximateNumberOfMessagesNotVisible");
        System.out.println("left: " + visible + " visible, " + inFlight + " in flight");
        plain.deleteQueue(queue);
        buffered.shutdown();
        plain.shutdown();
        System.exit(ids.size() == MESSAGES && received.size() == MESSAGES && visible.equals("0") && inFlight.equals("0") ? 0 : 1);
    }
}
