//! What a write shows of the item it touched.

wire_enum! {
    /// What a successful write shows.
    pub enum ReturnValue {
        /// Nothing.
        None = "NONE",
        /// The whole item before the write.
        AllOld = "ALL_OLD",
        /// The touched attributes before the write.
        UpdatedOld = "UPDATED_OLD",
        /// The whole item after the write.
        AllNew = "ALL_NEW",
        /// The touched attributes after the write.
        UpdatedNew = "UPDATED_NEW",
    }
}

wire_enum! {
    /// What a write shows when its condition did not hold.
    pub enum ReturnValuesOnConditionCheckFailure {
        /// Nothing.
        None = "NONE",
        /// The item that failed the condition.
        AllOld = "ALL_OLD",
    }
}
