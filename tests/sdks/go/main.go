// Orders of customers with the AWS SDK for Go v2, its expression builder and attributevalue, from the table to its stream. Prints what it sees.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
)

const table = "sdk-go-orders"

// Line is a part of an order.
type Line struct {
	Product string `dynamodbav:"product"`
	Count   int    `dynamodbav:"count"`
}

// Order is an item of the table.
type Order struct {
	Customer string            `dynamodbav:"customer"`
	ID       string            `dynamodbav:"id"`
	Status   string            `dynamodbav:"status,omitempty"`
	Total    float64           `dynamodbav:"total"`
	Tags     []string          `dynamodbav:"tags,stringset,omitempty"`
	Lines    []Line            `dynamodbav:"lines,omitempty"`
	Notes    map[string]string `dynamodbav:"notes,omitempty"`
	Placed   time.Time         `dynamodbav:"placed,unixtime"`
	Photo    []byte            `dynamodbav:"photo,omitempty"`
	Paid     *bool             `dynamodbav:"paid"`
}

type program struct {
	ctx     context.Context
	client  *dynamodb.Client
	streams *dynamodbstreams.Client
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-east-1"), config.WithBaseEndpoint(os.Args[1]),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")))
	check(err)
	p := program{ctx, dynamodb.NewFromConfig(settings), dynamodbstreams.NewFromConfig(settings)}
	p.createTable()
	p.write()
	p.update()
	p.query()
	p.scan()
	p.batches()
	p.transactions()
	p.statements()
	p.stream()
	p.dropTable()
}

func (p program) createTable() {
	created, err := p.client.CreateTable(p.ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(table),
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("status"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("total"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: keys("customer", "id"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("by-status"), KeySchema: keys("status", "total"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"tags"}}}},
		BillingMode:         types.BillingModePayPerRequest,
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	check(err)
	fmt.Println("created:", *created.TableDescription.TableName, created.TableDescription.BillingModeSummary.BillingMode)
	check(dynamodb.NewTableExistsWaiter(p.client).Wait(p.ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute))
	_, err = p.client.UpdateTimeToLive(p.ctx, &dynamodb.UpdateTimeToLiveInput{TableName: aws.String(table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)}})
	check(err)
}

func (p program) write() {
	yes := true
	order := Order{Customer: "ada", ID: "001", Status: "open", Total: 10.5, Tags: []string{"gift", "new"}, Lines: []Line{{"pen", 2}, {"ink", 1}},
		Notes: map[string]string{"door": "left", "empty": ""}, Placed: time.Unix(1795000000, 0), Photo: []byte{0, 255, 7}, Paid: &yes}
	item, err := attributevalue.MarshalMap(order)
	check(err)
	notThere, err := expression.NewBuilder().WithCondition(expression.AttributeNotExists(expression.Name("id"))).Build()
	check(err)
	put := &dynamodb.PutItemInput{TableName: aws.String(table), Item: item, ConditionExpression: notThere.Condition(),
		ExpressionAttributeNames: notThere.Names(), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	answer, err := p.client.PutItem(p.ctx, put)
	check(err)
	fmt.Println("put:", *answer.ConsumedCapacity.CapacityUnits)
	_, err = p.client.PutItem(p.ctx, put)
	refused("put again", err)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		fmt.Println("  the item:", show(failed.Item))
	}
	for n := 2; n <= 12; n++ {
		item, err := attributevalue.MarshalMap(Order{Customer: []string{"ada", "bob"}[n%2], ID: fmt.Sprintf("%03d", n),
			Status: []string{"open", "sent", "sent"}[n%3], Total: float64(n) * 1.5, Placed: time.Unix(1795000000, 0)})
		check(err)
		_, err = p.client.PutItem(p.ctx, &dynamodb.PutItemInput{TableName: aws.String(table), Item: item})
		check(err)
	}
	got, err := p.client.GetItem(p.ctx, &dynamodb.GetItemInput{TableName: aws.String(table), Key: key("ada", "001"), ConsistentRead: aws.Bool(true)})
	check(err)
	fmt.Println("got:", show(got.Item))
}

