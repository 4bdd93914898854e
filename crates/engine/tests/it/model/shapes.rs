//! The tables of the model.

/// A table and its indexes, as `(name, keys, projection)`.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) keys: &'static str,
    pub(super) local: &'static [(&'static str, &'static str, &'static str)],
    pub(super) global: &'static [(&'static str, &'static str, &'static str)],
    /// Global indexes that come and go.
    pub(super) optional: &'static [(&'static str, &'static str, &'static str)],
}

/// Every projection, every key type, sparse indexes (all index keys are optional attributes), keys of several
/// attributes, and indexes on the table's own key attributes.
pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "Orders",
        keys: "pk:S | sk:N",
        local: &[
            ("by-text", "pk:S | gs:S", "KEYS_ONLY"),
            ("by-number", "pk:S | gn:N", "d,l"),
            ("by-bytes", "pk:S | gb:B", "ALL"),
        ],
        global: &[
            ("all", "gs:S", "ALL"),
            ("some", "gs:S | gn:N", "d,m"),
            ("many", "gs:S, gn:N | sk:N, gb:B", "KEYS_ONLY"),
        ],
        optional: &[
            ("late", "gb:B | pk:S", "ALL"),
            ("turned", "sk:N | pk:S", "KEYS_ONLY"),
            ("four", "gn:N, pk:S, gb:B | gs:S, sk:N", "n"),
        ],
    },
    Shape {
        name: "Counters",
        keys: "pk:N",
        local: &[],
        global: &[("all", "gn:N | gs:S", "ALL")],
        optional: &[
            ("late", "gs:S | gn:N, gb:B", "d,n"),
            ("bytes", "gb:B", "KEYS_ONLY"),
        ],
    },
    Shape {
        name: "Blobs",
        keys: "pk:B | sk:S",
        local: &[("by-number", "pk:B | gn:N", "KEYS_ONLY")],
        global: &[],
        optional: &[
            ("late", "gs:S | gs2:S, pk:B, sk:S", "ALL"),
            ("turned", "sk:S | pk:B", "m"),
        ],
    },
];
