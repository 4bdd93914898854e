import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBAttribute;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBHashKey;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBIndexHashKey;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBIndexRangeKey;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBRangeKey;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBTable;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBVersionAttribute;
import java.util.Set;
import java.util.TreeSet;

@DynamoDBTable(tableName = "sdk-java-v1-orders")
public class Order {
    private String customer;
    private String id;
    private String status;
    private Integer total;
    private Set<String> tags;
    private Long version;

    public Order() {}

    Order(String customer, String id, String status, int total, Set<String> tags) {
        this.customer = customer;
        this.id = id;
        this.status = status;
        this.total = total;
        this.tags = tags;
    }

    @DynamoDBHashKey
    public String getCustomer() { return customer; }
    public void setCustomer(String customer) { this.customer = customer; }

    @DynamoDBRangeKey
    public String getId() { return id; }
    public void setId(String id) { this.id = id; }

    @DynamoDBIndexHashKey(globalSecondaryIndexName = "by-status")
    public String getStatus() { return status; }
    public void setStatus(String status) { this.status = status; }

    @DynamoDBIndexRangeKey(globalSecondaryIndexName = "by-status", localSecondaryIndexName = "by-total")
    public Integer getTotal() { return total; }
    public void setTotal(Integer total) { this.total = total; }

    @DynamoDBAttribute
    public Set<String> getTags() { return tags; }
    public void setTags(Set<String> tags) { this.tags = tags; }

    @DynamoDBVersionAttribute
    public Long getVersion() { return version; }
    public void setVersion(Long version) { this.version = version; }

    @Override
    public String toString() {
        return customer + "/" + id + " " + status + " " + total + " " + (tags == null ? "-" : new TreeSet<>(tags)) + " v" + version;
    }
}
