//! Two layouts of one table, and the place of each row in them.

use serde_json::{Value, json};

/// The table that everything is in.
pub(super) const TABLE: &str = "depots";

/// A version of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    ByDepot,
    ByCustomer,
}

impl Layout {
    pub(super) fn other(self) -> Self {
        match self {
            Layout::ByDepot => Layout::ByCustomer,
            Layout::ByCustomer => Layout::ByDepot,
        }
    }

    /// The model file.
    pub(super) fn model(self) -> &'static str {
        match self {
            Layout::ByDepot => include_str!("by_depot.toml"),
            Layout::ByCustomer => include_str!("by_customer.toml"),
        }
    }
}

/// The identity of a row, whatever its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Parcel {
        depot: String,
        customer: String,
        number: u64,
    },
    Release {
        region: String,
        product: String,
        version: u64,
    },
    /// The newest release of a product in a region; kept by the database.
    Head {
        region: String,
        product: String,
    },
    Member {
        id: String,
    },
    /// Which member has an address; kept by the database.
    Email {
        email: String,
    },
    Reading {
        device: String,
        seq: u64,
    },
    /// The only kind whose keys are the same in both layouts.
    Note {
        depot: String,
        id: String,
    },
}

impl Id {
    pub(super) fn parcel(depot: &str, customer: &str, number: u64) -> Self {
        Id::Parcel {
            depot: depot.to_owned(),
            customer: customer.to_owned(),
            number,
        }
    }

    pub(super) fn release(region: &str, product: &str, version: u64) -> Self {
        Id::Release {
            region: region.to_owned(),
            product: product.to_owned(),
            version,
        }
    }

    pub(super) fn member(id: &str) -> Self {
        Id::Member { id: id.to_owned() }
    }

    pub(super) fn reading(device: &str, seq: u64) -> Self {
        Id::Reading {
            device: device.to_owned(),
            seq,
        }
    }

    /// The owner of this row, by its attributes.
    pub(super) fn of(row: &Value) -> Self {
        let text = |name: &str| text(row, name).to_owned();
        let number = |name: &str| number(row, name);
        match text("kind").as_str() {
            "parcel" => Id::parcel(&text("depot"), &text("customer"), number("number")),
            "release" => Id::release(&text("region"), &text("product"), number("version")),
            "release.head" => Id::Head {
                region: text("region"),
                product: text("product"),
            },
            "member" => Id::member(&text("id")),
            "member.unique.email" => Id::Email {
                email: text("email").to_lowercase(),
            },
            "reading" => Id::reading(&text("device"), number("seq")),
            "note" => Id::Note {
                depot: text("depot"),
                id: text("id"),
            },
            _ => panic!("a row of no kind: {row}"),
        }
    }

    /// Its identifying attributes, with its kind: what a client may give instead of a key.
    pub(super) fn attributes(&self) -> Value {
        match self {
            Id::Parcel {
                depot,
                customer,
                number,
            } => {
                json!({"kind": {"S": "parcel"}, "depot": {"S": depot}, "customer": {"S": customer}, "number": n(*number)})
            }
            Id::Release {
                region,
                product,
                version,
            } => {
                json!({"kind": {"S": "release"}, "region": {"S": region}, "product": {"S": product}, "version": n(*version)})
            }
            Id::Head { region, product } => {
                json!({"kind": {"S": "release.head"}, "region": {"S": region}, "product": {"S": product}})
            }
            Id::Member { id } => json!({"kind": {"S": "member"}, "id": {"S": id}}),
            Id::Email { email } => json!({"kind": {"S": "member.unique.email"}, "email": {"S": email}}),
            Id::Reading { device, seq } => {
                json!({"kind": {"S": "reading"}, "device": {"S": device}, "seq": n(*seq)})
            }
            Id::Note { depot, id } => json!({"kind": {"S": "note"}, "depot": {"S": depot}, "id": {"S": id}}),
        }
    }

    /// Its table key.
    pub(super) fn key(&self, layout: Layout) -> Value {
        let (pk, sk) = match layout {
            Layout::ByDepot => self.key_by_depot(),
            Layout::ByCustomer => self.key_by_customer(),
        };
        json!({"pk": {"S": pk}, "sk": {"S": sk}})
    }

    fn key_by_depot(&self) -> (String, String) {
        match self {
            Id::Parcel {
                depot,
                customer,
                number,
            } => (format!("depot#{depot}"), format!("parcel#{customer}#{number}")),
            Id::Release {
                region,
                product,
                version,
            } => (format!("release#{region}:{product}"), format!("v#{version}")),
            Id::Head { region, product } => (format!("release#{region}:{product}"), "head".to_owned()),
            Id::Member { id } => (format!("member#{id}"), "member".to_owned()),
            Id::Email { email } => (format!("email#{email}"), "email".to_owned()),
            Id::Reading { device, seq } => (format!("log#{device}"), format!("at#{seq}")),
            Id::Note { depot, id } => (format!("note#{depot}"), id.clone()),
        }
    }

    fn key_by_customer(&self) -> (String, String) {
        match self {
            Id::Parcel {
                depot,
                customer,
                number,
            } => (format!("p/{depot}/{customer}"), format!("{number:06}")),
            Id::Release {
                region,
                product,
                version,
            } => (format!("r/{product}"), format!("{region}/v/{version:06}")),
            Id::Head { region, product } => (format!("r/{product}"), format!("{region}/head")),
            Id::Member { id } => (format!("m/{id}"), "m".to_owned()),
            Id::Email { email } => (format!("e/{email}"), "e".to_owned()),
            Id::Reading { device, seq } => (format!("log#{device}"), format!("at#{seq:06}")),
            Id::Note { .. } => self.key_by_depot(),
        }
    }
}

/// A row without the attributes that its version derives.
pub(super) fn content(row: &Value) -> Value {
    let mut row = row.clone();
    if let Some(row) = row.as_object_mut() {
        for derived in ["pk", "sk", "state_key"] {
            row.remove(derived);
        }
    }
    row
}

/// A row in the form of a layout.
pub(super) fn placed(content: &Value, layout: Layout) -> Value {
    let mut row = content.clone();
    let id = Id::of(content);
    merge(&mut row, id.key(layout));
    if let Id::Parcel { depot, .. } = &id {
        let state = text(content, "state");
        let key = match layout {
            Layout::ByDepot => format!("{state}#{depot}"),
            Layout::ByCustomer => format!("{depot}/{state}"),
        };
        row["state_key"] = json!({"S": key});
    }
    row
}

pub(super) fn merge(target: &mut Value, source: Value) {
    if let (Some(target), Value::Object(source)) = (target.as_object_mut(), source) {
        target.extend(source);
    }
}

/// A number in DynamoDB's form.
pub(super) fn n(number: u64) -> Value {
    json!({"N": number.to_string()})
}

pub(super) fn text<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name]["S"].as_str().unwrap_or_default()
}

pub(super) fn number(row: &Value, name: &str) -> u64 {
    let text = row[name]["N"].as_str();
    text.unwrap_or_else(|| panic!("{row} has no {name}"))
        .parse()
        .unwrap()
}
