//! What does not compile, each with the model's words in the message.

mod manhunt {
    trestle::model!("./../../../../models/manhunt.toml");
}
mod klayers {
    trestle::model!("./../../../../models/klayers.toml");
}

use manhunt::*;
use trestle::typed::Timestamp;

fn a_key_without_one_of_its_attributes() {
    let _ = ContactMethodKey {
        contact_id: "89fa8f8".into(),
    };
}

fn a_new_row_without_a_required_attribute() {
    let _ = NewContact {
        contact_id: "89fa8f8".into(),
        domain_id: "db3280c".into(),
    };
}

fn an_attribute_of_the_wrong_type(db: &Manhunt<trestle::Engine>, key: ContactMethodKey) {
    let _ = db.update_contact_method(key).set_wait_seconds("five minutes");
}

fn a_condition_of_the_wrong_type() {
    let _ = Search::STARTED_DATETIME.is_less_than(5);
}

fn an_order_where_there_is_none() {
    let _ = Search::STATUS.is_less_than(SearchStatus::Active);
}

fn a_value_that_is_not_one_of(db: &Manhunt<trestle::Engine>, key: SearchKey) {
    let _ = db.update_search(&key).set_status("finished");
    let _ = db.update_search(&key).set_status(SearchStatus::Finished);
}

fn an_unknown_access_pattern(db: &Manhunt<trestle::Engine>) {
    let _ = db.searches_by_state("89fa8f8", SearchStatus::Active);
}

fn parameters_in_the_wrong_order(db: &Manhunt<trestle::Engine>, before: Timestamp) {
    let _ = db.searches_of_contact_before(before, "89fa8f8");
}

fn an_immutable_attribute(db: &Manhunt<trestle::Engine>, key: SearchKey) {
    let _ = db.update_search(key).set_domain_id("db3280c");
}

fn an_identifying_attribute(db: &Manhunt<trestle::Engine>, key: SearchKey) {
    let _ = db.update_search(key).set_search_id("a271244");
}

fn a_condition_on_another_entity(db: &Manhunt<trestle::Engine>, key: SearchKey) {
    let _ = db.delete(key).only_if(Contact::NAME.exists());
}

fn a_key_of_another_model(db: &Manhunt<trestle::Engine>, key: klayers::LayerKey) {
    let _ = db.get(key);
}

fn text_for_a_key(db: &Manhunt<trestle::Engine>) {
    let _ = db.get("89fa8f8");
}

fn a_part_of_another_model(db: &Manhunt<trestle::Engine>, other: &klayers::Klayers<trestle::Engine>, key: klayers::LayerKey) {
    let _ = db.transaction().with(other.delete(key));
}

fn a_row_that_the_database_keeps(db: &klayers::Klayers<trestle::Engine>, head: klayers::LayerHead) {
    let _ = db.put(&head);
}

fn main() {}