func (p program) update() {
	built, err := expression.NewBuilder().
		WithUpdate(expression.Set(expression.Name("total"), expression.Name("total").Plus(expression.Value(2.25))).
			Set(expression.Name("notes.door"), expression.Value("right")).
			Set(expression.Name("lines"), expression.ListAppend(expression.Name("lines"), expression.Value([]Line{{"nib", 3}}))).
			Set(expression.Name("seen"), expression.IfNotExists(expression.Name("seen"), expression.Value(0))).
			Add(expression.Name("tags"), expression.Value(&types.AttributeValueMemberSS{Value: []string{"rush"}})).
			Remove(expression.Name("photo"))).
		WithCondition(expression.Name("status").In(expression.Value("open"), expression.Value("sent")).
			And(expression.Name("lines[0].product").BeginsWith("p"), expression.Size(expression.Name("tags")).GreaterThan(expression.Value(1)))).
		Build()
	check(err)
	input := &dynamodb.UpdateItemInput{TableName: aws.String(table), Key: key("ada", "001"), UpdateExpression: built.Update(),
		ConditionExpression: built.Condition(), ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values(),
		ReturnValues: types.ReturnValueUpdatedNew}
	answer, err := p.client.UpdateItem(p.ctx, input)
	check(err)
	fmt.Println("updated:", show(answer.Attributes))
	input.Key = key("ada", "none")
	_, err = p.client.UpdateItem(p.ctx, input)
	refused("update of nothing", err)
}

func (p program) query() {
	built, err := expression.NewBuilder().WithKeyCondition(expression.KeyEqual(expression.Key("customer"), expression.Value("ada")).
		And(expression.KeyBetween(expression.Key("id"), expression.Value("001"), expression.Value("008")))).
		WithFilter(expression.Name("status").NotEqual(expression.Value("sent")).Or(expression.Name("total").GreaterThan(expression.Value(5)))).
		WithProjection(expression.NamesList(expression.Name("id"), expression.Name("status"), expression.Name("lines[0]"))).Build()
	check(err)
	pages := dynamodb.NewQueryPaginator(p.client, &dynamodb.QueryInput{TableName: aws.String(table), KeyConditionExpression: built.KeyCondition(),
		FilterExpression: built.Filter(), ProjectionExpression: built.Projection(), ExpressionAttributeNames: built.Names(),
		ExpressionAttributeValues: built.Values(), Limit: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(p.ctx)
		check(err)
		fmt.Println("page:", page.Count, "of", page.ScannedCount, "then", show(page.LastEvaluatedKey))
		for _, item := range page.Items {
			fmt.Println("  ", show(item))
		}
	}
	built, err = expression.NewBuilder().WithKeyCondition(expression.KeyEqual(expression.Key("status"), expression.Value("sent")).
		And(expression.KeyLessThan(expression.Key("total"), expression.Value(12)))).Build()
	check(err)
	input := &dynamodb.QueryInput{TableName: aws.String(table), IndexName: aws.String("by-status"), ScanIndexForward: aws.Bool(false),
		KeyConditionExpression: built.KeyCondition(), ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values()}
	index, err := p.client.Query(p.ctx, input)
	check(err)
	for _, item := range index.Items {
		fmt.Println("index:", show(item))
	}
	input.Select = types.SelectAllAttributes
	_, err = p.client.Query(p.ctx, input)
	refused("all attributes of an index with some", err)
}

func (p program) scan() {
	built, err := expression.NewBuilder().WithFilter(expression.AttributeType(expression.Name("tags"), expression.StringSet).
		Or(expression.Name("tags").Contains("none"), expression.Not(expression.AttributeExists(expression.Name("status"))))).Build()
	check(err)
	answer, err := p.client.Scan(p.ctx, &dynamodb.ScanInput{TableName: aws.String(table), FilterExpression: built.Filter(),
		ExpressionAttributeNames: built.Names(), ExpressionAttributeValues: built.Values()})
	check(err)
	var orders []Order
	check(attributevalue.UnmarshalListOfMaps(answer.Items, &orders))
	for _, order := range orders {
		sort.Strings(order.Tags)
		fmt.Println("scanned:", answer.ScannedCount, order.Customer, order.ID, order.Total, order.Tags, order.Lines, order.Notes, order.Placed.Unix(), *order.Paid)
	}
}

func (p program) batches() {
	var writes []types.WriteRequest
	for n := 1; n <= 25; n++ {
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: key("cyd", fmt.Sprintf("%03d", n))}})
	}
	answer, err := p.client.BatchWriteItem(p.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes}})
	check(err)
	fmt.Println("unprocessed:", len(answer.UnprocessedItems))
	got, err := p.client.BatchGetItem(p.ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		table: {Keys: []map[string]types.AttributeValue{key("cyd", "001"), key("cyd", "025"), key("cyd", "026")}}}})
	check(err)
	fmt.Println("batch:", len(got.Responses[table]), "unprocessed", len(got.UnprocessedKeys))
	_, err = p.client.BatchWriteItem(p.ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: append(writes, writes[0])}})
	var refusal smithy.APIError
	fmt.Println("a batch of 26:", errors.As(err, &refusal), refusal.ErrorCode())
}

