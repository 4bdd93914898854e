import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import software.amazon.awssdk.enhanced.dynamodb.extensions.annotations.DynamoDbAtomicCounter;
import software.amazon.awssdk.enhanced.dynamodb.extensions.annotations.DynamoDbVersionAttribute;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbAttribute;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbBean;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSecondaryPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSecondarySortKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSortKey;

@DynamoDbBean
public class Order {
    private String customer;
    private String id;
    private String status;
    private Integer total;
    private Set<String> tags;
    private List<Line> lines;
    private Map<String, Integer> notes;
    private Instant placed;
    private Long version;
    private Long saves;

    /** A part of an order, stored as a map. */
    @DynamoDbBean
    public static class Line {
        private String product;
        private Integer count;

        public String getProduct() { return product; }
        public void setProduct(String product) { this.product = product; }
        public Integer getCount() { return count; }
        public void setCount(Integer count) { this.count = count; }

        @Override
        public String toString() { return count + " × " + product; }
    }

    static Order of(String customer, String id, String status, Integer total) {
        var order = new Order();
        order.customer = customer;
        order.id = id;
        order.status = status;
        order.total = total;
        return order;
    }

    static Line line(String product, int count) {
        var line = new Line();
        line.product = product;
        line.count = count;
        return line;
    }

    @DynamoDbPartitionKey
    public String getCustomer() { return customer; }
    public void setCustomer(String customer) { this.customer = customer; }

    @DynamoDbSortKey
    public String getId() { return id; }
    public void setId(String id) { this.id = id; }

    @DynamoDbSecondaryPartitionKey(indexNames = "by-status")
    public String getStatus() { return status; }
    public void setStatus(String status) { this.status = status; }

    @DynamoDbSecondarySortKey(indexNames = {"by-status", "by-total"})
    public Integer getTotal() { return total; }
    public void setTotal(Integer total) { this.total = total; }

    public Set<String> getTags() { return tags; }
    public void setTags(Set<String> tags) { this.tags = tags; }

    public List<Line> getLines() { return lines; }
    public void setLines(List<Line> lines) { this.lines = lines; }

    public Map<String, Integer> getNotes() { return notes; }
    public void setNotes(Map<String, Integer> notes) { this.notes = notes; }

    @DynamoDbAttribute("placed_at")
    public Instant getPlaced() { return placed; }
    public void setPlaced(Instant placed) { this.placed = placed; }

    @DynamoDbVersionAttribute
    public Long getVersion() { return version; }
    public void setVersion(Long version) { this.version = version; }

    @DynamoDbAtomicCounter
    public Long getSaves() { return saves; }
    public void setSaves(Long saves) { this.saves = saves; }

    @Override
    public String toString() {
        return customer + "/" + id + " " + status + " " + total + " " + (tags == null ? "-" : new java.util.TreeSet<>(tags)) + " " + lines
            + " " + notes + " " + placed + " v" + version + " saved " + saves;
    }
}
