//! What does not compile, each with the model's words in the message.

mod shop {
    trestle::model!("./../../examples/shop.toml");
}
mod members {
    trestle::model!("./../models/members.toml");
}

use members::Members;
use shop::*;
use trestle::Embedded;

fn a_key_without_one_of_its_attributes() {
    let _ = OrderKey {
        customer: "ada".into(),
    };
}

fn a_new_row_without_a_required_attribute() {
    let _ = NewCustomer {
        customer: "ada".into(),
        name: "Ada Lovelace".into(),
    };
}

fn an_attribute_of_the_wrong_type(db: &Shop<Embedded>, key: OrderKey) {
    let _ = db.update_order(key).set_cents("12.50");
}

fn an_order_where_there_is_none() {
    let _ = Order::STATUS.is_less_than(OrderStatus::Sent);
}

fn a_value_that_is_not_one_of(db: &Shop<Embedded>, key: OrderKey) {
    let _ = db.update_order(&key).set_status("returned");
    let _ = db.update_order(&key).set_status(OrderStatus::Returned);
}

fn an_unknown_access_pattern(db: &Shop<Embedded>) {
    let _ = db.orders_by_state(OrderStatus::Open);
}

fn parameters_in_the_wrong_order(db: &Shop<Embedded>) {
    let _ = db.order(1, "ada");
}

fn an_immutable_attribute(db: &Shop<Embedded>, key: OrderKey) {
    let _ = db.update_order(key).set_placed("2024-05-01T08:00:00Z");
}

fn an_identifying_attribute(db: &Shop<Embedded>, key: OrderKey) {
    let _ = db.update_order(key).set_number(2);
}

fn a_condition_on_another_entity(db: &Shop<Embedded>, key: OrderKey) {
    let _ = db.delete(key).only_if(Customer::NAME.exists());
}

fn a_key_of_another_model(db: &Shop<Embedded>, key: members::MemberKey) {
    let _ = db.get(key);
}

fn a_part_of_another_model(db: &Shop<Embedded>, other: &Members<Embedded>, key: members::MemberKey) {
    let _ = db.transaction().with(other.delete(key));
}

fn a_row_that_the_database_keeps(db: &Members<Embedded>, kept: members::MemberUniqueEmail) {
    let _ = db.put(&kept);
    let _ = db.delete(&kept);
}

fn main() {}
