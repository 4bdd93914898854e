package mail;

import io.awspring.cloud.sqs.annotation.SqsListener;
import io.awspring.cloud.sqs.listener.acknowledgement.Acknowledgement;
import io.awspring.cloud.sqs.operations.SqsTemplate;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.support.GenericMessage;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;

/** A Spring application that sends mails and listens for them: one by one, in batches, from a FIFO queue, and with failures. */
@SpringBootApplication
public class Mail {
    private static final int LETTERS = 100;

    private final Queue<String> letters = new ConcurrentLinkedQueue<>();
    private final Queue<String> parcels = new ConcurrentLinkedQueue<>();
    private final Queue<String> pages = new ConcurrentLinkedQueue<>();
    private final Queue<String> failing = new ConcurrentLinkedQueue<>();

    /** What is sent as JSON. */
    public record Letter(String to, int number) {}

    public static void main(String[] arguments) throws Exception {
        try (var context = SpringApplication.run(Mail.class, "--spring.cloud.aws.endpoint=" + arguments[0])) {
            var isDone = context.getBean(Mail.class).run(context.getBean(SqsTemplate.class), context.getBean(SqsAsyncClient.class));
            context.close();
            System.exit(isDone ? 0 : 1);
        }
    }

    @SqsListener("sdk-spring-letters")
    void letter(Letter letter, @Header("priority") String priority) {
        letters.add(letter.to() + " " + letter.number() + " " + priority);
    }

    @SqsListener(value = "sdk-spring-parcels", maxMessagesPerPoll = "10", maxConcurrentMessages = "20")
    void parcels(List<String> batch) {
        parcels.addAll(batch);
    }

    @SqsListener("sdk-spring-pages.fifo")
    void page(String page) {
        pages.add(page);
    }

    /** Fails the first time, so that the message comes again; acknowledges by hand. */
    @SqsListener(value = "sdk-spring-failing", acknowledgementMode = "MANUAL", messageVisibilitySeconds = "1")
    void fail(String body, Acknowledgement acknowledgement) {
        failing.add(body);
        if (failing.size() == 1) {
            throw new IllegalStateException("the first attempt fails");
        }
        acknowledgement.acknowledge();
    }

    private boolean run(SqsTemplate template, SqsAsyncClient client) throws InterruptedException {
        for (int n = 0; n < LETTERS; n++) {
            var letter = new Letter("ada", n);
            template.send(to -> to.queue("sdk-spring-letters").payload(letter).header("priority", "high"));
        }
        template.sendMany("sdk-spring-parcels", List.of(new GenericMessage<>("one"), new GenericMessage<>("two"), new GenericMessage<>("three")));
        for (int n = 0; n < 10; n++) {
            var page = "page-" + n;
            template.send(to -> to.queue("sdk-spring-pages.fifo").payload(page).messageGroupId("book").messageDeduplicationId(page));
        }
        template.send("sdk-spring-failing", "letter bomb");
        var isDone = waitFor(() -> letters.size() >= LETTERS && parcels.size() >= 3 && pages.size() >= 10 && failing.size() >= 2);
        System.out.println("letters: " + new TreeSet<>(letters).size() + " " + new TreeSet<>(letters).first());
        System.out.println("parcels: " + new TreeSet<>(parcels));
        System.out.println("pages: " + pages);
        System.out.println("failing: " + failing);
        var areEmpty = waitFor(() -> List.of("sdk-spring-letters", "sdk-spring-parcels", "sdk-spring-pages.fifo", "sdk-spring-failing").stream()
            .allMatch(queue -> isEmpty(client, queue)));
        System.out.println("all acknowledged: " + areEmpty);
        client.sendMessage(request -> request.queueUrl(url(client, "sdk-spring-replies")).messageBody("by hand")).join();
        var reply = template.receive(from -> from.queue("sdk-spring-replies").pollTimeout(Duration.ofSeconds(5)), String.class);
        System.out.println("received by hand: " + reply.map(message -> message.getPayload()).orElse("nothing"));
        var isInOrder = List.copyOf(pages).equals(List.of("page-0", "page-1", "page-2", "page-3", "page-4", "page-5", "page-6", "page-7", "page-8", "page-9"));
        return isDone && areEmpty && isInOrder && reply.isPresent();
    }

    private static String url(SqsAsyncClient client, String queue) {
        return client.createQueue(request -> request.queueName(queue)).join().queueUrl();
    }

    private static boolean isEmpty(SqsAsyncClient client, String queue) {
        var url = client.getQueueUrl(request -> request.queueName(queue)).join().queueUrl();
        var counts = client.getQueueAttributes(request -> request.queueUrl(url).attributeNames(QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES,
            QueueAttributeName.APPROXIMATE_NUMBER_OF_MESSAGES_NOT_VISIBLE)).join().attributesAsStrings();
        return counts.equals(Map.of("ApproximateNumberOfMessages", "0", "ApproximateNumberOfMessagesNotVisible", "0"));
    }

    private static boolean waitFor(BooleanSupplier condition) throws InterruptedException {
        for (var until = System.currentTimeMillis() + 60_000; System.currentTimeMillis() < until; TimeUnit.MILLISECONDS.sleep(100)) {
            if (condition.getAsBoolean()) {
                return true;
            }
        }
        return false;
    }
}