func (p program) transactions() {
	exists, err := expression.NewBuilder().WithCondition(expression.AttributeExists(expression.Name("id"))).Build()
	check(err)
	input := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("sdk-go, once"), TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: aws.String(table), Key: key("ada", "001"), ConditionExpression: exists.Condition(),
			ExpressionAttributeNames: exists.Names()}},
		{Put: &types.Put{TableName: aws.String(table), Item: key("dan", "1")}},
		{Delete: &types.Delete{TableName: aws.String(table), Key: key("cyd", "001")}},
	}}
	_, err = p.client.TransactWriteItems(p.ctx, input)
	check(err)
	_, err = p.client.TransactWriteItems(p.ctx, input)
	check(err)
	input.ClientRequestToken = nil
	input.TransactItems[0].ConditionCheck.Key = key("ada", "none")
	_, err = p.client.TransactWriteItems(p.ctx, input)
	refused("transaction", err)
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		for _, reason := range cancelled.CancellationReasons {
			fmt.Println("  ", aws.ToString(reason.Code), aws.ToString(reason.Message))
		}
	}
	got, err := p.client.TransactGetItems(p.ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: aws.String(table), Key: key("dan", "1")}}, {Get: &types.Get{TableName: aws.String(table), Key: key("cyd", "001")}}}})
	check(err)
	for _, response := range got.Responses {
		fmt.Println("transaction:", show(response.Item))
	}
}

func (p program) statements() {
	answer, err := p.client.ExecuteStatement(p.ctx, &dynamodb.ExecuteStatementInput{
		Statement:  aws.String(`SELECT id, total FROM "` + table + `" WHERE customer = ? AND id < ?`),
		Parameters: []types.AttributeValue{&types.AttributeValueMemberS{Value: "bob"}, &types.AttributeValueMemberS{Value: "007"}}})
	check(err)
	for _, item := range answer.Items {
		fmt.Println("statement:", show(item))
	}
}

// What each item went through, item by item: the order between items is that of shards.
func (p program) stream() {
	described, err := p.client.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	check(err)
	arn := described.Table.LatestStreamArn
	stream, err := p.streams.DescribeStream(p.ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	check(err)
	history := map[string][]string{}
	for _, shard := range stream.StreamDescription.Shards {
		at, err := p.streams.GetShardIterator(p.ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard.ShardId,
			ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon})
		check(err)
		for iterator, empty := at.ShardIterator, 0; iterator != nil && empty < 2; {
			records, err := p.streams.GetRecords(p.ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: iterator})
			check(err)
			for _, record := range records.Records {
				image, err := attributevalue.FromDynamoDBStreamsMap(record.Dynamodb.Keys)
				check(err)
				history[show(image)] = append(history[show(image)], fmt.Sprint(record.EventName, " ", len(record.Dynamodb.OldImage), ">", len(record.Dynamodb.NewImage)))
			}
			if empty++; len(records.Records) > 0 {
				empty = 0
			}
			iterator = records.NextShardIterator
		}
	}
	for _, item := range sorted(history) {
		fmt.Println("stream:", item, history[item])
	}
}

func (p program) dropTable() {
	_, err := p.client.DeleteTable(p.ctx, &dynamodb.DeleteTableInput{TableName: aws.String(table)})
	check(err)
	check(dynamodb.NewTableNotExistsWaiter(p.client).Wait(p.ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute))
	_, err = p.client.DescribeTable(p.ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	refused("describe without a table", err)
}

func keys(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}, {AttributeName: aws.String(sort), KeyType: types.KeyTypeRange}}
}

func key(customer, id string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"customer": &types.AttributeValueMemberS{Value: customer}, "id": &types.AttributeValueMemberS{Value: id}}
}

// An item as text, its attributes in order.
func show(item map[string]types.AttributeValue) string {
	var parts []string
	for _, name := range sorted(item) {
		parts = append(parts, name+"="+value(item[name]))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func value(any types.AttributeValue) string {
	switch v := any.(type) {
	case *types.AttributeValueMemberM:
		return show(v.Value)
	case *types.AttributeValueMemberL:
		var parts []string
		for _, element := range v.Value {
			parts = append(parts, value(element))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *types.AttributeValueMemberSS:
		sort.Strings(v.Value)
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("%q", v.Value)
	case *types.AttributeValueMemberB:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	default:
		return fmt.Sprintf("%T", any)
	}
}

func sorted[V any](of map[string]V) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func refused(name string, err error) {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		log.Fatalf("%s: not refused: %v", name, err)
	}
	fmt.Printf("%s: %s: %s\n", name, refusal.ErrorCode(), refusal.ErrorMessage())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
