//! The classes of failure, with their names in the protocol.

wire_enum! {
    /// What kind of failure an [`Error`](crate::Error) is.
    #[non_exhaustive]
    pub enum ErrorKind {
        /// A defect of the server; trying again may help.
        InternalServerError = "InternalServerError",
        /// The request is invalid; its message says why.
        Validation = "ValidationException",
        /// No such table, index, stream or shard.
        ResourceNotFound = "ResourceNotFoundException",
        /// No such table, in the operations on backups.
        TableNotFound = "TableNotFoundException",
        /// The table exists already, or is being created, changed or deleted.
        ResourceInUse = "ResourceInUseException",
        /// A condition did not hold.
        ConditionalCheckFailed = "ConditionalCheckFailedException",
        /// A transaction was cancelled; its reasons say why.
        TransactionCanceled = "TransactionCanceledException",
        /// A transaction holds the item.
        TransactionConflict = "TransactionConflictException",
        /// The same transaction is still running.
        TransactionInProgress = "TransactionInProgressException",
        /// A request token was used again with a different request.
        IdempotentParameterMismatch = "IdempotentParameterMismatchException",
        /// An item collection would grow beyond its bound.
        ItemCollectionSizeLimitExceeded = "ItemCollectionSizeLimitExceededException",
        /// Too many tables, indexes or changes at once.
        LimitExceeded = "LimitExceededException",
        /// The table's throughput is used up.
        ProvisionedThroughputExceeded = "ProvisionedThroughputExceededException",
        /// The account's quota is used up.
        RequestLimitExceeded = "RequestLimitExceeded",
        /// Too many requests.
        Throttling = "ThrottlingException",
        /// A PartiQL `INSERT` found the key taken.
        DuplicateItem = "DuplicateItemException",
        /// A replica that does not exist; Trestle has none.
        ReplicaNotFound = "ReplicaNotFoundException",
        /// A shard iterator that is too old.
        ExpiredIterator = "ExpiredIteratorException",
        /// Stream records that are no longer kept.
        TrimmedDataAccess = "TrimmedDataAccessException",
        /// The body is not JSON, or a member has the wrong JSON type.
        Serialization = "SerializationException",
        /// No such operation.
        UnknownOperation = "UnknownOperationException",
        /// Not allowed.
        AccessDenied = "AccessDeniedException",
        /// The `Authorization` header lacks a part.
        IncompleteSignature = "IncompleteSignatureException",
        /// The signature does not match.
        InvalidSignature = "InvalidSignatureException",
        /// The request is not signed.
        MissingAuthenticationToken = "MissingAuthenticationTokenException",
        /// The access key is unknown.
        UnrecognizedClient = "UnrecognizedClientException",
        /// The session token has expired.
        ExpiredToken = "ExpiredTokenException",
        /// The body is longer than allowed.
        RequestEntityTooLarge = "RequestEntityTooLargeException",
    }
}
